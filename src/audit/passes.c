/*
 * passes.c - the table of passes, and lists of them on the command line.
 */
#include <string.h>

#include "audit/audit.h"

static const struct {
    const char *name, *about;
} passes[] = {
#define PASS(id, name, about) {name, about},
#include "audit/passes.def"
#undef PASS
};
#define N_PASSES (sizeof passes / sizeof passes[0])

bool audit_pass_at(size_t i, const char **name, const char **about)
{
    if (i >= N_PASSES) return false;
    *name = passes[i].name;
    *about = passes[i].about;
    return true;
}

bool audit_passes(const char *list, uint32_t *off, const char **wrong)
{
    for (const char *p = list; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
        bool without = *p == '-';
        const char *name = *p == '-' || *p == '+' ? p + 1 : p;
        size_t n = strcspn(name, ","), i = 0;
        while (i < N_PASSES && (strlen(passes[i].name) != n || memcmp(passes[i].name, name, n)))
            i++;
        if (i < N_PASSES)
            *off = without ? *off | 1u << i : *off & ~(1u << i);
        else if (n == 4 && !memcmp(p, "none", 4))
            *off = (1u << N_PASSES) - 1;
        else if (n == 3 && !memcmp(p, "all", 3))
            *off = 0;
        else {
            *wrong = p;
            return false;
        }
    }
    return true;
}
