/*
 * anomaly.c - accessors of anomalies.def.
 */
#include "opt/anomaly.h"

#include <string.h>

static const anomaly_info table[] = {
#define ANOMALY(id, name, others, plantable) {name, others, plantable},
#include "opt/anomalies.def"
#undef ANOMALY
};

const anomaly_info *anomaly_at(size_t i)
{
    return i < ANOMALIES ? &table[i] : NULL;
}

/* Is `name` one of the words of `words`? */
static int has_word(const char *words, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = words; n && (p = strstr(p, name)) != NULL; p += n)
        if ((p == words || p[-1] == ' ') && (p[n] == 0 || p[n] == ' ')) return 1;
    return 0;
}

int anomaly_named(const char *name)
{
    for (int i = 0; i < ANOMALIES; i++)
        if (!strcmp(table[i].name, name)) return i;
    for (int i = 0; i < ANOMALIES; i++)
        if (has_word(table[i].others, name)) return i;
    return -1;
}
