/*
 * coverage_report.c - check --coverage: what "holds" was worth, as text, as JSON and on a page.
 *
 * The sentences about what could not have been seen rest on facts of the whole history, not on the
 * changes that were tried: where no two overlapping transactions read and wrote one key, no lost
 * update can have shown, however many reads are changed.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/coverage_report.h"
#include "cli/page_output.h"

enum { MOST_CHANGES = 2000, USUAL_SECONDS = 10 };

/* An anomaly that cannot show without some fact, and the weakest levels that forbid it. */
typedef struct blind_spot {
    const char *anomaly, *a_what; /* its name; as a sentence has it */
    const char *levels[4];        /* a level that implies one of these forbids it */
    const char *why;
} blind_spot;

static const blind_spot spots[] = {
    {"lost-update",
     "a lost update",
     {"pl-cs", NULL},
     "no key was read and written by two overlapping transactions"},
    {"aborted-read",
     "an aborted read",
     {"pl-2", NULL},
     "no key that an aborted transaction wrote was read"},
    {"intermediate-read",
     "an intermediate read",
     {"pl-2", NULL},
     "no key that a transaction wrote twice was read"},
    {"read-skew",
     "read skew",
     {"pl-2+", "read-atomic", "innodb-repeatable-read", NULL},
     "no transaction read two keys that another one wrote"},
    {"phantom", "a phantom", {"pl-2+", "pl-2.99", NULL}, "there is no scan"},
};
enum { SPOTS = sizeof spots / sizeof *spots };

static bool is_possible(size_t spot, const ratel_coverage *c)
{
    const int facts[SPOTS] = {c->updates_overlap, c->aborted_read, c->overwritten_read,
                              c->pairs_read, c->ranges_read};
    return facts[spot];
}

static uint64_t places_of(const ratel_coverage *c, const char *anomaly)
{
    for (size_t i = 0; i < c->kinds; i++)
        if (!strcmp(c->kind[i].anomaly, anomaly)) return c->kind[i].places;
    return 0;
}

/* Is the anomaly forbidden, and was there no place for it? */
static bool is_blind(size_t spot, const ratel_coverage *c, const ratel_result *a)
{
    bool forbidden = false;
    for (size_t i = 0; spots[spot].levels[i]; i++)
        forbidden = forbidden || ratel_level_implies(ratel_result_level(a), spots[spot].levels[i],
                                                     ratel_result_session_order(a)) == 1;
    return forbidden && !is_possible(spot, c) && !places_of(c, spots[spot].anomaly);
}

static unsigned percent(uint64_t part, uint64_t whole)
{
    return whole ? (unsigned)(100.0 * (double)part / (double)whole) : 0;
}

/* How many never met another, and which. */
static void apart_text(strbuf *b, uint64_t n, uint64_t all, const char *what,
                       const char (*names)[64])
{
    strbuf_printf(b, "%llu of %llu %s", (unsigned long long)n, (unsigned long long)all, what);
    for (size_t i = 0; i < n && i < RATEL_COVERAGE_NAMES; i++) {
        strbuf_str(b, i ? ", " : " (");
        strbuf_visible(b, names[i], strlen(names[i]));
    }
    if (n) strbuf_str(b, n > RATEL_COVERAGE_NAMES ? ", ...)" : ")");
}

static void coverage_text(strbuf *b, const ratel_coverage *c, const ratel_result *a)
{
    for (size_t i = 0; i < SPOTS; i++)
        if (is_blind(i, c, a))
            strbuf_printf(b, "  holds, but %s could not have been seen: %s\n", spots[i].a_what,
                          spots[i].why);
    if (!c->changes)
        strbuf_str(b, "  coverage: there is no read that could have returned another value\n");
    else if (c->exact)
        strbuf_printf(b, "  coverage: reads can be changed in %llu ways, one at a time",
                      (unsigned long long)c->changes);
    else
        strbuf_printf(b, "  coverage: of %llu ways to change one read, %llu were tried at random",
                      (unsigned long long)c->changes, (unsigned long long)c->tried);
    if (c->changes)
        strbuf_printf(b, "; %llu (%u%%) would have been seen\n", (unsigned long long)c->seen,
                      percent(c->seen, c->tried));
    if (c->kinds) strbuf_str(b, "    places:");
    for (size_t i = 0; i < c->kinds; i++)
        strbuf_printf(b, "%s %s %llu", i ? "," : "", c->kind[i].anomaly,
                      (unsigned long long)c->kind[i].places);
    if (c->kinds) strbuf_char(b, '\n');
    if (c->undecided) strbuf_printf(b, "    not decided: %llu\n", (unsigned long long)c->undecided);
    strbuf_printf(b, "    reads: %llu have one possible writer, %llu several\n",
                  (unsigned long long)c->reads_known, (unsigned long long)c->reads_open);
    if (c->versions_known + c->versions_inferred + c->versions_open)
        strbuf_printf(b, "    version order: %llu steps shown, %llu inferred, %llu open\n",
                      (unsigned long long)c->versions_known,
                      (unsigned long long)c->versions_inferred,
                      (unsigned long long)c->versions_open);
    strbuf_str(b, "    without a conflict between sessions: ");
    apart_text(b, c->keys_apart, c->keys, "keys", c->key_apart);
    strbuf_str(b, ", ");
    apart_text(b, c->sessions_apart, c->sessions, "sessions", c->session_apart);
    strbuf_char(b, '\n');
}

static void names_json(json_writer *w, const char *member, const char (*names)[64], uint64_t n)
{
    jw_member_array(w, member);
    for (size_t i = 0; i < n && i < RATEL_COVERAGE_NAMES; i++) jw_text(w, names[i]);
    jw_end_array(w);
}

/* The value of the member "coverage". */
static void write_coverage(json_writer *w, const ratel_coverage *c, const ratel_result *a)
{
    jw_object(w);
    jw_member_u64(w, "changes", c->changes);
    jw_member_u64(w, "tried", c->tried);
    jw_member_bool(w, "exact", c->exact);
    jw_member_u64(w, "seen", c->seen);
    jw_member_u64(w, "missed", c->missed);
    jw_member_u64(w, "undecided", c->undecided);
    jw_member_object(w, "places");
    for (size_t i = 0; i < c->kinds; i++) jw_member_u64(w, c->kind[i].anomaly, c->kind[i].places);
    jw_end_object(w);
    jw_member_array(w, "unseen");
    for (size_t i = 0; i < SPOTS; i++) {
        if (!is_blind(i, c, a)) continue;
        jw_object(w);
        jw_member_text(w, "anomaly", spots[i].anomaly);
        jw_member_text(w, "why", spots[i].why);
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_member_object(w, "reads");
    jw_member_u64(w, "known", c->reads_known);
    jw_member_u64(w, "open", c->reads_open);
    jw_end_object(w);
    jw_member_object(w, "versions");
    jw_member_u64(w, "known", c->versions_known);
    jw_member_u64(w, "inferred", c->versions_inferred);
    jw_member_u64(w, "open", c->versions_open);
    jw_end_object(w);
    jw_member_object(w, "apart");
    jw_member_u64(w, "keys", c->keys_apart);
    jw_member_u64(w, "of_keys", c->keys);
    names_json(w, "key_names", c->key_apart, c->keys_apart);
    jw_member_u64(w, "sessions", c->sessions_apart);
    jw_member_u64(w, "of_sessions", c->sessions);
    names_json(w, "session_names", c->session_apart, c->sessions_apart);
    jw_end_object(w);
    jw_end_object(w);
}

static void print_json(FILE *f, const char *history, const ratel_coverage *c, const ratel_result *a)
{
    json_writer to = json_file(f), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "history", history);
    jw_member_text(w, "level", ratel_result_level(a));
    jw_name(w, "coverage");
    write_coverage(w, c, a);
    jw_end_object(w);
    jw_end_line(w);
}

typedef struct covered {
    const ratel_coverage *c;
    const ratel_result *a;
    text_kept *kept; /* NULL: the text goes to a file */
} covered;

static void render_text(strbuf *b, void *what)
{
    const covered *x = what;
    coverage_text(b, x->c, x->a);
    if (!x->kept) return;
    if (keep_text(b->at, b->n, x->kept)) complain("out of memory");
    b->n = 0;
}

static void render_coverage(strbuf *b, void *what)
{
    const covered *x = what;
    json_writer w = jw_strbuf(b);
    write_coverage(&w, x->c, x->a);
}

int coverage_tell(const args *a, FILE *f, text_kept *kept, const char *history,
                  const ratel_history *h, const ratel_result *r)
{
    ratel_coverage c;
    covered x = {&c, r, kept};
    double seconds = a->value[O_TIME] ? strtod(a->value[O_TIME], NULL) : USUAL_SECONDS;
    int code = ratel_coverage_run(&c, a->context, h, r, MOST_CHANGES, seconds);
    if (code) return complain_about(a->context, history, code);
    page_add_member(a, "coverage", render_coverage, &x);
    if (!f && !kept) return EXIT_HOLDS;
    if (!a->value[O_JSON]) return render(f, render_text, &x);
    print_json(f, history, &c, r);
    return EXIT_HOLDS;
}

/* --- test ------------------------------------------------------------------------------------- */

enum { QUICK_CHANGES = 60, FEWEST_CHANGES = 10, WEAK_PERCENT = 50 };

void coverage_warn(const args *a, const char *history, const ratel_history *h,
                   const ratel_result *r)
{
    ratel_coverage c;
    if (a->value[O_QUIET] || ratel_coverage_run(&c, a->context, h, r, QUICK_CHANGES, 1)) return;
    uint64_t decided = c.seen + c.missed;
    if (decided < FEWEST_CHANGES || percent(c.seen, decided) >= WEAK_PERCENT) return;
    complain("%s: this run shows little: of %llu wrong reads, only %u%% would have been seen (use "
             "more sessions or fewer keys, or run longer)",
             history, (unsigned long long)decided, percent(c.seen, decided));
}
