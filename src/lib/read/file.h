/*
 * file.h - histories at paths: files, directories, standard input and output.
 *
 * A read_file or write_file owns what a region cannot: descriptors, a directory stream, the
 * memory of a decompressor, a half-written file.  The border that arms the guard holds one, and
 * closes it after the call, whether that returned or jumped:
 *
 *     read_file_init(&f);
 *     if (!guard_armed(g)) { read_path(&f, h, path, NULL); history_freeze(h); }
 *     read_file_close(&f);
 *
 * Close before freeing the history: the window lives in its region.
 */
#ifndef RATEL_READ_FILE_H
#define RATEL_READ_FILE_H

#include "base/replace_file.h"
#include "read/read.h"

typedef struct read_file {
    source s; /* first: source_open_member finds its file through it */
    bool started;
    int fd;          /* -1: none open, or not ours to close */
    int stream;      /* the descriptor being read */
    uint64_t taken;  /* bytes that came from it */
    void *directory; /* a DIR */
    int error;       /* errno of the last failed read */
    strbuf path;     /* of the member */
    char text[128];  /* its error as words */
} read_file;

void read_file_init(read_file *f);
void read_file_close(read_file *f);

/* Reads the history at path ("-": standard input) into h, which stays unfrozen.  format: an id, or
   NULL to tell it by content.  Returns the format; fails through h's guard. */
const read_format *read_path(read_file *f, history *h, const char *path, const char *format);
/* The same from a callback, compressed or not. */
const read_format *read_stream(read_file *f, history *h, source_read read, void *payload,
                               const char *format);

/* Reads one more file into h, which stays unfrozen: the initial state that belongs to it. */
void read_init_path(read_file *f, history *h, const char *path);

typedef struct write_file {
    mem mem; /* what writing needs; freed by close */
    sink out;
    int fd;
    bool whole;                /* refuse to write what would get another verdict */
    history *back;             /* what was written, read again; or NULL */
    read_file back_file;       /* ... from here */
    strbuf bytes;              /* ... or from here */
    size_t at;                 /* ... and how far */
    bool owned;                /* fd is ours to close */
    replace_file file;         /* the one file of a format that is no directory */
    const char *temp;          /* the directory until it can take its name, or NULL */
    VEC(const char *) members; /* paths made inside temp */
} write_file;

void write_file_init(write_file *w, mem_fn fn, void *ud, guard *g);
void write_file_close(write_file *w);

/* Writes a frozen history; "-" is standard output, .gz and .zst compress.  The path gets its new
   content at the end and all at once, or keeps the old.  What the format could not hold is in
   w->out.lost_bits afterwards. */
void write_path(write_file *w, const history *h, const char *format, const char *path);
/* Fails if the format cannot hold all operations, or what it holds reads as another history to some
   level (read/meaning.h); for output that cannot be taken back. */
void write_refuse_loss(write_file *w, const history *h, const read_format *format);

#endif
