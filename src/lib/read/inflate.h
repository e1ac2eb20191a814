/*
 * inflate.h - gzip and zstd as stages between a stream and its reader or writer.
 *
 * A stage owns memory of zlib or zstd, which no region knows of: whoever wraps must call the
 * matching close before the region goes, also after a failure.
 */
#ifndef RATEL_READ_INFLATE_H
#define RATEL_READ_INFLATE_H

#include "read/read.h"

/* Looks at the first bytes; if they are compressed data, the source yields what is inside from
   now on.  Must be called before anything was consumed.  True if so. */
bool inflate_wrap(source *s);
/* Data that is cut off is at its end from now on: for files that say themselves whether they are
   whole, because whoever wrote them may have been killed in the middle of a frame. */
void inflate_allow_cut(source *s);
/* Frees the stage, if there is one; the source then reads the bare stream again. */
void inflate_close(source *s);

/* Compresses what goes through the sink if the name ends in .gz or .zst.  True if so. */
bool deflate_wrap(sink *s, const char *name);
/* Flushes the sink and writes the end of the compressed data. */
void deflate_finish(sink *s);
void deflate_close(sink *s);

#endif
