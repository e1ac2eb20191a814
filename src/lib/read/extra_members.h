/*
 * extra_members.h - members of other JSON formats that the model does not know.
 *
 * They are kept with their transaction.  One whose name means something in the native format (id,
 * mark, ...) would be misread there, so it gets a prefix, and loses it when it is written back; a
 * name that already looks so gets one more.
 */
#ifndef RATEL_READ_EXTRA_MEMBERS_H
#define RATEL_READ_EXTRA_MEMBERS_H

#include "read/json.h"

/* Keeps a member of the open transaction; text is JSON without line breaks. */
void kept_add(history *h, const char *prefix, json_text name, json_text text);
/* The name under which it came. */
json_text kept_name(const char *prefix, json_text stored);

#endif
