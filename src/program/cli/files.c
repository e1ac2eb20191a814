/*
 * files.c - histories in, answers out: reading with --init and --versions, the file of -o, JSON to
 * a file, and whether an output wants colour.
 *
 * Whether everything was written is asked once, when a file is closed; main asks it of standard
 * output.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

int read_history(const args *a, const char *path, ratel_history **h)
{
    ratel_beside beside = {a->value[O_INIT], a->value[O_VERSIONS]};
    return ratel_history_read_with(h, a->context, a->value[O_FORMAT], path, &beside);
}

bool colour_wanted(const args *a, int fd)
{
    const char *when = a->value[O_COLOR];
    if (when && !strcmp(when, "always")) return true;
    if (when && !strcmp(when, "never")) return false;
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return isatty(fd) && (!no || !*no) && (!term || strcmp(term, "dumb") != 0);
}

int write_file_cb(const void *buf, size_t n, void *file)
{
    return fwrite(buf, 1, n, file) == n ? 0 : -1;
}

FILE *open_output(const args *a)
{
    const char *path = a->value[O_OUTPUT];
    if (!path || !strcmp(path, "-")) return stdout;
    FILE *f = fopen(path, "w");
    if (!f) perror(path);
    return f;
}

int close_output(const args *a, FILE *f, int status)
{
    if (f == stdout) return status; /* main looks at that one */
    bool bad = ferror(f) != 0;
    if (fclose(f) || bad) {
        perror(a->value[O_OUTPUT]);
        if (status == EXIT_HOLDS) status = EXIT_IO;
    }
    return status;
}

static void put_to_file(void *to, const char *bytes, size_t n)
{
    fwrite(bytes, 1, n, to);
}

json_writer json_file(FILE *f)
{
    return (json_writer){.put = put_to_file, .to = f};
}

void json_error_line(FILE *f, const char *name, const char *path, const char *text)
{
    json_writer w = json_file(f);
    jw_object(&w);
    jw_member_u64(&w, "schema", 1);
    jw_member_text(&w, name, path);
    jw_member_text(&w, "error", text);
    jw_end_object(&w);
    jw_end_line(&w);
}
