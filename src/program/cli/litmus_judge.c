/*
 * litmus_judge.c - what the checker says of the histories of a litmus table.
 *
 * The table says what happened by the rows that statements returned; the checker judges the
 * recorded history by the axioms of levels.  The two know nothing of each other, so that a test can
 * hold one to the other.
 */
#include <string.h>

#include "cli/litmus.h"
#include "ratel-audit.h"

enum { JUDGED_LEVELS = 64 };

struct litmus_judge {
    mem *mem;
    ratel *context;
    size_t levels;
    const char *name[JUDGED_LEVELS];
    bool violated[JUDGED_LEVELS]; /* by some history of the row */
    bool asked;
};

litmus_judge *litmus_judge_new(mem *m, ratel *context)
{
    litmus_judge *j = mem_zeroed(m, sizeof *j);
    ratel_level l;
    j->mem = m;
    j->context = context;
    for (size_t i = 0; ratel_level_at(&l, i) == RATEL_OK && j->levels < JUDGED_LEVELS; i++)
        if (l.decided && strncmp(l.name, "mixed", 5) != 0 && strncmp(l.name, "innodb", 6) != 0 &&
            strcmp(l.name, "linearizable") != 0) /* cases have transactions */
            j->name[j->levels++] = l.name;
    return j;
}

static const char *verdict_at(litmus_judge *j, const ratel_history *h, const char *level)
{
    ratel_result *a = NULL;
    if (ratel_check(&a, j->context, h, level)) return NULL;
    const char *verdict = verdict_name(ratel_result_verdict(a));
    ratel_result_free(a);
    return verdict;
}

static void judge_history(litmus_judge *j, const litmus_case *c, litmus_cell *cell)
{
    text_left t = {cell->history, strlen(cell->history)};
    ratel_history *h = NULL;
    if (ratel_history_read(&h, j->context, "ratel", read_left, &t)) {
        cell->check = "unreadable";
        return;
    }
    for (size_t i = 0; i < j->levels; i++) {
        const char *v = verdict_at(j, h, j->name[i]);
        if (v && !strcmp(v, "violated")) j->violated[i] = cell->told = true;
    }
    j->asked = true;
    if (c->spec.forbidden) cell->check = verdict_at(j, h, c->spec.forbidden);
    ratel_history_free(h);
}

/* A log says whether a level of logs explains it; not every level is one. */
static void judge_log(litmus_judge *j, const litmus_case *c, litmus_cell *cell)
{
    const char *level = c->spec.forbidden;
    ratel_audit *a = NULL;
    ratel_audit_answer answer;
    text_left t = {cell->log, strlen(cell->log)};
    if (!level || !ratel_audit_available() || ratel_audit_open(&a, NULL)) return;
    ratel_audit_options o = {.level = level, .seconds = 5};
    if (!ratel_audit_run(a, &o, read_left, &t, &answer)) cell->check = verdict_name(answer.verdict);
    ratel_audit_close(a);
    bool violated = cell->check && !strcmp(cell->check, "violated");
    for (size_t i = 0; violated && i < j->levels; i++)
        if (ratel_level_implies(j->name[i], level, 1) == 1) j->violated[i] = true;
}

void litmus_judge_cell(litmus_judge *j, const litmus_case *c, litmus_cell *cell)
{
    if (cell->outcome > CASE_ABSENT) return;
    if (cell->history)
        judge_history(j, c, cell);
    else if (cell->log)
        judge_log(j, c, cell);
}

static bool is_strongest(const litmus_judge *j, size_t i)
{
    for (size_t k = 0; k < j->levels; k++)
        if (k != i && !j->violated[k] && ratel_level_implies(j->name[k], j->name[i], 1) == 1 &&
            (ratel_level_implies(j->name[i], j->name[k], 1) != 1 || k < i))
            return false;
    return !j->violated[i];
}

const char *litmus_judge_row(litmus_judge *j)
{
    strbuf b;
    strbuf_init(&b, j->mem);
    for (size_t i = 0; j->asked && i < j->levels; i++)
        if (is_strongest(j, i)) strbuf_printf(&b, "%s%s", b.n ? ", " : "", j->name[i]);
    memset(j->violated, 0, sizeof j->violated);
    j->asked = false;
    return strbuf_cstr(&b);
}
