/*
 * ids.h - write ids: values that say which write has put them there.
 *
 * A value in the database is then the id of its write and, in the low half, what the workload
 * wrote; in the history it is the text "ID:VALUE".  So every value is written once, also where the
 * workload repeats itself, and a value that comes back under an id that stands for something else,
 * or for another key, has been tampered with.  Rows that are there at first have the id 0.
 *
 * Not locked: the caller sees to it.
 */
#ifndef RATEL_WORK_IDS_H
#define RATEL_WORK_IDS_H

#include "driver/driver.h"

typedef struct id_table {
    mem mem;
    VEC(db_row) writes; /* by id - 1 */
    const db_row *rows; /* at first, in the order of their keys */
    size_t n_rows;
} id_table;

void ids_init(id_table *t, guard *g, const db_row *rows, size_t n_rows);
void ids_free(id_table *t);
/* The value to send instead; fails through the guard. */
int64_t ids_issue(id_table *t, int64_t key, int64_t value);
/* Is this what was written under that id?  Else `why` says what is wrong. */
bool ids_true(const id_table *t, int64_t key, int64_t value, char *why, size_t cap);

static inline uint32_t ids_id(int64_t value)
{
    return (uint32_t)((uint64_t)value >> 32);
}
static inline uint32_t ids_value(int64_t value)
{
    return (uint32_t)(uint64_t)value;
}

#endif
