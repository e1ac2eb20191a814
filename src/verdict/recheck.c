/*
 * recheck.c - placeholder head; see the next commit.
 */
#include "verdict/verdict.h"

bool recheck(const verdict *v, const history *h, mem *m, const char **why)
{
    (void)v;
    (void)h;
    (void)m;
    *why = "rechecking is not built yet";
    return false;
}
