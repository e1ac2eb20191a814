/*
 * faults.c - reads what --faults asks for; see faults.h.
 */
#include "work/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[FAULT_KINDS] = {"kill", "pause", "restart"};

/* 500ms, 10s, 2m; a number alone is seconds.  *at is moved past it. */
static bool read_time(const char **at, uint64_t *out)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}};
    char *end;
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

static bool read_fault(const char **at, fault *f)
{
    size_t n = strcspn(*at, ":@,"), kind = 0;
    while (kind < FAULT_KINDS &&
           (strlen(kind_names[kind]) != n || strncmp(kind_names[kind], *at, n) != 0))
        kind++;
    if (kind == FAULT_KINDS) return false;
    *f = (fault){.kind = (enum fault_kind)kind, .node = FAULT_ANY_NODE};
    *at += n;
    if (**at == ':') {
        if ((*at)[1] < 'a' || (*at)[1] > 'z') return false;
        f->node = (uint8_t)((*at)[1] - 'a');
        *at += 2;
    }
    if (**at == '@') {
        f->scheduled = true;
        ++*at;
        if (!read_time(at, &f->at)) return false;
        if (**at == '+' && (++*at, !read_time(at, &f->lasts) || !f->lasts)) return false;
    }
    return !**at || **at == ',';
}

static bool comes_before(const fault *a, const fault *b)
{
    return a->scheduled != b->scheduled ? a->scheduled : a->scheduled && a->at < b->at;
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
            snprintf(error, cap,
                     "\"%.*s\" is no fault such as kill, pause, restart, or kill:b@10s+2s",
                     (int)strcspn(begin, ","), begin);
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

bool faults_fit(const fault_plan *p, uint32_t nodes)
{
    for (uint32_t i = 0; i < p->n; i++)
        if (p->item[i].node != FAULT_ANY_NODE && p->item[i].node >= (nodes ? nodes : 1))
            return false;
    return true;
}
