/*
 * stored.h - how engines of keys and values, without SQL, keep our rows.
 *
 * A key is its number in eight bytes, the highest first and its sign turned, so that bytes and
 * numbers have one order.  A value is text: digits, or a list of them with commas, or a dash for a
 * row that is there and marked as deleted.
 */
#ifndef RATEL_DRIVER_STORED_H
#define RATEL_DRIVER_STORED_H

#include "driver/driver.h"

enum { STORED_KEY = 8, STORED_NUMBER = 24 };

void stored_key(unsigned char *to, int64_t key);
int64_t stored_key_of(const unsigned char *from);

/* The text of a number; its length. */
size_t stored_number(char *to, int64_t value);
/* Tells a session what a read has found; NULL: nothing. */
void stored_seen(db_session *s, const char *value, size_t n);
/* One row of a range, unless it is marked as deleted. */
void stored_row(db_session *s, int64_t key, const char *value, size_t n);
/* The text that a list becomes by one more element; `found` of n bytes is what is there. */
void stored_append(strbuf *to, const char *found, size_t n, int64_t value);
#define STORED_TOMB "-"

/* The address DIR[?...], or temp[?...]: then a directory that goes with us.  False: d->error. */
bool stored_directory(db *d, char *path, size_t cap);

#endif
