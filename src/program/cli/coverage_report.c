/*
 * coverage_report.c - check --coverage: what "holds" was worth, as text and JSON.
 *
 * The sentences about what could not have been seen rest on facts of the whole history, not on the
 * changes that were tried: where no two overlapping transactions read and wrote one key, no lost
 * update can have shown, however many reads are changed.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/coverage_report.h"

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

static void print_text(FILE *f, const ratel_coverage *c, const ratel_result *a)
{
    for (size_t i = 0; i < SPOTS; i++)
        if (is_blind(i, c, a))
            fprintf(f, "  holds, but %s could not have been seen: %s\n", spots[i].a_what,
                    spots[i].why);
    if (!c->changes)
        fputs("  coverage: there is no read that could have returned another value\n", f);
    else if (c->exact)
        fprintf(f, "  coverage: reads can be changed in %llu ways, one at a time",
                (unsigned long long)c->changes);
    else
        fprintf(f, "  coverage: of %llu ways to change one read, %llu were tried at random",
                (unsigned long long)c->changes, (unsigned long long)c->tried);
    if (c->changes)
        fprintf(f, "; %llu (%u%%) would have been seen\n", (unsigned long long)c->seen,
                percent(c->seen, c->tried));
    if (c->kinds) fputs("    places:", f);
    for (size_t i = 0; i < c->kinds; i++)
        fprintf(f, "%s %s %llu", i ? "," : "", c->kind[i].anomaly,
                (unsigned long long)c->kind[i].places);
    if (c->kinds) fputc('\n', f);
    if (c->undecided) fprintf(f, "    not decided: %llu\n", (unsigned long long)c->undecided);
    fprintf(f, "    reads: %llu have one possible writer, %llu several\n",
            (unsigned long long)c->reads_known, (unsigned long long)c->reads_open);
    if (c->versions_known + c->versions_inferred + c->versions_open)
        fprintf(f, "    version order: %llu steps shown, %llu inferred, %llu open\n",
                (unsigned long long)c->versions_known, (unsigned long long)c->versions_inferred,
                (unsigned long long)c->versions_open);
    fprintf(f,
            "    without a conflict between sessions: %llu of %llu keys, %llu of %llu sessions\n",
            (unsigned long long)c->keys_apart, (unsigned long long)c->keys,
            (unsigned long long)c->sessions_apart, (unsigned long long)c->sessions);
}

static void print_json(FILE *f, const char *history, const ratel_coverage *c, const ratel_result *a)
{
    json_writer to = json_file(f), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "history", history);
    jw_member_text(w, "level", ratel_result_level(a));
    jw_member_object(w, "coverage");
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
    jw_member_u64(w, "sessions", c->sessions_apart);
    jw_member_u64(w, "of_sessions", c->sessions);
    jw_end_object(w);
    jw_end_object(w);
    jw_end_object(w);
    jw_end_line(w);
}

int coverage_print(const args *a, FILE *f, const char *history, const ratel_history *h,
                   const ratel_result *r)
{
    ratel_coverage c;
    double seconds = a->value[O_TIME] ? strtod(a->value[O_TIME], NULL) : USUAL_SECONDS;
    int code = ratel_coverage_run(&c, a->context, h, r, MOST_CHANGES, seconds);
    if (code) return complain_about(a->context, history, code);
    if (a->value[O_JSON])
        print_json(f, history, &c, r);
    else
        print_text(f, &c, r);
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
    complain("%s: this run says little: of %llu wrong reads, only %u%% would have been seen (use "
             "more sessions or fewer keys, or run longer)",
             history, (unsigned long long)decided, percent(c.seen, decided));
}
