/*
 * compressed.h - logs that come compressed.  A file of its own, because read/inflate.h brings in
 * histories, whose values have the names of ours.
 */
#ifndef RATEL_AUDIT_COMPRESSED_H
#define RATEL_AUDIT_COMPRESSED_H

#include "read/byte_source.h"

/* From now on the source yields what is inside, if it is gzip or zstd. */
void packed_open(source *s);
/* The end of the file may be missing: the log says by itself whether it is whole. */
void packed_allow_cut(source *s);
void packed_close(source *s);

#endif
