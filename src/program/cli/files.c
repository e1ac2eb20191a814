/*
 * files.c - histories in, answers out: reading with --init and --versions, the file of -o, JSON to
 * a file, and whether an output wants colour.
 *
 * Whether everything was written is asked once, when a file is closed; main asks it of standard
 * output.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/modules.h"

/* Which of the two kinds of EDN: the content tells.  What is no EDN at all is read as the kind that
   takes more, which then says what is wrong with it. */
static const char *edn_format(const args *a, const char *path)
{
    ratel_history *h;
    bool lists = true;
    if (strcmp(path, "-") && !ratel_history_read_path(&h, a->context, NULL, path)) {
        lists = strcmp(ratel_history_format(h), "edn-rw") != 0;
        ratel_history_free(h);
    }
    return lists ? "edn-la" : "edn-rw";
}

/* --level-of SESSION=LEVEL: the last sign of equality parts them, since names of sessions may have
   any. */
static int set_levels(const args *a, ratel_history *h)
{
    for (size_t i = 0; i < a->n_level_of; i++) {
        const char *given = a->level_of[i], *level = strrchr(given, '=');
        size_t n = level ? (size_t)(level - given) : 0;
        char *session = malloc(n + 1);
        if (!session) return RATEL_ENOMEM;
        memcpy(session, given, n);
        session[n] = 0;
        int code = level ? ratel_history_level_of(h, a->context, session, level + 1) : RATEL_EINVAL;
        free(session);
        if (code) return code;
    }
    return RATEL_OK;
}

/* False, after a complaint, if an argument of --level-of is none. */
bool level_of_given(const args *a)
{
    for (size_t i = 0; i < a->n_level_of; i++) {
        const char *level = strrchr(a->level_of[i], '=');
        if (!level || level == a->level_of[i]) {
            complain("--level-of %s: SESSION=LEVEL expected", a->level_of[i]);
            return false;
        }
        if (ratel_level_named(level + 1, NULL)) {
            complain_no_level(level + 1);
            return false;
        }
    }
    return true;
}

int read_history(const args *a, const char *path, ratel_history **h)
{
    ratel_beside beside = {a->value[O_INIT], a->value[O_VERSIONS]};
    const char *format = a->value[O_FORMAT];
    bool edn = format && !strcmp(format, "edn");
    int code =
        ratel_history_read_with(h, a->context, edn ? edn_format(a, path) : format, path, &beside);
    if (!code && (code = set_levels(a, *h)) != 0) {
        ratel_history_free(*h);
        *h = NULL;
    }
    return code;
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

/* Says why a file was not written. */
static bool not_written(const args *a, const char *path, int error)
{
    char text[128];
    a->outputs->lost = true;
    visible_to(stderr, path);
    fprintf(stderr, ": %s\n", error ? replace_error(error, text, sizeof text) : "write error");
    return false;
}

bool output_open(const args *a, output *o, const char *path)
{
    o->path = path;
    o->f = stdout;
    if (!strcmp(path, "-")) return true;
    o->f = NULL;
    int error = replace_open(&o->file, path);
    if (error) return not_written(a, path, error);
    /* the stream has a descriptor of its own: closing it flushes, and the file is still open */
    int fd = fcntl(o->file.fd, F_DUPFD_CLOEXEC, 3);
    o->f = fd < 0 ? NULL : fdopen(fd, "w");
    if (o->f) return true;
    error = errno;
    if (fd >= 0) close(fd);
    replace_abandon(&o->file);
    return not_written(a, path, error);
}

bool output_close(const args *a, output *o)
{
    FILE *f = o->f;
    o->f = NULL;
    if (f == stdout) return true; /* main looks at that one */
    bool bad = ferror(f) != 0;
    errno = 0;
    if (fclose(f) || bad) {
        int error = errno;
        /* the stream forgot why an earlier write failed; the next one fails for the same reason */
        if (bad && !o->file.straight && write(o->file.fd, "", 1) < 0) error = errno;
        replace_abandon(&o->file);
        return not_written(a, o->path, error);
    }
    int error = replace_finish(&o->file);
    return !error || not_written(a, o->path, error);
}

void output_abandon(output *o)
{
    if (!o->f || o->f == stdout) return;
    fclose(o->f);
    o->f = NULL;
    replace_abandon(&o->file);
}

bool is_same_file(const char *one, const char *other)
{
    struct stat s, t;
    if (!stat(one, &s) && !stat(other, &t))
        return S_ISREG(s.st_mode) && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
    return !strcmp(one, other);
}

bool is_input(const args *a, const char *path)
{
    static const enum option_id besides[] = {O_INIT, O_VERSIONS};
    struct stat out;
    if (!path || stat(path, &out) || !S_ISREG(out.st_mode)) return false;
    for (size_t i = 0; i < sizeof besides / sizeof *besides; i++)
        if (a->value[besides[i]] && is_same_file(a->value[besides[i]], path)) return true;
    for (size_t i = 0; i < a->n_files; i++)
        if (is_same_file(a->files[i], path)) return true;
    return is_module(a, path);
}

FILE *open_output(const args *a)
{
    const char *path = a->value[O_OUTPUT];
    output *o = &a->outputs->answer;
    if (!a->value[O_TIDY] && is_input(a, path)) {
        complain("-o %s: this is an input; an answer does not replace the file that it is about",
                 path);
        return NULL;
    }
    return output_open(a, o, path ? path : "-") ? o->f : NULL;
}

int close_output(const args *a, FILE *f, int status)
{
    output *o = &a->outputs->answer;
    if (f != stdout && status >= EXIT_UNDECIDED && !ftello(f)) { /* there is no answer */
        output_abandon(o);
        return status;
    }
    return output_close(a, o) ? status : EXIT_IO;
}

int write_history(const args *a, const ratel_history *h, const char *format, const char *path)
{
    if (strcmp(path, "-") && is_module(a, path)) {
        complain("%s: this is a module that was given; a history does not replace it", path);
        return EXIT_USAGE;
    }
    ratel_stat count;
    if (!strcmp(format, "edn"))
        format = !ratel_history_stat(&count, a->context, h) && count.appends ? "edn-la" : "edn-rw";
    int code = ratel_history_write_path(h, a->context, format, path);
    if (!code) {
        print_lost(a, path);
        return EXIT_HOLDS;
    }
    if (code == RATEL_EIO) a->outputs->lost = true;
    return complain_about(a->context, path, code);
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
