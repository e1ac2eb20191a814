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

/* The first n bytes as a string, to be freed; NULL: out of memory. */
static char *copy_part(const char *s, size_t n)
{
    char *copy = malloc(n + 1);
    if (!copy) return NULL;
    memcpy(copy, s, n);
    copy[n] = 0;
    return copy;
}

/* Two paths that do not exist yet: are they one name in one directory? */
static bool is_same_new_file(const char *one, const char *other)
{
    const char *names[2], *paths[2] = {one, other};
    struct stat dir[2];
    for (int i = 0; i < 2; i++) {
        const char *slash = strrchr(paths[i], '/');
        names[i] = slash ? slash + 1 : paths[i];
        size_t n = slash ? (size_t)(slash - paths[i]) + 1 : 0;
        char *in = n ? copy_part(paths[i], n) : copy_part(".", 1);
        bool found = in && !stat(in, &dir[i]);
        free(in);
        if (!found) return false;
    }
    return !strcmp(names[0], names[1]) && dir[0].st_dev == dir[1].st_dev &&
           dir[0].st_ino == dir[1].st_ino;
}

/* Is the path one of the files of a list of levels, such as ser,mine.iso? */
static bool is_level_file(const char *list, const char *path)
{
    while (list) {
        size_t n = strcspn(list, ",");
        char *word = copy_part(list, n);
        bool same = word && strchr(word, '.') && is_same_file(word, path);
        free(word);
        if (same) return true;
        list = list[n] ? list + n + 1 : NULL;
    }
    return false;
}

/* Does the option at hand write over something that this command reads?  What -o may do to a
   positional file is for the commands to say: some of them translate files in place. */
static bool replaces_input(const args *a, enum option_id writes, const char *path)
{
    static const enum option_id lists[] = {O_LEVEL, O_ALLOW, O_FORBID, O_LATTICE};
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode)) return false;
    if (writes != O_OUTPUT && is_input(a, path)) return true;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (is_level_file(a->value[lists[i]], path)) return true;
    return a->value[O_DEFINITION] && is_same_file(a->value[O_DEFINITION], path);
}

bool outputs_differ(const args *a)
{
    static const enum option_id files[] = {O_OUTPUT, O_CERTIFICATE, O_WITNESS,
                                           O_SHRUNK, O_TRUTH,       O_HTML,
                                           O_JUNIT,  O_SARIF,       O_WRITE_BASELINE};
    struct stat st;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = a->value[files[i]];
        if (!path || !strcmp(path, "-")) continue;
        if (replaces_input(a, files[i], path)) {
            complain("--%s %s: this is an input of the command, and would be replaced",
                     option_table[files[i]].name, path);
            return false;
        }
        const char *known = files[i] != O_WRITE_BASELINE ? a->value[O_BASELINE] : NULL;
        if (known && is_same_file(known, path)) {
            complain("--%s and --baseline name the same file, %s", option_table[files[i]].name,
                     path);
            return false;
        }
        for (size_t j = 0; j < i; j++) {
            const char *other = a->value[files[j]];
            if (!other || !strcmp(other, "-")) continue;
            bool new = stat(path, &st) && stat(other, &st);
            if (new ? !is_same_new_file(path, other) : !is_same_file(path, other)) continue;
            complain("--%s and --%s name the same file, %s", option_table[files[j]].name,
                     option_table[files[i]].name, path);
            return false;
        }
    }
    return true;
}

FILE *open_output(const args *a)
{
    const char *path = a->value[O_OUTPUT];
    output *o = &a->outputs->answer;
    if (!a->value[O_TIDY] && is_input(a, path)) {
        complain("-o %s: this is an input, which the answer would replace", path);
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
        complain("%s: this is a module of this command, which the history would replace", path);
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
