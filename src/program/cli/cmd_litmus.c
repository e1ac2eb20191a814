/*
 * cmd_litmus.c - ratel litmus: scripted interleavings against real databases, and the table of what
 * each of them lets through at each isolation level.
 *
 * A server is started once for all its isolation levels; an embedded database is opened anew for
 * each.  Every cell has its recording, which the checker judges beside the table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/litmus.h"

static const struct {
    const char *name, *text;
} shipped[] = {
#define TEXT(name, text) {name, text},
#include "litmus_cases.inc"
#undef TEXT
};
#define SHIPPED (sizeof shipped / sizeof *shipped)

typedef struct litmus {
    args *a;
    guard guard;
    mem mem; /* of cases and of the table, until the end */
    litmus_table t;
    litmus_judge *judge;
    live live;        /* here, so that it is closed wherever memory runs out */
    case_bench bench; /* of the row that is made */
    VEC(const char *) urls;
    uint64_t start; /* of the command: --time counts from here */
    int status;
} litmus;

/* By a signal, or by --time: what is left is not run. */
static bool ended_early(const litmus *l)
{
    const char *limit = l->a->value[O_TIME];
    return interrupted() || (limit && seconds_since(l->start) > strtod(limit, NULL));
}

/* --- cases ------------------------------------------------------------------------------------ */

static const char *shipped_name_at(size_t i)
{
    return i < SHIPPED ? shipped[i].name : NULL;
}

static void list_cases(void)
{
    for (size_t i = 0; i < SHIPPED; i++) puts(shipped[i].name);
}

static void add_case(litmus *l, const char *name, const char *file, const char *text, size_t n)
{
    litmus_case c = {.name = name};
    spec_read(&c.spec, &l->mem, file, text, n);
    vec_push(&l->mem, &l->t.cases, c);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);
    return n >= m && !strcmp(s + n - m, end);
}

/* The name of a file without directories and .spec. */
static const char *case_name(mem *m, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    size_t n = strlen(base) - strlen(".spec");
    char *name = mem_get(m, n + 1);
    memcpy(name, base, n);
    name[n] = 0;
    return name;
}

/* The whole file; NULL after a complaint. */
static char *file_text(litmus *l, const char *path, size_t *n)
{
    text_kept t = {0};
    char buf[1 << 14];
    struct stat s;
    if (!stat(path, &s) && !S_ISREG(s.st_mode)) { /* a pipe might stay silent for ever */
        complain("%s: a script must be a regular file", path);
        return NULL;
    }
    FILE *f = fopen(path, "r");
    int bad = !f;
    for (size_t got; f && (got = fread(buf, 1, sizeof buf, f)) > 0;)
        if (keep_text(buf, got, &t)) bad = ENOMEM;
    if (f && ferror(f)) bad = 1;
    if (bad) complain("%s: %s", path, strerror(errno));
    if (f) fclose(f);
    char *copy = bad ? NULL : mem_get(&l->mem, t.n + 1);
    if (copy && t.n) memcpy(copy, t.at, t.n);
    free(t.at);
    *n = t.n;
    return copy;
}

static bool named_case(litmus *l, const char *name)
{
    for (size_t i = 0; i < SHIPPED; i++)
        if (!strcmp(shipped[i].name, name)) {
            add_case(l, shipped[i].name, shipped[i].name, shipped[i].text, strlen(shipped[i].text));
            return true;
        }
    if (!ends_with(name, ".spec")) {
        complain_no_name("case", name, strlen(name), shipped_name_at,
                         "ratel litmus --list lists them; the name of a file ends with .spec");
        l->status = EXIT_USAGE;
        return false;
    }
    size_t n;
    char *text = file_text(l, name, &n);
    if (!text) {
        l->status = EXIT_IO;
        return false;
    }
    guard outer = l->guard;
    const char *volatile file = name;
    if (guard_armed(&l->guard)) {
        complain("%s:%llu:%llu: %s", file, (unsigned long long)l->guard.line,
                 (unsigned long long)l->guard.column, l->guard.text);
        l->status = EXIT_INPUT;
        guard_restore(&l->guard, &outer);
        return false;
    }
    add_case(l, case_name(&l->mem, name), name, text, n);
    guard_restore(&l->guard, &outer);
    return true;
}

static bool choose_cases(litmus *l)
{
    for (size_t i = 0; i < l->a->n_files; i++)
        if (!named_case(l, l->a->files[i])) return false;
    for (size_t i = 0; !l->a->n_files && i < SHIPPED; i++)
        if (!named_case(l, shipped[i].name)) return false;
    return true;
}

/* --- one cell --------------------------------------------------------------------------------- */

static void keep_file(litmus *l, const litmus_row *row, const litmus_case *c, litmus_cell *k)
{
    const char *dir = l->a->value[O_KEEP], *text = k->history ? k->history : k->log;
    if (!dir || !text || k->outcome > CASE_ABSENT) return;
    strbuf b;
    strbuf_init(&b, &l->mem);
    strbuf_printf(&b, "%s/%s-%s-%s%s.jsonl", dir, row->adapter, row->isolation, c->name,
                  k->history ? "" : ".sql");
    output to;
    const char *path = strbuf_cstr(&b);
    if (!output_open(l->a, &to, path)) return;
    fputs(text, to.f);
    if (output_close(l->a, &to)) k->file = path;
}

static void run_cell(litmus *l, case_bench *b, const litmus_row *row, const litmus_case *c,
                     litmus_cell *k)
{
    case_run r;
    strbuf history, log, story;
    strbuf_init(&history, &l->mem);
    strbuf_init(&log, &l->mem);
    strbuf_init(&story, &l->mem);
    case_run_all(b, &c->spec, &r);
    *k = (litmus_cell){.outcome = r.outcome, .seconds = r.seconds, .why = r.why};
    if (r.outcome > CASE_ABSENT) return;
    if (case_history(b, &c->spec, &r, &history)) k->history = strbuf_cstr(&history);
    if (b->sql) {
        case_log(b, &c->spec, &r, &log);
        k->log = strbuf_cstr(&log);
    }
    case_story(&c->spec, b->dialect, &r, &story);
    k->story = strbuf_cstr(&story);
    litmus_judge_cell(l->judge, c, k);
    keep_file(l, row, c, k);
}

static bool cell_stop(void *ud)
{
    return ended_early(ud);
}

/* --- rows ------------------------------------------------------------------------------------- */

static const char *kept_text_of(mem *m, const char *s, size_t n)
{
    char *copy = mem_get(m, n + 1);
    memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}

/* What happened, but cannot be seen among keys: few levels are asked about that. */
static void tell_apart(litmus *l, litmus_row *row)
{
    strbuf b;
    strbuf_init(&b, &l->mem);
    for (size_t i = 0; i < l->t.cases.n; i++) {
        const litmus_cell *k = &row->cells[i];
        if (k->outcome == CASE_HAPPENED && !(k->history && k->told))
            strbuf_printf(&b, "%s%s", b.n ? ", " : "", l->t.cases.at[i].name);
        row->judged |= k->outcome <= CASE_ABSENT && k->history;
    }
    row->apart = strbuf_cstr(&b);
}

static void run_row(litmus *l, live *v)
{
    const contract *c = contract_of(&v->db);
    litmus_row row = {.database = kept_text_of(&l->mem, v->db.version, strlen(v->db.version)),
                      .product = kept_text_of(&l->mem, v->db.version, strcspn(v->db.version, " ")),
                      .adapter =
                          kept_text_of(&l->mem, v->db.driver->name, strlen(v->db.driver->name)),
                      .isolation = kept_text_of(&l->mem, v->db.isolation, strlen(v->db.isolation)),
                      .documented = c ? kept_text_of(&l->mem, c->level, strlen(c->level)) : NULL};
    row.cells = mem_array0(&l->mem, litmus_cell, l->t.cases.n);
    for (size_t i = 0; i < l->t.cases.n; i++)
        row.cells[i] =
            (litmus_cell){.outcome = CASE_ERROR, .why = "interrupted, or --time is over"};
    bench_open(&l->bench, &v->db, &l->mem);
    l->bench.stop = cell_stop;
    l->bench.ud = l;
    for (size_t i = 0; i < l->t.cases.n && !ended_early(l); i++)
        run_cell(l, &l->bench, &row, &l->t.cases.at[i], &row.cells[i]);
    bench_close(&l->bench);
    row.strongest = litmus_judge_row(l->judge);
    tell_apart(l, &row);
    vec_push(&l->mem, &l->t.rows, row);
}

/* The isolation levels asked for: a list of words with commas or spaces between. */
static bool each_isolation(litmus *l, live *v, args *b, const char *list)
{
    bool first = true;
    for (const char *p = list; *p && !ended_early(l);) {
        size_t n = strcspn(p, ", ");
        b->value[O_ISOLATION] = kept_text_of(&l->mem, p, n);
        p += n;
        p += strspn(p, ", ");
        /* A server stays; the adapter asks for the level when sessions connect or begin. */
        bool stays = !first && v->open && v->db.driver->server;
        if (stays) {
            stays = db_isolation(&v->db, b->value[O_ISOLATION]);
            if (!stays) {
                complain("%s", v->db.error);
                l->status = EXIT_USAGE;
                return false;
            }
        } else {
            if (!first) live_close(v);
            l->status = live_open(v, b);
            if (l->status != EXIT_HOLDS) return false;
            live_fails_to(v, &l->guard);
        }
        first = false;
        run_row(l, v);
    }
    return true;
}

static bool run_url(litmus *l, const char *url)
{
    args b = *l->a;
    live *v = &l->live;
    b.value[O_DB] = url;
    const char *asked = l->a->value[O_ISOLATION], *list = asked;
    if (!asked || !strcmp(asked, "all")) {
        list = driver_isolations(url);
        if (!list || !*list) { /* a driver of the user's says it when it is asked */
            b.value[O_ISOLATION] = NULL;
            l->status = live_open(v, &b);
            if (l->status == EXIT_HOLDS)
                list = kept_text_of(&l->mem, v->db.driver->isolations,
                                    strlen(v->db.driver->isolations));
            live_close(v);
            if (l->status != EXIT_HOLDS) return false;
        }
    }
    bool good = each_isolation(l, v, &b, list);
    live_close(v);
    return good;
}

/* URLs with commas between: a comma inside a URL is not followed by an adapter's name and a colon.
 */
static void split_urls(litmus *l, const char *text)
{
    const char *from = text;
    for (const char *p = text;; p++) {
        if (*p && (*p != ',' || !driver_isolations(p + 1))) continue;
        const char *url = kept_text_of(&l->mem, from, (size_t)(p - from));
        vec_push(&l->mem, &l->urls, url);
        if (!*p) return;
        from = p + 1;
    }
}

/* --- the command ------------------------------------------------------------------------------ */

static void print_table(litmus *l)
{
    const args *a = l->a;
    FILE *f = open_output(a);
    if (!f) {
        l->status = EXIT_IO;
        return;
    }
    if (a->value[O_JSON])
        litmus_print_json(&l->t, !a->value[O_DETERMINISTIC], f);
    else if (a->value[O_MARKDOWN])
        litmus_print_markdown(&l->t, f);
    else
        litmus_print_text(&l->t, a->value[O_VERBOSE] != NULL, f);
    l->status = close_output(a, f, l->status);
    if (a->value[O_HTML]) {
        output to;
        if (!output_open(a, &to, a->value[O_HTML])) {
            l->status = EXIT_IO;
            return;
        }
        litmus_print_html(&l->t, to.f);
        if (!output_close(a, &to)) l->status = EXIT_IO;
    }
}

static void compare_tables(litmus *l)
{
    FILE *to = l->a->value[O_JSON] || l->a->value[O_MARKDOWN] ? stderr : stdout;
    if (l->a->value[O_DIFF]) l->status = litmus_compare(&l->t, l->a->value[O_DIFF], false, to);
    if (l->status == EXIT_HOLDS && l->a->value[O_EXPECT])
        l->status = litmus_compare(&l->t, l->a->value[O_EXPECT], true, to);
}

/* Tables to compare with are looked for before anything is run. */
static bool tables_readable(litmus *l)
{
    static const enum option_id tables[] = {O_DIFF, O_EXPECT};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        const char *path = l->a->value[tables[i]];
        if (!path || !strcmp(path, "-") || !access(path, R_OK)) continue;
        complain("--%s %s: %s", option_table[tables[i]].name, path, strerror(errno));
        l->status = EXIT_IO;
        return false;
    }
    return true;
}

static void run_all(litmus *l)
{
    if (!tables_readable(l)) return;
    const char *keep = l->a->value[O_KEEP];
    bool made = l->a->value[O_SYNTH] != NULL;
    if ((!made || l->a->n_files) && !choose_cases(l)) return;
    int code = made ? litmus_add_synthesized(&l->t, l->a->context) : RATEL_OK;
    if (code) {
        l->status = complain_about(l->a->context, "litmus --synth", code);
        return;
    }
    if (keep && mkdir(keep, 0777) && errno != EEXIST) {
        complain("%s: %s", keep, strerror(errno));
        l->status = EXIT_IO;
        return;
    }
    l->judge = litmus_judge_new(&l->mem, l->a->context);
    split_urls(l, l->a->value[O_DB]);
    for (size_t i = 0; i < l->urls.n && l->status == EXIT_HOLDS; i++)
        if (!run_url(l, l->urls.at[i])) return;
    if (l->status == EXIT_HOLDS) print_table(l);
    if (l->status == EXIT_HOLDS) compare_tables(l);
    if (l->status == EXIT_HOLDS && ended_early(l)) l->status = EXIT_UNDECIDED;
}

int cmd_litmus(args *a)
{
    if (a->value[O_LIST]) {
        list_cases();
        return EXIT_HOLDS;
    }
    if (!a->value[O_DB]) {
        complain("litmus: no database given (use --db URL)");
        return EXIT_USAGE;
    }
    if (a->value[O_SPECS]) return litmus_specs(a);
    litmus l = {.a = a, .start = now()};
    guard_init(&l.guard);
    mem_init(&l.mem, mem_libc, NULL, &l.guard);
    l.t.mem = &l.mem;
    if (!guard_armed(&l.guard)) {
        run_all(&l);
    } else {
        complain("litmus: %s", l.guard.text);
        l.status = exit_of(l.guard.code);
        bench_close(&l.bench);
        live_close(&l.live);
    }
    mem_free_all(&l.mem);
    return l.status;
}
