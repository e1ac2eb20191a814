/*
 * formats.h - the functions that the rows of formats.def name, one pair a format.
 *
 * Every reader is `void NAME_read(history *, source *)`, every writer of a one-stream format
 * `void NAME_write(const history *, sink *)`; directory formats have NAME_read_dir and
 * NAME_write_member instead of a writer.  The table itself is detect.c's.
 */
#ifndef RATEL_READ_FORMATS_H
#define RATEL_READ_FORMATS_H

#include "read/read.h"

#define STREAM_true(name) void name##_read_dir(history *h, const read_dir *d, source *s);
#define STREAM_false(name) void name##_write(const history *h, sink *out);
#define MEMBER_true(name)                                                                          \
    void name##_write_member(const history *h, uint32_t session, sink *out);                       \
    uint32_t name##_members(const history *h);
#define MEMBER_false(name)
#define FORMAT(id, name, binary, directory, about)                                                 \
    void name##_read(history *h, source *s);                                                       \
    STREAM_##directory(name) MEMBER_##directory(name)
#include "read/formats.def"
#undef FORMAT
#undef STREAM_true
#undef STREAM_false
#undef MEMBER_true
#undef MEMBER_false

/* --- telling formats apart (detect.c), for file.c ------------------------------------------ */

/* What a format is that we can tell but this version cannot read; NULL for others. */
const char *read_format_unreadable(const char *id);
/* The member of a directory that is a whole history by itself (history.bincode), or NO_ID. */
uint32_t read_dir_single(size_t members, const char *const *names);

enum member_letter { cobra_letter = 'T', viper_letter = 'J' };

/* Whether a name is one of Viper's logs. */
bool viper_member(const char *name, uint64_t *number);

/* Replaces the initial state by that of a TimeKiller init file. */
void timekiller_read_init(history *h, source *s);

/* --- Cobra's, for those who look at a directory or at first bytes -------------------------- */

/* Whether a name is T<number>.log, possibly compressed. */
bool cobra_member(const char *name, uint64_t *number);
/* Do these bytes look like the start of a log?  -1 no, 0 plain, 1 with client timestamps. */
int cobra_variant(const char *p, size_t n);

#endif
