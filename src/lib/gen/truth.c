/*
 * truth.c - closing sets of levels under implication.
 *
 * Each level has a bit and the set of levels that it implies directly (truth.def); closing a set
 * is a walk to the fixed point, which 31 levels afford.  truth_strongest and truth_weakest leave
 * out what follows from other members, for lists that people read.
 *
 * Invariant: truth_down and truth_up are idempotent and monotone.
 */
#include "gen/truth.h"

#include <assert.h>
#include <stdbool.h>

static_assert(TRUTHS <= 31, "one bit of an int each");

static const struct {
    const char *name;
    truth_set implies;
} table[] = {
#define TRUTH(id, name, implies) {name, implies},
#include "gen/truth.def"
#undef TRUTH
};

static truth_set bit(int i)
{
    return (truth_set)1 << i;
}

truth_set truth_down(truth_set s)
{
    for (truth_set before = 0; before != s;) {
        before = s;
        for (int i = 0; i < TRUTHS; i++)
            if (s & bit(i)) s |= table[i].implies;
    }
    return s;
}

truth_set truth_up(truth_set s)
{
    for (truth_set before = 0; before != s;) {
        before = s;
        for (int i = 0; i < TRUTHS; i++)
            if (table[i].implies & s) s |= bit(i);
    }
    return s;
}

truth_set truth_strongest(truth_set s)
{
    truth_set out = s;
    for (int i = 0; i < TRUTHS; i++)
        if (s & bit(i)) out &= ~(truth_down(bit(i)) & ~bit(i));
    return out;
}

truth_set truth_weakest(truth_set s)
{
    truth_set out = s;
    for (int i = 0; i < TRUTHS; i++)
        if (s & bit(i)) out &= ~(truth_up(bit(i)) & ~bit(i));
    return out;
}

void truth_names(truth_set s, strbuf *out)
{
    bool first = true;
    strbuf_char(out, '[');
    for (int i = TRUTH_INDEX_RU; i < TRUTHS; i++) {
        if (!(s & bit(i))) continue;
        if (!first) strbuf_char(out, ',');
        first = false;
        strbuf_json(out, table[i].name, strlen(table[i].name));
    }
    strbuf_char(out, ']');
}
