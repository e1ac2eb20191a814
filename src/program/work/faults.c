/*
 * faults.c - reads what --faults asks for; see faults.h.
 */
#include "work/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"

enum where { NODE, NODES, LINKS, GROUPS };

static const struct fault_row {
    const char *name;
    unsigned needs;
    enum where where;
    int64_t amount;
    const char *about;
} rows[FAULT_KINDS] = {
#define FAULT(id, name, needs, where, amount, about) {name, needs, where, amount, about},
#include "work/faults.def"
#undef FAULT
};

_Static_assert((int)FAULT_NODES == (int)DB_NODES, "every node of a cluster can be named");

const char *fault_name(enum fault_kind k)
{
    return rows[k].name;
}

const char *fault_about(enum fault_kind k)
{
    return rows[k].about;
}

unsigned faults_need(const fault_plan *p)
{
    unsigned needs = 0;
    for (uint32_t i = 0; i < p->n; i++) needs |= rows[p->item[i].kind].needs;
    return needs;
}

/* 500ms, 10s, 2m; a number alone is seconds.  *at is moved past it. */
static bool read_time(const char **at, uint64_t *out)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}};
    char *end;
    if ((**at < '0' || **at > '9') && **at != '.') return false;
    double v = strtod(*at, &end);
    if (end == *at || !(v >= 0 && v < 1e6)) return false;
    double factor = 1;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (!strncmp(end, units[i].name, strlen(units[i].name))) {
            factor = units[i].seconds;
            end += strlen(units[i].name);
            break;
        }
    *out = (uint64_t)(v * factor * 1e9);
    *at = end;
    return true;
}

/* After `=`: a time, of a clock with a sign. */
static bool read_amount(const char **at, fault *f)
{
    uint64_t ns;
    bool clock = f->kind == FAULT_CLOCK, less = clock && **at == '-';
    if (!rows[f->kind].amount) return false;
    if (clock && (**at == '-' || **at == '+')) ++*at;
    if (!read_time(at, &ns) || !ns) return false;
    f->amount = less ? -(int64_t)ns : (int64_t)ns;
    f->has_amount = true;
    return true;
}

/* After `:`: nodes, and | between groups. */
static bool read_where(const char **at, fault *f)
{
    uint32_t nodes = 0;
    f->groups = 1;
    for (; (**at >= 'a' && **at < 'a' + FAULT_NODES) || **at == '|'; ++*at) {
        if (**at == '|') {
            if ((*at)[-1] == '|' || (*at)[-1] == ':' || rows[f->kind].where < LINKS) return false;
            f->groups++;
            continue;
        }
        uint8_t *group = &f->group[**at - 'a'];
        if (*group) return false;
        *group = f->groups;
        nodes++;
    }
    if ((*at)[-1] == '|' || !nodes) return false;
    if (rows[f->kind].where == NODE && nodes > 1) return false;
    return rows[f->kind].where != GROUPS || f->groups > 1;
}

static bool read_fault(const char **at, fault *f)
{
    size_t n = strcspn(*at, "=:@,"), kind = 0;
    while (kind < FAULT_KINDS &&
           (strlen(rows[kind].name) != n || strncmp(rows[kind].name, *at, n) != 0))
        kind++;
    if (kind == FAULT_KINDS) return false;
    *f = (fault){.kind = (enum fault_kind)kind,
                 .amount = rows[kind].amount == INT64_MIN ? 0 : rows[kind].amount};
    *at += n;
    if (**at == '=' && (++*at, !read_amount(at, f))) return false;
    if (**at == ':' && (++*at, !read_where(at, f))) return false;
    if (**at == '@') {
        f->scheduled = true;
        ++*at;
        if (!read_time(at, &f->at)) return false;
        if (**at == '+' && (++*at, !read_time(at, &f->lasts) || !f->lasts)) return false;
        /* What is over at once, or never, has no length. */
        if (f->lasts && (kind == FAULT_RESTART || kind == FAULT_FAILOVER)) return false;
    }
    return !**at || **at == ',';
}

static bool comes_before(const fault *a, const fault *b)
{
    return a->scheduled != b->scheduled ? a->scheduled : a->scheduled && a->at < b->at;
}

/* A name that is not known gets the list, and a fault that takes something else an example. */
static void explain_fault(const char *text, char *error, size_t cap)
{
    size_t n = strcspn(text, "=:@,");
    int whole = (int)strcspn(text, ",");
    for (int k = 0; k < FAULT_KINDS; k++) {
        static const char *const forms[] = {[NODE] = "%s, %s:b, %s:b@10s",
                                            [NODES] = "%s, %s:ab, %s:a@10s+2s",
                                            [LINKS] = "%s, %s:b@10s+2s, %s:a|bc@10s+2s",
                                            [GROUPS] = "%s, %s:a|bc, %s:a|bc@10s+2s"};
        char form[128];
        if (strlen(rows[k].name) != n || strncmp(rows[k].name, text, n) != 0) continue;
        snprintf(form, sizeof form, forms[rows[k].where], rows[k].name, rows[k].name, rows[k].name);
        snprintf(error, cap, "\"%.*s\" is not a fault: expected %s%s%s%s", whole, text, form,
                 rows[k].amount ? ", or with an amount " : "", rows[k].amount ? rows[k].name : "",
                 !rows[k].amount    ? ""
                 : k == FAULT_CLOCK ? "=-30s"
                                    : "=200ms");
        return;
    }
    size_t at = (size_t)snprintf(
        error, cap, "\"%.*s\" is not a fault such as kill:b@10s+2s; the faults are", whole, text);
    for (int k = 0; k < FAULT_KINDS && at < cap; k++)
        at += (size_t)snprintf(error + at, cap - at, "%s %s", k ? "," : "", rows[k].name);
}

bool faults_parse(fault_plan *p, const char *text, char *error, size_t cap)
{
    memset(p, 0, sizeof *p);
    while (text && *text) {
        const char *begin = text;
        fault f;
        if (p->n == FAULTS_MOST) {
            snprintf(error, cap, "at most %d faults", FAULTS_MOST);
            return false;
        }
        if (!read_fault(&text, &f)) {
            explain_fault(begin, error, cap);
            return false;
        }
        uint32_t at = p->n++;
        while (at && comes_before(&f, &p->item[at - 1])) {
            p->item[at] = p->item[at - 1];
            at--;
        }
        p->item[at] = f;
        p->scheduled += f.scheduled;
        text += *text == ',';
    }
    return true;
}

bool faults_fit(const fault_plan *p, uint32_t nodes, char *error, size_t cap)
{
    uint32_t failovers = 0;
    if (!nodes) nodes = 1;
    for (uint32_t i = 0; i < p->n; i++) {
        const fault *f = &p->item[i];
        for (uint32_t k = nodes; k < FAULT_NODES; k++)
            if (f->group[k]) {
                snprintf(error, cap,
                         "%s: there is no node %c; the database does not have that many nodes",
                         fault_name(f->kind), (char)('a' + k));
                return false;
            }
        failovers += f->kind == FAULT_FAILOVER;
        if (rows[f->kind].where == GROUPS && nodes < 2) {
            snprintf(
                error, cap,
                "%s: a single server cannot be partitioned; the database does not have that many "
                "nodes",
                fault_name(f->kind));
            return false;
        }
    }
    if (failovers > 1) snprintf(error, cap, "failover: a cluster can fail over only once");
    return failovers < 2;
}
