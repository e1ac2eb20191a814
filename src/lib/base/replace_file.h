/*
 * replace_file.h - the one way in which a file is written: beside its target, then renamed over it.
 *
 * Until replace_finish the target is what it was, so a full disk, a kill or an error costs nobody
 * the old content, and a program may write over what it is still reading.  What is not a regular
 * file (a device, a pipe, a descriptor under /dev/fd) has no old content and cannot be replaced:
 * it is written to directly.
 *
 *     if ((error = replace_open(&f, path)) == 0) {
 *         ... write to f.fd ...
 *         if (whole) error = replace_finish(&f); else replace_abandon(&f);
 *     }
 *
 * A recorder's file grows while it can already be read: replace_begin gives the new, empty file its
 * name, and it stays open and locked (flock) until the last process that has it ends.  A file that
 * is so locked is not replaced: EBUSY.
 */
#ifndef RATEL_BASE_REPLACE_FILE_H
#define RATEL_BASE_REPLACE_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#ifndef PATH_MAX
#define PATH_MAX 4096
#endif

typedef struct replace_file {
    int fd;              /* write here; -1: not open */
    bool straight;       /* fd is the target itself */
    bool existed;        /* there is an old file, whose owner and permissions are kept */
    struct stat old;     /* what is known of it */
    char path[PATH_MAX]; /* the target, with symbolic links followed */
    char made[PATH_MAX]; /* the new file until it takes its name; empty: there is none */
} replace_file;

/* Opens a way to write the file at path; 0, or an errno. */
int replace_open(replace_file *f, const char *path);
/* Everything was written: the target gets its new content.  0, or an errno, and then the target is
   what it was before. */
int replace_finish(replace_file *f);
/* The new file takes its name before anything is written to it; replace_abandon then only closes
   it.  0, or an errno, and then the target is what it was. */
int replace_begin(replace_file *f);
/* What to tell of an errno, those of these functions among them; written to text. */
const char *replace_error(int error, char *text, size_t n);
/* Not everything was written, or nothing is wanted: the target stays as it was. */
void replace_abandon(replace_file *f);

#endif
