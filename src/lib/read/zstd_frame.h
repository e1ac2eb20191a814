/*
 * zstd_frame.h - whole frames of zstd, for whoever writes one after the other (inflate.c makes
 * them: it is the only file that knows zstd).
 */
#ifndef RATEL_READ_ZSTD_FRAME_H
#define RATEL_READ_ZSTD_FRAME_H

#include "base/strbuf.h"

/* A whole frame of these bytes; false: it could not be made, or this build has no zstd. */
bool deflate_frame(const char *at, size_t n, strbuf *out);
bool deflate_has_frames(void);

#endif
