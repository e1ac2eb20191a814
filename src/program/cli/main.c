/*
 * main.c - the program: the table of commands, signals, and main.
 *
 * main finds the command, parses its options and opens a context for it.  The first SIGINT or
 * SIGTERM interrupts that context, so a command ends with what it has; the second one ends the
 * program.  Messages are in messages.c, reading and writing in files.c, help in help.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/timed_input.h"

const command commands[] = {
    {"check", CMD_CHECK, "[options] HISTORY...",
     "decide whether histories satisfy isolation levels",
     "Decides every history at every level and prints one answer for each. A history is a file,\n"
     "which may be compressed (.gz or .zst), a directory (for formats that use one), or - for\n"
     "standard input. With --level all, every level is decided; the strongest levels that hold\n"
     "and the weakest that are violated are named, and -v prints every answer. A violation that\n"
     "has too many transactions to show can be made small by ratel shrink.\n",
     cmd_check},
    {"explain", CMD_EXPLAIN, "[options] HISTORY", "explain why a history violates a level",
     "Explains the weakest level that the history violates, or the level given with --level. The\n"
     "explanation names the anomaly, shows the smallest set of transactions found that exhibits\n"
     "it, and argues in sentences until a contradiction is reached, case by case if there are\n"
     "several cases. Every step is checked against the history before it is printed. The\n"
     "explanation also says which levels still hold, what the violation rests on, and what\n"
     "limits the verdict.\n",
     cmd_explain},
    {"lint", CMD_LINT, "[options] HISTORY...", "report what makes verdicts on histories weak",
     "Looks for reasons why a verdict would be weak or meaningless: histories that cannot show a\n"
     "violation, ambiguous values, impossible times, initial states recorded as sessions, and\n"
     "more. Each finding has a stable id, a severity, a count, a first example, and advice on\n"
     "what to do; check reports those that are cheap to find as warnings. With --fix -o FILE,\n"
     "Ratel writes a copy of the history with all repairs that do not change what the database\n"
     "did; the exit status is then about the findings that remain.\n",
     cmd_lint},
    {"stat", CMD_STAT, "[options] HISTORY...", "count what a history contains",
     "Counts transactions, operations, sessions and keys, and what makes verdicts weak. Only\n"
     "committed transactions and their operations are counted, except where stated. On a\n"
     "terminal, or with -v, bars show concurrency over time, transaction sizes, the balance of\n"
     "the sessions, the busiest keys, and how many writers each read may have had; --json always\n"
     "includes all of it.\n",
     cmd_stat},
    {"convert", CMD_CONVERT, "[--from F] --to F IN OUT", "translate between history formats",
     "Reads IN and writes OUT. Whatever the target format cannot represent is reported on\n"
     "standard error. What was written is read back: if operations are missing, or anything else\n"
     "that a verdict may depend on (the initial state, outcomes, times, hints, locks, levels of\n"
     "transactions), Ratel says what and how often, OUT stays as it was, and the exit status is\n"
     "3; with --lossy, OUT gets what the format can hold. OUT may be - for standard output; it is\n"
     "compressed if its name ends in .gz or .zst.\n",
     cmd_convert},
    {"gen", CMD_GEN, "[options] [-o FILE]", "generate a history with known ground truth",
     "Runs a workload on a simulated multi-version store and writes the recorded history.\n"
     "The planted anomalies and the levels that they violate are written to a JSON file next to\n"
     "it. --list lists the workloads, the levels that the store can guarantee, the anomalies, and\n"
     "the knobs of --set; doc/workloads.md has the details. Options that are not given have the\n"
     "workload's published values.\n",
     cmd_gen},
    {"shrink", CMD_SHRINK, "[--level L] [options] HISTORY [-o FILE]",
     "find a smallest part of a history that still violates a level",
     "Decides the level and, if it is violated, removes transactions, keys and operations as long\n"
     "as the level stays violated, until nothing more can be removed. Ids, sessions, times,\n"
     "notes, hints and the initial state do not change. If a write is removed, the reads that may\n"
     "have seen it are removed too, so that no new violation appears; doc/shrink.md has the\n"
     "rules. The smaller history is written to the file of -o, or to standard output; the report\n"
     "then goes to standard output or standard error respectively. A history is written only if\n"
     "the level is violated (exit status 1).\n",
     cmd_shrink},
    {"verify", CMD_VERIFY, "[options] CERTIFICATE HISTORY",
     "re-check a verdict from its certificate",
     "Checks a certificate that check wrote against the history, with code that is independent\n"
     "of the code that decided the verdict: an order of the transactions is replayed, and a\n"
     "contradiction is followed step by step. Prints proved, or refused and the reason.\n",
     cmd_verify},
    {"synth", CMD_SYNTH, "[--allow L,...] [--forbid L,...] [options]",
     "find a history that some levels allow and others forbid",
     "Searches all histories within a scope and prints a smallest one: fewest transactions, then\n"
     "keys, operations, and session edges. If there is none, Ratel says whether that holds for\n"
     "the scope or, if the definitions prove it, for every size. Levels are names (ratel levels\n"
     "can print their definitions) or files in the language of doc/synth.md (my.iso: the last\n"
     "level of the file; my.iso:NAME: the level NAME). With --to F only the history is written;\n"
     "F may be spec, a test for PostgreSQL's isolationtester.\n",
     cmd_synth},
    {"run", CMD_RUN, "--db URL [options] [-o FILE]", "drive a database and record the history",
     "Runs a workload against a real database, with one connection and one thread per session,\n"
     "and writes the history in the native format while it runs. URLs: sqlite:FILE,\n"
     "sqlite::memory:, postgres://user@host/db, mysql://user@host/db, redis://host, etcd://host,\n"
     "lmdb:DIR, rocksdb:DIR, bdb:DIR; temp instead of an address, as in postgres:temp, is a\n"
     "temporary server or directory that Ratel makes and removes. Passwords are taken from\n"
     "the environment or from files, as the database's own clients do. The run works in a schema\n"
     "or table of its own, which it makes and drops again; nothing else is touched. Workloads and\n"
     "knobs are those of gen; doc/run.md has the details.\n",
     cmd_run},
    {"test", CMD_TEST, "--db URL --isolation L [options]",
     "run workloads and check the level that the product documents",
     "Runs several workloads for the given time and checks each history against the level that\n"
     "the product documents for this setting (--list shows the documented levels and their\n"
     "sources), or the level of --level. A history that violates its level is kept as\n"
     "ratel-test-N-WORKLOAD.jsonl; with -o DIR all histories are kept in that directory. A table\n"
     "at the end lists the runs and the histories that were kept.\n",
     cmd_test},
    {"power", CMD_POWER, "--db URL [--isolation L] [options]",
     "say which workload finds which bug, and how soon",
     "Runs workloads against the database through clients that each have one bug\n"
     "(faulty:BUG:URL), in runs of 50, 100, 200 and so on transactions, and checks each history "
     "as\n"
     "test does. The table says for each workload and bug how many transactions it took until the\n"
     "bug was found; `-` means that it was not found within --txns (800 unless given). A line "
     "below the\n"
     "table says which workload to choose. The first column shows the same runs without a bug.\n",
     cmd_power},
    {"driver-check", CMD_DRIVER_CHECK, "[options] COMMAND",
     "check that a driver for exec: databases keeps the protocol",
     "Starts the driver program of --db exec:COMMAND and checks that it keeps the protocol of\n"
     "doc/drivers.md: every operation that it declares, aborts, several sessions at once, levels\n"
     "and operations that do not exist, and what happens when it is killed or does not answer.\n"
     "Each check is a sentence that passed or FAILED; the last line counts them. COMMAND is one\n"
     "argument. The driver makes a table and drops it, as for run. If it cannot be started, the\n"
     "exit status is 4.\n",
     cmd_driver_check},
    {"litmus", CMD_LITMUS, "--db URL[,URL...] [--isolation L[,L...]|all] [options] [CASE...]",
     "show which anomalies a database lets through",
     "Runs scripted interleavings of two to four sessions, one statement at a time, and prints\n"
     "for each isolation level what became of the anomaly: it happened; a transaction was refused\n"
     "(aborted); a session had to wait (blocked); all of them completed and read correct values\n"
     "(absent); the case cannot be written for this database (not-applicable); or an error. Lines\n"
     "below the table compare the strongest levels that every recording is consistent with to the\n"
     "level that the product documents. A case is a name of --list, or a file whose name ends\n"
     "with .spec; doc/litmus.md describes the language. Without a name all cases are run, and\n"
     "without --isolation they are run at every level of the database. With --specs DIR the\n"
     "scripts are PostgreSQL's own isolation specs: they are run as isolationtester runs them,\n"
     "their output is compared with what PostgreSQL expects (exit status 1 if it differs), and a\n"
     "log of each permutation is audited.\n",
     cmd_litmus},
    {"repro", CMD_REPRO, "--db URL --isolation L [--level L] [options] HISTORY [-o PREFIX]",
     "turn a recorded violation into a script that shows it again",
     "Shrinks the recording, turns it into statements of a few sessions, and runs them one at a\n"
     "time in the order of their times; if that does not show the violation, in other orders.\n"
     "Then statements and sessions are removed as long as the violation still shows. Whether it\n"
     "shows is decided by check (for a log of SQL, by audit) from what the database has just\n"
     "returned. HISTORY may contain lists, or may be a log of SQL. Writes PREFIX.spec (for\n"
     "ratel litmus), PREFIX.sql (for terminals) and PREFIX.md (a report with versions, settings,\n"
     "statements and the argument).\n",
     cmd_repro},
    {"audit", CMD_AUDIT, "[--level L[,L...]] [options] LOG...",
     "decide whether a level explains logs of SQL transactions",
     "Replays the statements of a log against the states that the level lets a transaction read,\n"
     "and compares rows, counts and errors with what the client received. Prints holds, or the\n"
     "first transaction that the level does not explain: its statement, what the client saw, what\n"
     "was possible, and whether the database computed a wrong result (semantic) or isolated\n"
     "transactions wrongly (isolation). Levels:\n"
     "strict-serializable, serializable, strong-snapshot-isolation, snapshot-isolation,\n"
     "statement-snapshot (PostgreSQL's READ COMMITTED), read-committed; default: the level in the\n"
     "log, otherwise serializable. doc/audit.md describes the SQL that Ratel understands,\n"
     "doc/formats/sql-log.md the format.\n",
     cmd_audit},
    {"trace", CMD_TRACE, "proxy|collect|to-history|versions [options]",
     "record the SQL of any application, for audit",
     "trace proxy --listen ADDR --upstream URL -o LOG stands between an application and\n"
     "PostgreSQL, MariaDB or MySQL, forwards every byte, and writes what passes to LOG:\n"
     "statements, parameters, results, and when each transaction began and committed. The log\n"
     "begins with the schema and, with --dump, the contents of the tables, so start the proxy\n"
     "before the application. Nothing in the application changes but the address to which it\n"
     "connects. End the proxy with ctrl-C or SIGTERM, and then run ratel audit LOG. Verdicts are\n"
     "right only if every writer goes through the proxy. ADDR is HOST:PORT, :PORT (on this\n"
     "machine only), or the path of a socket; URL is as for run. Where something cannot be\n"
     "logged, the log gets a mark, and what was lost is never counted against the database.\n"
     "\n"
     "trace collect FILE... turns the files that libratel-trace wrote in a program in C, Python\n"
     "or Node, or in one that uses libpq, into a history or a log of SQL (doc/trace-library.md).\n"
     "\n"
     "trace to-history LOG turns what the statements and answers of a log show about single rows\n"
     "into a history of reads, writes and deletes of keys, for check and explain. Written values\n"
     "that no statement shows are computed by a replay of the log; if one of them is not certain,\n"
     "its key is left out and named. doc/trace.md has a whole example.\n"
     "\n"
     "trace versions STREAM turns a change stream into the order of the versions of each key,\n"
     "which check can read beside a history. The stream comes from PostgreSQL's test_decoding or\n"
     "pgoutput, from MariaDB's row binlog, or from Debezium as JSON.\n",
     cmd_trace},
    {"levels", CMD_LEVELS, "[LEVEL...]", "list the isolation levels and what they imply",
     "Lists every level with its names and definition, and how the names of other tools map to\n"
     "these. With LEVEL, shows only these levels, with what they imply and how they are checked.\n",
     cmd_levels},
    {NULL, 0, NULL, NULL, NULL, NULL},
};

/* Commands that the contract of the command line promises, but that this version lacks. */
static const char *const later[] = {"watch", NULL};

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

static void watch_signals(ratel *r, const command *c)
{
    struct sigaction s;
    memset(&s, 0, sizeof s);
    s.sa_handler = on_signal;
    to_interrupt = r;
    sigaction(SIGINT, &s, NULL);
    sigaction(SIGTERM, &s, NULL);
    signal(SIGXFSZ, SIG_IGN); /* then write() fails, and the user gets a message */
    /* a closed pipe ends the program, as it ends others; but not with a database to tidy up */
    if (c->bit & (CMD_LIVE | CMD_DRIVER_CHECK | CMD_TRACE | CMD_POWER)) signal(SIGPIPE, SIG_IGN);
}

/* --- the program ------------------------------------------------------------------------------ */

/* The status, or EXIT_IO if something that was printed or written did not arrive. */
static int status_with_losses(int status, const outputs *o)
{
    errno = 0;
    if (fflush(stdout) || ferror(stdout)) {
        int error = errno ? errno : why_lost(STDOUT_FILENO);
        /* the reader of the pipe has gone, which is no error to report */
        if (error != EPIPE)
            complain("standard output: %s", error ? strerror(error) : "write error");
        return EXIT_IO;
    }
    return o->lost ? EXIT_IO : status;
}

/* The program itself never calls exit(), but PostgreSQL's parser does when memory runs out, with
   status 1, which would be a verdict.  Mostly the parser runs in a child; where it does not, the
   handler below turns its exit into `undecided`. */
static struct {
    pid_t process;
    outputs *written;
} running;

static void ended_by_a_library(void)
{
    if (!running.written || running.process != getpid()) return;
    output_abandon(&running.written->answer);
    complain("there is no answer: a library ended the program, probably because memory ran out");
    _exit(EXIT_UNDECIDED);
}

static int run(const command *c, int argc, char **argv)
{
    args a;
    outputs written = {.lost = false};
    int status = EXIT_USAGE;
    running.process = getpid();
    running.written = atexit(ended_by_a_library) ? NULL : &written;
    if (args_parse(&a, c, argc, argv)) {
        a.outputs = &written;
        const char *when = a.value[O_COLOR];
        if (a.value[O_HELP]) {
            help_command(c, stdout);
            status = EXIT_HOLDS;
        } else if (when && strcmp(when, "auto") && strcmp(when, "always") &&
                   strcmp(when, "never")) {
            complain("--color: \"%s\" is not one of auto, always, never", when);
        } else if (ratel_open(&a.context, NULL)) {
            complain("out of memory");
            status = EXIT_UNDECIDED;
        } else {
            watch_signals(a.context, c);
            show_progress(&a);
            uint64_t start = now();
            timed_start(a.value[O_TIME] ? strtod(a.value[O_TIME], NULL) : 0);
            if (outputs_differ(&a) && args_apply(&a)) status = c->run(&a);
            if (a.value[O_STATS])
                fprintf(stderr, "seconds %.3f\npeak_rss_kib %llu\n", seconds_since(start),
                        (unsigned long long)peak_rss_kib());
            to_interrupt = NULL;
            ratel_close(a.context);
        }
    }
    if (a.short_of_memory) status = EXIT_UNDECIDED;
    args_free(&a);
    running.written = NULL;
    return status_with_losses(status, &written);
}

static const char *command_name_at(size_t i)
{
    return commands[i].name;
}

static int unknown_command(const char *name)
{
    for (size_t i = 0; later[i]; i++)
        if (!strcmp(name, later[i])) {
            complain("%s is not in this version yet", name);
            return EXIT_USAGE;
        }
    complain_no_name("command", name, strlen(name), command_name_at, "see ratel --help");
    return EXIT_USAGE;
}

/* Prints what ratel_build() says of the library, a JSON object, with the program's adapters added.
   */
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

/* If a standard descriptor is closed, the next file that is opened gets its number, and what the
   program prints would land in that file.  So closed ones are opened on /dev/null first. */
static void open_standard_descriptors(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF && open("/dev/null", O_RDWR) != fd)
            _exit(EXIT_IO);
}

/* Handles words that are no command (--help, --version, --completion, --man) and returns the exit
   status; -1: the word is something else. */
static int answer_about_itself(int argc, char **argv)
{
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
    if (!strcmp(word, "--version") || !strcmp(word, "-V") || !strcmp(word, "version")) {
        if (argc > 2 && !strcmp(argv[2], "--json"))
            print_build();
        else
            printf("ratel %s\n", ratel_version());
        return EXIT_HOLDS;
    }
    if (!strcmp(word, "--completion"))
        return print_completion(argc > 2 ? argv[2] : "", stdout) ? EXIT_HOLDS : EXIT_USAGE;
    if (!strcmp(word, "--man")) { /* for tool/gen-man: the man page as roff */
        help_man(argc > 2 ? argv[2] : NULL, stdout);
        return EXIT_HOLDS;
    }
    return -1;
}

int main(int argc, char **argv)
{
    open_standard_descriptors();
    if (argc < 2) {
        help_all(stderr);
        return EXIT_USAGE;
    }
    static const outputs none = {.lost = false};
    int status = answer_about_itself(argc, argv);
    if (status >= 0) return status_with_losses(status, &none);
    const char *word = argv[1];
    for (const command *c = commands; c->name; c++)
        if (!strcmp(c->name, word)) return run(c, argc - 2, argv + 2);
    return unknown_command(word);
}
