/*
 * The order problem of a level as a formula, and a solver of one's own for it: this one tries all
 * assignments of a few variables. Compiles as C11 and as C++17.
 */
#define RATEL_EXPERIMENTAL
#include <ratel.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long model; /* bit v - 1: variable v is true */

static int satisfied(const char *clauses)
{
    char *next;
    int some = 0;
    for (long lit = strtol(clauses, &next, 10); next != clauses; lit = strtol(clauses, &next, 10)) {
        clauses = next;
        if (!lit && !some) return 0;
        if (!lit)
            some = 0;
        else
            some |= (int)(model >> (labs(lit) - 1) & 1) == (lit > 0);
    }
    return 1;
}

static int solve(void *payload, const char *problem, size_t n, int (*stop)(void *), void *ud)
{
    const char *head = strstr(problem, "p cnf ");
    int vars = 0, clauses = 0, at = 0;
    (void)payload;
    (void)n;
    if (!head || sscanf(head, "p cnf %d %d%n", &vars, &clauses, &at) < 2 || vars > 20) return 0;
    for (model = 0; !(model >> vars); model++) {
        if (stop(ud)) return 0;
        if (satisfied(head + at)) return 10;
    }
    return 20;
}

static int64_t value(void *payload, const char *variable)
{
    (void)payload;
    return (int64_t)(model >> (strtoul(variable, NULL, 10) - 1) & 1);
}

static int print(const void *bytes, size_t n, void *payload)
{
    return fwrite(bytes, 1, n, (FILE *)payload) != n;
}

int main(void)
{
    const ratel_backend all = {"all assignments", "dimacs", solve, value, NULL};
    ratel *r = NULL;
    ratel_history *h = NULL;
    ratel_result *ser = NULL, *si = NULL;
    int bad = 1;
    if (ratel_open(&r, NULL)) return 70;
    if (ratel_history_read_path(&h, r, NULL, "doc/examples/doctors.jsonl") ||
        ratel_emit(h, r, "serializable", "dimacs", NULL, print, stdout) ||
        ratel_check_by(&ser, r, h, "serializable", NULL, &all) ||
        ratel_check_by(&si, r, h, "snapshot-isolation", NULL, &all))
        fprintf(stderr, "%s\n", ratel_errmsg(r));
    else {
        printf("%s\n%s\n", ratel_result_reason(ser), ratel_result_reason(si));
        bad = ratel_result_verdict(ser) != RATEL_VIOLATED || ratel_result_verdict(si) != RATEL_HOLDS;
    }
    ratel_result_free(ser);
    ratel_result_free(si);
    ratel_history_free(h);
    ratel_close(r);
    return bad;
}
