/*
 * did_you_mean.c - the name of a list that was probably meant by one that is not in it.
 *
 * The distance counts letters that are added, left out, replaced or exchanged with their neighbour.
 * A third of the letters may differ, three at most: more would be a guess.
 */
#include <string.h>

#include "cli/cli.h"

enum { LONGEST = 64 };

static char lower_letter(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c == '_' ? '-' : c;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t name_distance(const char *a, size_t na, const char *b, size_t nb)
{
    size_t row[3][LONGEST + 1];
    for (size_t j = 0; j <= nb; j++) row[0][j] = j;
    for (size_t i = 1; i <= na; i++) {
        size_t *now = row[i % 3], *above = row[(i + 2) % 3], *before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= nb; j++) {
            char x = lower_letter(a[i - 1]), y = lower_letter(b[j - 1]);
            now[j] = least(above[j - 1] + (x != y), least(above[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && x == lower_letter(b[j - 2]) && y == lower_letter(a[i - 2]))
                now[j] = least(now[j], before[j - 2] + 1);
        }
    }
    return row[na % 3][nb];
}

const char *nearest_name(const char *given, size_t n, const char *(*at)(size_t i))
{
    const char *name, *found = NULL;
    size_t best = n / 3 < 3 ? n / 3 + 1 : 4;
    if (n > LONGEST) return NULL;
    for (size_t i = 0; (name = at(i)) != NULL; i++) {
        size_t m = strlen(name);
        if (!m || m > LONGEST) continue;
        size_t d = name_distance(given, n, name, m);
        if (d < best) {
            best = d;
            found = name;
        }
    }
    return found;
}

void complain_no_name(const char *what, const char *given, size_t n, const char *(*at)(size_t i),
                      const char *where)
{
    const char *near = nearest_name(given, n, at);
    if (near)
        complain("no %s \"%.*s\"; did you mean %s? (%s)", what, (int)n, given, near, where);
    else
        complain("no %s \"%.*s\" (%s)", what, (int)n, given, where);
}
