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

void warn_incomplete(const args *a, const char *path, const ratel_history *h)
{
    uint64_t n;
    if (a->value[O_QUIET] || ratel_history_complete(h, &n)) return;
    visible_to(stderr, path);
    if (!n)
        fputs(": warning: the recording was cut off: its end mark is missing [cut-off]\n", stderr);
    else
        fprintf(stderr, ": warning: %llu %s of the recording %s missing [lost-lines]\n",
                (unsigned long long)n, n == 1 ? "line" : "lines", n == 1 ? "is" : "are");
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

int why_lost(int fd)
{
    struct stat st;
    if (fstat(fd, &st)) return errno;
    if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) return EPIPE;
    errno = 0;
    return write(fd, "\n", S_ISREG(st.st_mode) ? 1 : 0) < 0 ? errno : 0;
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
        if (bad && !error) error = why_lost(o->file.fd);
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

/* Is the file below the directory?  Some histories are directories, and others are looked for in
   them. */
static bool is_below(const char *directory, const char *path)
{
    struct stat st;
    if (stat(directory, &st) || !S_ISDIR(st.st_mode)) return false;
    char *top = realpath(directory, NULL), *at = realpath(path, NULL);
    size_t n = top ? strlen(top) : 0;
    while (n && top[n - 1] == '/') n--;
    bool below = top && at && !strncmp(at, top, n) && at[n] == '/';
    free(top);
    free(at);
    return below;
}

/* Is it what standard input was opened on? */
static bool is_standard_input(const struct stat *st)
{
    struct stat in;
    return !fstat(STDIN_FILENO, &in) && in.st_dev == st->st_dev && in.st_ino == st->st_ino;
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

/* Is it the database, as in sqlite:FILE or lmdb:DIR? */
static bool is_database(const char *url, const char *path)
{
    const char *at = url ? strchr(url, ':') : NULL;
    char *name = at ? copy_part(at + 1, strcspn(at + 1, "?")) : NULL;
    bool same = name && (is_same_file(name, path) || is_below(name, path));
    free(name);
    return same;
}

/* Is it one of the files that options say how to read? */
static bool is_read_beside(const args *a, const char *path)
{
    static const enum option_id besides[] = {O_INIT,   O_VERSIONS, O_DEFINITION, O_DIFF,
                                             O_EXPECT, O_TLS_CERT, O_TLS_KEY};
    static const enum option_id lists[] = {O_LEVEL, O_ALLOW, O_FORBID, O_LATTICE};
    for (size_t i = 0; i < sizeof besides / sizeof *besides; i++)
        if (a->value[besides[i]] && is_same_file(a->value[besides[i]], path)) return true;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (is_level_file(a->value[lists[i]], path)) return true;
    return is_module(a, path) || is_database(a->value[O_DB], path);
}

/* Does -o of this command make another history, or levels, of the file that it reads?  Then both
   may be one: it is read as a whole before it is replaced. */
static bool translates(const args *a)
{
    return a->command->bit & (CMD_CONVERT | CMD_SHRINK | CMD_REPRO) || a->value[O_FIX] ||
           a->value[O_TIDY];
}

/* Would writing the path replace something that this command reads? */
static bool replaces_input(const args *a, bool answer, const char *path)
{
    struct stat st;
    if (stat(path, &st) || !S_ISREG(st.st_mode)) return false;
    for (size_t i = 0; i < a->n_files; i++) {
        const char *file = a->files[i];
        if (is_below(file, path)) return true;
        if (answer && translates(a)) continue;
        if (is_same_file(file, path) || (!strcmp(file, "-") && is_standard_input(&st))) return true;
    }
    return is_read_beside(a, path);
}

static bool refuse_replaced(const char *option, const char *path)
{
    complain("%s%s: this is an input of the command, and would be replaced", option, path);
    return false;
}

bool outputs_differ(const args *a)
{
    static const enum option_id files[] = {O_OUTPUT, O_CERTIFICATE, O_WITNESS,
                                           O_SHRUNK, O_TRUTH,       O_HTML,
                                           O_JUNIT,  O_SARIF,       O_WRITE_BASELINE};
    struct stat st;
    if (a->command->bit & CMD_CONVERT && a->n_files == 2 && replaces_input(a, true, a->files[1]))
        return refuse_replaced("", a->files[1]);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const char *path = a->value[files[i]];
        if (!path || !strcmp(path, "-")) continue;
        if (replaces_input(a, files[i] == O_OUTPUT, path)) {
            char option[64];
            snprintf(option, sizeof option, "--%s ", option_table[files[i]].name);
            return refuse_replaced(option, path);
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
