/*
 * fuzzy_read.h - a transaction that read one key twice and saw two versions of it.
 *
 * Wherever all reads of a transaction see one state, two different results of one key are a
 * violation by themselves: whatever the order of the writers, one of the two versions is later, and
 * the transaction both saw it and read the earlier one.  No search is needed to see that, and no
 * other transaction to tell it.
 */
#ifndef RATEL_VERDICT_FUZZY_READ_H
#define RATEL_VERDICT_FUZZY_READ_H

#include "asg/asg.h"

/* Two obligations of one node and key, in the order of its operations. */
typedef struct repeated_read {
    uint32_t first, second;
} repeated_read;

/* Does a transaction that surely took part read a key twice, without writing it before, with
   results that the level does not allow together? */
bool fuzzy_read_find(const asg *g, enum level_id level, repeated_read *out);

#endif
