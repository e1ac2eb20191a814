/*
 * cmd_synth.c - ratel synth: a history that some levels allow and others forbid, or none.
 *
 * Every history found is checked once more by the library (synth_history.c) before it is printed.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/page_output.h"
#include "cli/synth_cli.h"
#include "cli/synth_engines.h"
#include "synth/synth.h"

typedef struct command_state {
    args *a;
    synth *s;
    FILE *out;
    level_list allow, forbid, lattice;
    synth_problem p;
    int *with_condition; /* the allowed levels and --such-that */
    ratel_history *h;    /* of the answer */
    bool unwritten;      /* a proof could not be written */
    int *untold;         /* the exit status if a contradiction could not be told, else 0 */
} state;

/* ---- printing ------------------------------------------------------------------------------ */

static name_list names_of(const level_list *l)
{
    return (name_list){l->name, l->n};
}

static size_t contradiction(const state *st, const synth_answer *r, size_t i,
                            const char *const **lines)
{
    size_t n = 0;
    int code =
        synth_why(st->s, st->forbid.at[i], r->txns, r->keys, r->from, r->writes, r->so, lines, &n);
    if (!code) return n;
    complain("synth: cannot explain why %s is violated: %s", st->forbid.name[i],
             synth_error(st->s, NULL, NULL));
    *st->untold = exit_of(code);
    return 0;
}

static void history_json(json_writer *w, const state *st, const synth_answer *r)
{
    name_list allow = names_of(&st->allow);
    report_synth_found(w, r, &allow);
    jw_member_object(w, "contradiction");
    for (size_t i = 0; i < st->forbid.n; i++) {
        const char *const *lines;
        size_t n = contradiction(st, r, i, &lines);
        jw_member_array(w, st->forbid.name[i]);
        for (size_t k = 0; k < n; k++) jw_text(w, lines[k]);
        jw_end_array(w);
    }
    jw_end_object(w);
    if (!st->p.more) return;
    synth_answer o;
    jw_member_bool(w, "complete", r->all);
    jw_member_array(w, "others");
    for (size_t i = 0; synth_more(r, i, &o); i++) {
        jw_array(w);
        report_synth_transactions(w, &o);
        jw_end_array(w);
    }
    jw_end_array(w);
}

static void print_synth_json(const state *st, const synth_answer *r, double seconds)
{
    name_list allow = names_of(&st->allow), forbid = names_of(&st->forbid);
    json_writer to = json_file(st->out), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    report_level_names(w, "allow", &allow);
    report_level_names(w, "forbid", &forbid);
    jw_member_u64(w, "txns", st->p.txns);
    jw_member_u64(w, "keys", st->p.keys);
    jw_member_u64(w, "values", st->p.values);
    jw_member_bool(w, "found", r->result == SYNTH_HISTORY);
    jw_member_text(w, "result", synth_result_name(r->result));
    jw_member_optional(w, "reason", r->why);
    if (r->result == SYNTH_HISTORY) history_json(w, st, r);
    jw_member_u64(w, "candidates", r->candidates);
    if (!st->a->value[O_DETERMINISTIC]) {
        jw_member_decimal(w, "seconds", seconds, 3);
        jw_member_object(w, "solver");
        jw_member_u64(w, "vars", r->variables);
        jw_member_u64(w, "clauses", r->clauses);
        jw_member_u64(w, "conflicts", r->conflicts);
        jw_end_object(w);
    }
    jw_end_object(w);
    jw_end_line(w);
}

/* Does it say anything of a transaction? */
static bool names_txn(const char *s)
{
    for (; *s; s++)
        if (s[0] == 't' && s[1] >= '1' && s[1] <= '9') return true;
    return false;
}

/* Why each forbidden level is violated: in the checker's words and, where these name no transaction
   or more is wanted, the requirements of the definition that contradict each other. */
static void render_violations(strbuf *b, const state *st, const synth_answer *a)
{
    for (size_t i = 0; i < st->forbid.n; i++) {
        const char *builtin = synth_level_builtin(st->s, st->forbid.at[i]);
        const char *const *lines = NULL;
        ratel_result *r = NULL;
        bool told = false, enough = false;
        if (*builtin && synth_is_chains(a) && !ratel_check(&r, st->a->context, st->h, builtin))
            told = ratel_result_verdict(r) == RATEL_VIOLATED;
        const char *reason = told ? ratel_result_reason(r) : NULL;
        if (told) enough = names_txn(reason) && !st->a->value[O_VERBOSE];
        size_t n = enough ? 0 : contradiction(st, a, i, &lines);
        report_synth_violated(b, st->forbid.name[i], told ? ratel_result_anomaly(r) : NULL, reason,
                              lines, n);
        ratel_result_free(r);
    }
}

typedef struct shown_answer {
    const state *st;
    const synth_answer *r;
} shown_answer;

static void render_answer(strbuf *b, void *what)
{
    const shown_answer *x = what;
    const state *st = x->st;
    synth_question q = {names_of(&st->allow), names_of(&st->forbid), &st->p,
                        st->a->value[O_SUCH_THAT] != NULL};
    report_synth_text(b, &q, x->r);
    if (x->r->result != SYNTH_HISTORY) return;
    render_violations(b, st, x->r);
    if (st->p.more) report_synth_others(b, x->r);
}

static void render_spec(strbuf *b, void *what)
{
    const shown_answer *x = what;
    const state *st = x->st;
    const char *builtin = st->allow.n ? synth_level_builtin(st->s, st->allow.at[0]) : "";
    report_synth_spec(b, x->r, st->allow.n > 0, builtin);
}

/* ---- pictures and pages -------------------------------------------------------------------- */

/* --dot, --svg or --tikz; NULL: none of them. */
static const char *picture_format(const args *a)
{
    return a->value[O_DOT] ? "dot" : a->value[O_SVG] ? "svg" : a->value[O_TIKZ] ? "tikz" : NULL;
}

/* The history with the witness of the first allowed level. */
static void render_picture(strbuf *b, void *what)
{
    const shown_answer *x = what;
    const state *st = x->st;
    synth_question q = {names_of(&st->allow), names_of(&st->forbid), &st->p,
                        st->a->value[O_SUCH_THAT] != NULL};
    report_synth_picture(b, picture_format(st->a), &q, x->r);
}

/* What was found, as on the terminal. */
static void render_entry(strbuf *b, void *what)
{
    static const char *const verdicts[] = {"found", "none", "undecided"};
    const shown_answer *x = what;
    strbuf text;
    strbuf_init(&text, b->mem);
    render_answer(&text, what);
    json_writer to = jw_strbuf(b), *w = &to;
    jw_object(w);
    bool found = x->r->result == SYNTH_HISTORY, open = x->r->result == SYNTH_UNDECIDED;
    jw_member_text(w, "verdict", verdicts[found ? 0 : open ? 2 : 1]);
    jw_member_text(w, "sentence",
                   found  ? "A history was found that the levels of --allow permit and those of "
                            "--forbid do not."
                   : open ? "Whether there is such a history is undecided."
                          : "There is no such history within the scope.");
    jw_member_text(w, "source", "synth");
    jw_member_array(w, "paragraphs");
    jw_object(w);
    jw_member_text(w, "title", "The answer");
    jw_name(w, "code");
    jw_bytes(w, text.n ? text.at : "", text.n);
    jw_end_object(w);
    jw_end_array(w);
    jw_end_object(w);
    jw_end_line(w);
    strbuf_free(&text);
}

static void add_to_page(const state *st, const synth_answer *r)
{
    shown_answer shown = {st, r};
    page_add_rendered(st->a, render_entry, &shown);
    for (size_t i = 0; st->a->page && r->result == SYNTH_HISTORY && i < st->forbid.n; i++) {
        const char *builtin = synth_level_builtin(st->s, st->forbid.at[i]);
        ratel_result *a = NULL;
        if (!*builtin || !synth_is_chains(r)) continue;
        if (!ratel_check(&a, st->a->context, st->h, builtin))
            page_add_result(st->a, st->h, a, "synth");
        ratel_result_free(a);
    }
}

/* ---- the command --------------------------------------------------------------------------- */

static bool scope_number(const args *a, enum option_id o, uint64_t low, uint64_t high,
                         uint32_t *out)
{
    uint64_t v = *out;
    if (!args_u64(a, o, &v)) return false;
    if (a->value[o] && (v < low || v > high)) {
        complain("--%s: %s is out of range (%llu to %llu)", option_table[o].name, a->value[o],
                 (unsigned long long)low, (unsigned long long)high);
        return false;
    }
    *out = (uint32_t)v;
    return true;
}

static bool write_part(const state *st, uint32_t txns, const char *end, const char *text, size_t n)
{
    const char *prefix = st->a->value[O_PROOF];
    size_t cap = strlen(prefix) + 32;
    char *path = malloc(cap);
    if (!path) return false;
    snprintf(path, cap, "%s-%u.%s", prefix, (unsigned)txns, end);
    output o;
    bool ok = output_open(st->a, &o, path);
    if (ok) {
        fwrite(text, 1, n, o.f);
        ok = output_close(st->a, &o);
    }
    free(path);
    return ok;
}

static void write_proof(void *ud, uint32_t txns, const char *formula, size_t n, const char *steps,
                        size_t m)
{
    state *st = ud;
    if (!write_part(st, txns, "cnf", formula, n) || !write_part(st, txns, "drat", steps, m))
        st->unwritten = true;
}

/* --backend, or --engine, its old name. */
static const char *engine_given(const args *a)
{
    return a->value[O_BACKEND] ? a->value[O_BACKEND] : a->value[O_ENGINE];
}

static bool scope(state *st)
{
    const args *a = st->a;
    st->p = (synth_problem){.txns = 5, .keys = 5, .values = 5};
    if (!scope_number(a, O_TXNS, 1, SYNTH_MAX_TXNS, &st->p.txns) ||
        !scope_number(a, O_KEYS, 1, SYNTH_MAX_KEYS, &st->p.keys) ||
        !scope_number(a, O_VALUES, 1, 1000, &st->p.values) ||
        !scope_number(a, O_SESSIONS, 1, SYNTH_MAX_TXNS, &st->p.sessions) ||
        !scope_number(a, O_OPS, 1, 1000, &st->p.ops))
        return false;
    st->p.no_blind = st->p.partial = a->value[O_ISOLDE] != NULL;
    st->p.more = a->value[O_ALL] ? 999 : 0;
    if (a->value[O_PROOF]) st->p.proof = write_proof, st->p.proof_ud = st;
    st->p.no_smart = a->value[O_NO_SMART] != NULL;
    st->p.no_least = a->value[O_NO_LEAST] != NULL;
    st->p.no_fixed = a->value[O_NO_FIXED] != NULL;
    st->p.no_learn = a->value[O_NO_LEARN] != NULL;
    st->p.brute = a->value[O_BRUTE_FORCE] != NULL;
    st->p.no_prove = a->value[O_NO_PROOF] || a->value[O_PROOF] || engine_given(a) ||
                     st->p.no_smart || st->p.no_least || st->p.no_fixed || st->p.no_learn ||
                     st->p.brute;
    return true;
}

static bool engine(state *st)
{
    const char *name = engine_given(st->a), *why = NULL;
    if (!name || !strcmp(name, "own")) return true;
    st->p.engine = engine_named(name, &why);
    if (st->p.engine && st->p.proof)
        why = "--proof needs --engine own, the solver that logs its steps";
    if (why) complain("--engine %s: %s", name, why);
    return !why;
}

bool time_left(const args *a, synth *s, uint64_t start)
{
    double limit = a->value[O_TIME] ? strtod(a->value[O_TIME], NULL) : 0;
    if (!(limit > 0)) return true;
    double left = limit - seconds_since(start);
    synth_limit(s, left > 1e-6 ? left : 1e-6);
    return left > 0;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* Wider by one transaction; keys and values follow unless they were given. */
static void widen(const args *a, synth_problem *p)
{
    p->txns++;
    if (!a->value[O_KEYS]) p->keys = larger(p->keys, p->txns);
    if (!a->value[O_VALUES]) p->values = larger(p->values, p->txns + 1);
}

/* --grow: the answer is that of the widest scope that was finished. */
static int search_growing(state *st, synth_answer *r, uint64_t start)
{
    int code = synth_search(st->s, &st->p, r);
    while (!code && r->result == SYNTH_NONE && st->p.txns < SYNTH_MAX_TXNS &&
           time_left(st->a, st->s, start)) {
        synth_problem narrow = st->p;
        synth_answer none = *r, more;
        widen(st->a, &st->p);
        code = synth_search(st->s, &st->p, &more);
        bool late = !code && more.result == SYNTH_UNDECIDED;
        *r = late ? none : more;
        if (!late) continue;
        st->p = narrow;
        break;
    }
    return code;
}

static int answer(state *st)
{
    synth_answer r;
    uint64_t start = now();
    int code =
        st->a->value[O_GROW] ? search_growing(st, &r, start) : synth_search(st->s, &st->p, &r);
    if (code) {
        complain("synth: %s", synth_error(st->s, NULL, NULL));
        return exit_of(code);
    }
    bool history = r.result == SYNTH_HISTORY;
    if (history) {
        int status = confirm(st->a, st->s, &r, &st->allow, &st->forbid, &st->h);
        synth_answer o;
        for (size_t i = 0; !status && synth_more(&r, i, &o); i++)
            status = confirm(st->a, st->s, &o, &st->allow, &st->forbid, NULL);
        if (status) return status;
    }
    const char *to = st->a->value[O_TO];
    shown_answer shown = {st, &r};
    add_to_page(st, &r);
    if (history && picture_format(st->a)) return render(st->out, render_picture, &shown);
    int rendered = EXIT_HOLDS;
    if (history && to && !synth_is_chains(&r) && !st->a->value[O_QUIET])
        complain(
            "warning: the session order does not consist of sessions; the written history lacks a "
            "part of it");
    if (history && to && !strcmp(to, "spec")) return render(st->out, render_spec, &shown);
    if (history && to) {
        code = ratel_history_write(st->h, st->a->context, to, write_file_cb, st->out);
        if (code) return complain_about(st->a->context, to, code);
    } else if (st->a->value[O_JSON]) {
        print_synth_json(st, &r, seconds_since(start));
    } else {
        /* with --to the output is for a history alone */
        rendered = render(to && !history ? stderr : st->out, render_answer, &shown);
        if (st->a->value[O_STATS])
            fprintf(stderr, "candidates %llu\nvariables %llu\nclauses %llu\nconflicts %llu\n",
                    (unsigned long long)r.candidates, (unsigned long long)r.variables,
                    (unsigned long long)r.clauses, (unsigned long long)r.conflicts);
    }
    if (st->unwritten) return EXIT_IO;
    int short_of = rendered ? rendered : *st->untold;
    if (short_of) return short_of;
    return history ? EXIT_HOLDS : r.result == SYNTH_UNDECIDED ? EXIT_UNDECIDED : EXIT_VIOLATED;
}

static int with_lattice(state *st)
{
    const args *a = st->a;
    int status = levels_given(st->s, a->value[O_LATTICE], "--lattice", &st->lattice);
    if (status) return status;
    st->out = open_output(a);
    if (!st->out) return EXIT_IO;
    status = print_lattice(a, st->s, &st->lattice, &st->p, st->out);
    return close_output(a, st->out, status);
}

static int add_condition(state *st)
{
    size_t n = st->allow.n;
    int level = synth_condition(st->s, st->a->value[O_SUCH_THAT]);
    if (level < 0) {
        uint64_t column;
        const char *why = synth_error(st->s, NULL, &column);
        complain("--such-that:%llu: %s", (unsigned long long)column, why);
        return exit_of(level);
    }
    st->with_condition = malloc((n + 1) * sizeof *st->with_condition);
    if (!st->with_condition) {
        complain("out of memory");
        return EXIT_UNDECIDED;
    }
    if (n) memcpy(st->with_condition, st->allow.at, n * sizeof *st->with_condition);
    st->with_condition[n] = level;
    st->p.allow = st->with_condition;
    st->p.n_allow = n + 1;
    return EXIT_HOLDS;
}

static int with_levels(state *st)
{
    const args *a = st->a;
    int status = levels_given(st->s, a->value[O_ALLOW], "--allow", &st->allow);
    if (!status) status = levels_given(st->s, a->value[O_FORBID], "--forbid", &st->forbid);
    if (status) return status;
    st->p.allow = st->allow.at;
    st->p.n_allow = st->allow.n;
    st->p.forbid = st->forbid.at;
    st->p.n_forbid = st->forbid.n;
    if (a->value[O_SUCH_THAT] && (status = add_condition(st)) != 0) return status;
    page_output page;
    page_open(st->a, &page);
    st->out = open_output(a);
    if (!st->out) return EXIT_IO;
    status = answer(st);
    status = page_close(st->a, &page, "ratel synth", status);
    return close_output(a, st->out, status);
}

/* Options that say something only with --lattice, or only without it. */
static bool options_fit(const args *a)
{
    static const struct {
        enum option_id id;
        bool lattice;
    } table[] = {{O_TIKZ, false},      {O_HTML, false}, {O_GROW, false}, {O_ALL, false},
                 {O_SUCH_THAT, false}, {O_TO, false},   {O_PROOF, false}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!a->value[table[i].id] || table[i].lattice == (a->value[O_LATTICE] != NULL)) continue;
        complain("synth: --%s %s --lattice", option_table[table[i].id].name,
                 table[i].lattice ? "needs" : "cannot be combined with");
        return false;
    }
    return true;
}

int cmd_synth(args *a)
{
    int untold = 0;
    state st = {.a = a, .untold = &untold};
    if (a->n_files) {
        complain("synth: levels are given by --allow and --forbid, not \"%s\"", a->files[0]);
        return EXIT_USAGE;
    }
    if ((a->value[O_ALLOW] || a->value[O_FORBID]) == (a->value[O_LATTICE] != NULL)) {
        complain("synth: give --allow and --forbid, or --lattice (see ratel synth --help)");
        return EXIT_USAGE;
    }
    if (!options_fit(a) || !scope(&st) || !engine(&st)) return EXIT_USAGE;
    st.s = session_open(a);
    if (!st.s) {
        complain("out of memory");
        return EXIT_UNDECIDED;
    }
    int status = a->value[O_LATTICE] ? with_lattice(&st) : with_levels(&st);
    levels_free(&st.allow);
    levels_free(&st.forbid);
    levels_free(&st.lattice);
    ratel_history_free(st.h);
    free(st.with_condition);
    synth_close(st.s);
    return status;
}
