/*
 * main.c - the program: finds the command, opens a context, turns signals into interrupts.
 */
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

const command commands[] = {
    {"check", CMD_CHECK, "[options] HISTORY...",
     "decide whether histories satisfy isolation levels",
     "Decides each history at each level and prints one answer each. A history is a file, a\n"
     "directory (formats that use one), a .gz or .zst of it, or - for standard input.\n"
     "With --level all, every level is asked and the strongest that hold are named at the end.\n",
     cmd_check},
    {"explain", CMD_EXPLAIN, "[options] HISTORY", "tell why a history violates a level",
     "Explains the weakest level that the history violates, or the one of --level: what the\n"
     "anomaly is called, the smallest set of transactions found that shows it, and an argument\n"
     "in sentences that ends in a contradiction, in every case if there are cases. Each step was\n"
     "looked up in the history again before it is told. Also: which levels still hold, what the\n"
     "violation rests on, and what limits the verdict. Exit status as of check.\n",
     cmd_explain},
    {"lint", CMD_LINT, "[options] HISTORY...", "tell what makes verdicts on histories weak",
     "Looks for what makes a verdict weak or meaningless: histories that could not have shown\n"
     "anything, ambiguous values, impossible times, initial states written as sessions, and more.\n"
     "Each finding has a stable id, a severity, how often and where first, and what to do;\n"
     "`check` tells the cheap ones as warnings. Exit status 0: clean, 1: findings.\n"
     "With --fix -o FILE, a copy is written in which everything is repaired that can be without\n"
     "changing what the database did; the exit status is then about what is left.\n",
     cmd_lint},
    {"stat", CMD_STAT, "[options] HISTORY...", "count what a history holds",
     "Counts transactions, operations, sessions and keys, and what makes verdicts weak.\n"
     "Transactions and operations are those of committed transactions. On a terminal, or with\n"
     "-v, bars show concurrency over time, sizes, the balance of the sessions, the busiest keys,\n"
     "and how many writers reads may have had; --json always has all of it.\n",
     cmd_stat},
    {"convert", CMD_CONVERT, "[--from F] --to F IN OUT", "translate between history formats",
     "Reads IN and writes OUT; what the target format cannot hold is said on standard error.\n"
     "OUT may be - for standard output, and is compressed if it ends in .gz or .zst.\n",
     cmd_convert},
    {"gen", CMD_GEN, "[options] [-o FILE]", "generate a history with known ground truth",
     "Runs a workload on a simulated multi-version store and writes the recorded history.\n"
     "Planted anomalies and what they violate are written beside it as JSON.\n"
     "--list names the workloads, the levels that the store can keep, the anomalies and the knobs\n"
     "of --set; doc/workloads.md tells more. What is not given has its published value.\n",
     cmd_gen},
    {"shrink", CMD_SHRINK, "[--level L] [options] HISTORY [-o FILE]",
     "find a smallest part of a history that is still violated",
     "Decides the level and, if it is violated, leaves out transactions, keys and operations as\n"
     "long as it stays violated, until none can go. Ids, sessions, times, notes, hints and the\n"
     "initial state stay as they are. A read goes with a write that it may have seen, so that no\n"
     "violation appears that was not there; doc/shrink.md has the rules. The history goes to -o\n"
     "or standard output, what was done to the other of standard output and standard error.\n"
     "Exit status as of check: 1: violated, and a smaller history was written; 0: the level\n"
     "holds, 2: undecided; then nothing is written.\n",
     cmd_shrink},
    {"verify", CMD_VERIFY, "[options] CERTIFICATE HISTORY",
     "re-check a verdict from its certificate",
     "Proves the verdict of a certificate that check wrote, on the history once more, with\n"
     "code that shares nothing with the one that decided it: an order of the transactions is\n"
     "replayed, a contradiction is followed step by step. Says proved or refused, and why.\n",
     cmd_verify},
    {"synth", CMD_SYNTH, "[--allow L,...] [--forbid L,...] [options]",
     "find a history that some levels allow and others forbid",
     "Searches all histories of the scope and prints a smallest one: fewest transactions, then\n"
     "keys, operations, session edges; or says that there is none, up to the scope or, where the\n"
     "definitions show it, at all. Levels are names (ratel levels can print their definitions) or\n"
     "files in the language of doc/synth.md (my.iso: its last level; my.iso:NAME: that one).\n"
     "--to F writes the history alone; --to spec makes a test of PostgreSQL's isolationtester.\n"
     "Exit status 0: a history was found, 1: none, 2: undecided.\n",
     cmd_synth},
    {"run", CMD_RUN, "--db URL [options] [-o FILE]", "drive a database and record the history",
     "Runs a workload against a real database, one connection and thread a session, and writes\n"
     "the history as it grows, in the native format. URLs: sqlite:FILE, sqlite::memory:,\n"
     "postgres://user@host/db, mysql://user@host/db; postgres:temp and mariadb:temp start a\n"
     "server of our own in a temporary directory and remove it afterwards. Passwords come from\n"
     "the environment or files, as the database's own clients take them. The table ratel_kv of\n"
     "the database is replaced. Workloads and knobs are those of gen; doc/run.md tells more.\n",
     cmd_run},
    {"test", CMD_TEST, "--db URL --isolation L [options]",
     "run workloads and check what the product documents",
     "Runs a mix of workloads for the time given and checks each history for the level that the\n"
     "product documents at this setting (--list shows these contracts and their sources). A\n"
     "history that violates it is kept, as ratel-test-N-WORKLOAD.jsonl, or in the directory\n"
     "-o DIR, where all are kept. The exit status is that of check.\n",
     cmd_test},
    {"audit", CMD_AUDIT, "[--level L[,L...]] [options] LOG...",
     "decide whether logs of SQL transactions are explained by a level",
     "Replays the statements of a log against the states that the level lets a transaction read,\n"
     "and compares rows, counts and errors with what the client got. Says holds, or the first\n"
     "transaction that cannot be explained: its statement, what was seen, what was possible, and\n"
     "whether the database computed wrongly (semantic) or isolated wrongly. Levels:\n"
     "strict-serializable, serializable, strong-snapshot-isolation, snapshot-isolation,\n"
     "statement-snapshot (PostgreSQL's READ COMMITTED), read-committed; default: the log's own,\n"
     "else serializable. doc/audit.md has the SQL that is understood, doc/formats/sql-log.md the\n"
     "format. The exit status is that of check.\n",
     cmd_audit},
    {"levels", CMD_LEVELS, "[LEVEL...]", "list the isolation levels and what they imply",
     "Lists every level: names, definition, what it implies, what checks it, and how the names\n"
     "of other tools map to ours. Named levels are shown alone, in full.\n",
     cmd_levels},
    {NULL, 0, NULL, NULL, NULL, NULL},
};

/* Promised by the command line's contract, but not in this version. */
static const char *const later[] = {"litmus", "trace", "watch", NULL};

/* Bytes of the UTF-8 character at s that is fit to print, 0 if there is none: control characters
   (C1 too) and stray bytes would drive the terminal or spoil JSON. */
static size_t printable(const char *text)
{
    const unsigned char *s = (const unsigned char *)text;
    if (s[0] < 0x80) return s[0] >= 0x20 && s[0] != 0x7f;
    size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0xc2 || s[0] > 0xf4) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xe0 && s[1] < 0xa0)) return 0;
    if ((s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf0 && s[1] < 0x90)) return 0;
    return s[0] == 0xf4 && s[1] >= 0x90 ? 0 : n;
}

/* Names come from the command line and texts from inputs: neither may drive the terminal. */
static size_t visible(const char *s, char *buf, size_t cap)
{
    size_t n = 0;
    while (*s && n + 5 < cap) {
        size_t len = printable(s);
        if (len) {
            memcpy(buf + n, s, len);
            n += len;
            s += len;
        } else {
            n += (size_t)snprintf(buf + n, cap - n, "\\x%02x", (unsigned char)*s++);
        }
    }
    buf[n] = 0;
    return n;
}

void visible_to(FILE *f, const char *s)
{
    char text[4096];
    visible(s, text, sizeof text);
    fputs(text, f);
}

void complain(const char *format, ...)
{
    char text[2048];
    va_list ap;
    va_start(ap, format);
    vsnprintf(text, sizeof text, format, ap);
    va_end(ap);
    fputs("ratel: ", stderr);
    visible_to(stderr, text);
    fputc('\n', stderr);
}

int exit_of(int code)
{
    switch (code) {
    case RATEL_OK: return EXIT_HOLDS;
    case RATEL_EIO: return EXIT_IO;
    case RATEL_EPARSE:
    case RATEL_EHISTORY:
    case RATEL_EUNSUPPORTED: return EXIT_INPUT;
    case RATEL_ENOMEM:
    case RATEL_ETIME:
    case RATEL_EINTERRUPT: return EXIT_UNDECIDED;
    case RATEL_EINVAL: return EXIT_USAGE;
    default: return EXIT_BUG;
    }
}

void error_line(ratel *r, const char *name, char *buf, size_t cap)
{
    uint64_t line, column;
    size_t n = visible(name, buf, cap / 2);
    if (!ratel_errpos(r, &line, &column))
        n += (size_t)snprintf(buf + n, cap - n, ":%llu:%llu: ", (unsigned long long)line,
                              (unsigned long long)column);
    else
        n += (size_t)snprintf(buf + n, cap - n, ": ");
    visible(ratel_errmsg(r), buf + n, cap - n);
}

int read_history(const args *a, const char *path, ratel_history **h)
{
    ratel_beside beside = {a->value[O_INIT], a->value[O_VERSIONS]};
    return ratel_history_read_with(h, a->context, a->value[O_FORMAT], path, &beside);
}

void print_lost(const args *a, const char *name)
{
    const char *p = a->value[O_QUIET] ? "" : ratel_lost(a->context);
    while (*p) {
        size_t n = strcspn(p, "\n");
        visible_to(stderr, name);
        fprintf(stderr, ": lost: %.*s\n", (int)n, p);
        p += n + (p[n] == '\n');
    }
}

int complain_about(ratel *r, const char *name, int code)
{
    char text[4096];
    error_line(r, name, text, sizeof text);
    fprintf(stderr, "%s\n", text);
    return exit_of(code);
}

uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

double seconds_since(uint64_t start)
{
    return (double)(now() - start) / 1e9;
}

uint64_t peak_rss_kib(void)
{
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) ? 0 : (uint64_t)u.ru_maxrss;
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

const char *verdict_name(ratel_verdict v)
{
    return v == RATEL_HOLDS ? "holds" : v == RATEL_VIOLATED ? "violated" : "undecided";
}

/* --- signals ---------------------------------------------------------------------------------- */

static ratel *volatile to_interrupt;
volatile int interrupt_flag;

bool interrupted(void)
{
    return interrupt_flag != 0;
}

static void on_signal(int sig)
{
    interrupt_flag = 1;
    ratel_interrupt(to_interrupt);
    signal(sig, SIG_DFL); /* a second one ends the program at once */
}

static void watch_signals(ratel *r)
{
    struct sigaction s;
    memset(&s, 0, sizeof s);
    s.sa_handler = on_signal;
    to_interrupt = r;
    sigaction(SIGINT, &s, NULL);
    sigaction(SIGTERM, &s, NULL);
    signal(SIGPIPE, SIG_IGN); /* a closed pipe is a write error, told as one */
}

/* --- the program ------------------------------------------------------------------------------ */

static int run(const command *c, int argc, char **argv)
{
    args a;
    int status = EXIT_USAGE;
    if (args_parse(&a, c, argc, argv)) {
        const char *when = a.value[O_COLOR];
        if (a.value[O_HELP]) {
            help_command(c, stdout);
            status = EXIT_HOLDS;
        } else if (when && strcmp(when, "auto") && strcmp(when, "always") &&
                   strcmp(when, "never")) {
            complain("--color: \"%s\" is none of auto, always, never", when);
        } else if (ratel_open(&a.context, NULL)) {
            complain("out of memory");
            status = EXIT_UNDECIDED;
        } else {
            watch_signals(a.context);
            show_progress(&a);
            uint64_t start = now();
            if (args_apply(&a)) status = c->run(&a);
            if (a.value[O_STATS])
                fprintf(stderr, "seconds %.3f\npeak_rss_kib %llu\n", seconds_since(start),
                        (unsigned long long)peak_rss_kib());
            to_interrupt = NULL;
            ratel_close(a.context);
        }
    }
    args_free(&a);
    if (fflush(stdout) || ferror(stdout)) {
        complain("standard output: write error");
        if (status == EXIT_HOLDS) status = EXIT_IO;
    }
    return status;
}

static int unknown_command(const char *name)
{
    for (size_t i = 0; later[i]; i++)
        if (!strcmp(name, later[i])) {
            complain("%s is not in this version yet", name);
            return EXIT_USAGE;
        }
    complain("no command \"%s\" (see ratel --help)", name);
    return EXIT_USAGE;
}

/* The library's description of itself, a JSON object, with the program's own features added. */
static void print_build(void)
{
    const char *build = ratel_build();
    json_writer w = json_file(stdout);
    jw_object(&w);
    jw_raw(&w, build + 1, strlen(build) - 2); /* the members without their braces */
    adapters_json(&w);
    jw_end_object(&w);
    jw_end_line(&w);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        help_all(stderr);
        return EXIT_USAGE;
    }
    const char *word = argv[1];
    if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help")) {
        if (argc > 2) {
            for (const command *c = commands; c->name; c++)
                if (!strcmp(c->name, argv[2])) {
                    help_command(c, stdout);
                    return EXIT_HOLDS;
                }
            return unknown_command(argv[2]);
        }
        help_all(stdout);
        return EXIT_HOLDS;
    }
    if (!strcmp(word, "--version") || !strcmp(word, "version")) {
        if (argc > 2 && !strcmp(argv[2], "--json"))
            print_build();
        else
            printf("ratel %s\n", ratel_version());
        return EXIT_HOLDS;
    }
    if (!strcmp(word, "--man")) { /* for tool/gen-man: the man page as roff */
        help_man(argc > 2 ? argv[2] : NULL, stdout);
        return EXIT_HOLDS;
    }
    for (const command *c = commands; c->name; c++)
        if (!strcmp(c->name, word)) return run(c, argc - 2, argv + 2);
    return unknown_command(word);
}
