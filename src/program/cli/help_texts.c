/*
 * help_texts.c - what --help and the man pages say beside the table of options: groups, exit
 * statuses, examples, files; and what an option means for one of several commands.
 *
 * An option that no group names stands with the command's own, which come first.
 */
#include "cli/help_texts.h"

const char *const help_groups[HELP_GROUPS] = {
    [HELP_OWN] = "options",
    [HELP_LEVELS] = "levels and what they mean",
    [HELP_INPUT] = "input",
    [HELP_WORKLOAD] = "workload",
    [HELP_OUTPUT] = "output",
    [HELP_CI] = "for CI systems",
    [HELP_LIMITS] = "limits",
    [HELP_HOW] = "how it is decided",
    [HELP_COMPARE] = "for comparison with other methods",
};

static enum help_group usual_group(enum option_id o)
{
    switch (o) {
    case O_LEVEL:
    case O_SESSION_ORDER:
    case O_RYOW:
    case O_ABORTED_READS:
    case O_DRIFT:
    case O_LEVEL_OF:
    case O_TRUST: return HELP_LEVELS;
    case O_FORMAT:
    case O_FROM:
    case O_INIT:
    case O_VERSIONS:
    case O_RECURSIVE: return HELP_INPUT;
    case O_WORKLOAD:
    case O_ISOLATION:
    case O_TXNS:
    case O_SESSIONS:
    case O_KEYS:
    case O_OPS:
    case O_SET:
    case O_FOR:
    case O_RATE:
    case O_LOCKING:
    case O_FAULTS:
    case O_DELETES:
    case O_WRITE_IDS:
    case O_ABORTED:
    case O_UNKNOWN:
    case O_ANOMALY:
    case O_PLANT:
    case O_NO_TIMES: return HELP_WORKLOAD;
    case O_OUTPUT:
    case O_TO:
    case O_JSON:
    case O_DETERMINISTIC:
    case O_QUIET:
    case O_VERBOSE:
    case O_COLOR:
    case O_STATS:
    case O_DOT:
    case O_SVG:
    case O_TIKZ:
    case O_HTML:
    case O_MARKDOWN:
    case O_HELP: return HELP_OUTPUT;
    case O_JUNIT:
    case O_SARIF:
    case O_TAP:
    case O_GITHUB:
    case O_BASELINE:
    case O_WRITE_BASELINE:
    case O_ON_UNDECIDED:
    case O_FAIL_ON_WARNING: return HELP_CI;
    case O_TIME:
    case O_MEMORY:
    case O_THREADS: return HELP_LIMITS;
    case O_SEED:
    case O_STRATEGY:
    case O_SI_ENCODING:
    case O_PASS:
    case O_PORTFOLIO:
    case O_DUMP:
    case O_RECHECK:
    case O_ENGINE: return HELP_HOW;
    case O_NO_PROOF:
    case O_NO_SMART:
    case O_NO_LEAST:
    case O_NO_FIXED:
    case O_NO_LEARN:
    case O_BRUTE_FORCE: return HELP_COMPARE;
    default: return HELP_OWN;
    }
}

enum help_group help_group_of(enum option_id o, unsigned bit)
{
    enum help_group g = usual_group(o);
    if (o == O_SEED && bit & (CMD_GEN | CMD_LIVE | CMD_POWER)) return HELP_WORKLOAD;
    if (o == O_SEED && bit & (CMD_SHRINK | CMD_REPRO)) return HELP_OWN;
    /* what these commands do has no workload */
    if (g == HELP_WORKLOAD && bit & (CMD_SYNTH | CMD_DRIVER_CHECK | CMD_LITMUS | CMD_REPRO))
        return HELP_OWN;
    return g;
}

static const struct {
    enum option_id option;
    unsigned commands;
    const char *arg; /* NULL: that of the option */
    const char *help;
} words[] = {
#define SAY(id, commands, arg, help) {O_##id, commands, arg, help},
#include "cli/option_words.def"
#undef SAY
};

option_info help_option(enum option_id o, unsigned bit)
{
    option_info x = option_table[o];
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (words[i].option == o && words[i].commands & bit) {
            if (words[i].arg) x.arg = words[i].arg;
            x.help = words[i].help;
            break;
        }
    return x;
}

static const help_exit exits[] = {
#define EXIT(id, status, meaning) {status, meaning},
#include "opt/exits.def"
#undef EXIT
};

/* What 0, 1 and 2 mean for a command; NULL: the command does not end so. */
static const struct {
    unsigned commands;
    const char *meaning[3];
} endings[] = {
    {CMD_CHECK | CMD_EXPLAIN | CMD_TEST | CMD_AUDIT | CMD_SHRINK,
     {"every history holds at every level that was asked for", "a level is violated",
      "undecided: time, memory, interrupt, nothing to check, or not decidable by this build"}},
    {CMD_VERIFY, {"proved", "refused", "undecided: time, memory or interrupt"}},
    {CMD_LINT, {"no findings", "findings", "undecided: time, memory or interrupt"}},
    {CMD_SYNTH,
     {"a history was found", "there is none (in the scope, or proved for every size)",
      "undecided: time, memory or interrupt"}},
    {CMD_RUN,
     {"completed; with --check: the level holds",
      "a commit that was acknowledged is lost; with --check also: the level is violated",
      "nothing was committed, or the run was cut short; with --check also: undecided"}},
    {CMD_POWER,
     {"the table was made", "the database violates its level without any planted bug",
      "undecided: time, memory or interrupt"}},
    {CMD_DRIVER_CHECK,
     {"the driver conforms", "the driver does not conform",
      "undecided: time, memory or interrupt"}},
    {CMD_LITMUS,
     {"completed", "with --diff, --expect or --specs: something differs",
      "the table is not complete: time, memory or interrupt"}},
    {CMD_REPRO,
     {"the violation was shown again", "it was not shown within the tries",
      "the recording violates nothing, cannot be turned into statements, or time was up"}},
    {CMD_STAT | CMD_CONVERT | CMD_GEN | CMD_TRACE | CMD_LEVELS,
     {"completed", NULL, "not completed: time, memory or interrupt"}},
};

bool help_exit_at(help_exit *out, unsigned bit, size_t i)
{
    for (size_t k = 0; k < sizeof exits / sizeof *exits; k++) {
        *out = exits[k];
        for (size_t e = 0; k < 3 && bit != CMD_ALL && e < sizeof endings / sizeof *endings; e++)
            if (endings[e].commands & bit) out->meaning = endings[e].meaning[k];
        if (out->meaning && !i--) return true;
    }
    return false;
}

static const help_example examples[] = {
    {CMD_CHECK, "check --level snapshot-isolation history.jsonl", "decide one level"},
    {CMD_CHECK, "check --level all history.edn", "find the strongest levels that hold"},
    {CMD_CHECK, "check --recursive --junit report.xml histories/", "check a directory in CI"},
    {CMD_EXPLAIN, "explain history.jsonl", "why the weakest violated level is violated"},
    {CMD_EXPLAIN, "explain --level si --svg -o picture.svg history.jsonl",
     "draw why SI is violated"},
    {CMD_EXPLAIN, "explain --markdown history.jsonl", "for the text of an issue"},
    {CMD_LINT, "lint history.jsonl", "look for what makes verdicts weak"},
    {CMD_LINT, "lint --fix -o repaired.jsonl history.jsonl", "repair what is safe to repair"},
    {CMD_LINT, "lint --list", "list everything that lint looks for"},
    {CMD_STAT, "stat history.jsonl", "count what is in a history"},
    {CMD_STAT, "stat -v history.jsonl.zst", "with bars for the distributions"},
    {CMD_STAT, "stat --json a.jsonl b.jsonl", "for a script, one object per line"},
    {CMD_CONVERT, "convert --to edn history.jsonl history.edn", "for Jepsen and Elle"},
    {CMD_CONVERT, "convert --to ratel cobra-logs/ history.jsonl.zst", "from a directory of logs"},
    {CMD_CONVERT, "convert --to text --lossy history.jsonl -",
     "leave out what the format cannot hold"},
    {CMD_GEN, "gen --txns 1000 -o history.jsonl", "a serializable history"},
    {CMD_GEN, "gen --isolation si --anomaly lost-update:3 -o history.jsonl",
     "with planted anomalies"},
    {CMD_GEN, "gen --list", "workloads, levels, anomalies and knobs"},
    {CMD_SHRINK, "shrink --level serializable history.jsonl -o small.jsonl", "the smallest part"},
    {CMD_SHRINK, "shrink --seed 2 history.jsonl -o other.jsonl", "perhaps another smallest part"},
    {CMD_SHRINK, "shrink --json history.jsonl -o small.jsonl", "for a script"},
    {CMD_VERIFY, "verify proof.txt history.jsonl", "check a certificate of ratel check"},
    {CMD_VERIFY, "verify --json proof.txt history.jsonl", "for a script"},
    {CMD_VERIFY, "verify --time 60 proof.txt history.jsonl.zst", "for a minute at most"},
    {CMD_SYNTH, "synth --allow si --forbid serializable", "a history that tells two levels apart"},
    {CMD_SYNTH, "synth --lattice rc,ra,causal,si,ser", "which of these levels imply which"},
    {CMD_SYNTH, "synth --allow my.iso --forbid si --to spec", "a level of your own, as a test"},
    {CMD_RUN, "run --db postgres:temp --for 10s -o history.jsonl", "record a temporary server"},
    {CMD_RUN, "run --db sqlite:test.db --workload bank --check", "record and check at once"},
    {CMD_RUN, "run --db mariadb:temp --isolation rr --faults kill -o history.jsonl",
     "kill the server now and then"},
    {CMD_TEST, "test --db postgres:temp --isolation serializable", "a minute of eight workloads"},
    {CMD_TEST, "test --db sqlite:test.db --workload bank,lost-update --level si",
     "choose workloads and level"},
    {CMD_POWER, "power --db sqlite::memory:", "in memory: takes seconds and needs no server"},
    {CMD_POWER, "power --db postgres:temp -i rr -w rw-register,bank --json", "two workloads"},
    {CMD_POWER, "power --db postgres:temp -i rr -w sql-fuzz,predicates,upserts --txns 200",
     "SQL, whose logs are audited, in shorter runs"},
    {CMD_DRIVER_CHECK, "driver-check 'python3 drivers/dbapi.py sqlite3 database=/tmp/x.db'",
     "a driver that Ratel ships"},
    {CMD_DRIVER_CHECK, "driver-check -i serializable 'python3 my_driver.py'", "at one level"},
    {CMD_DRIVER_CHECK, "driver-check --json ./my-driver", "for a script"},
    {CMD_LITMUS, "litmus --db postgres:temp", "every case at every level"},
    {CMD_LITMUS, "litmus --db mariadb:temp -i rr -v lost-update", "one case, with its statements"},
    {CMD_LITMUS, "litmus --specs postgresql/src/test/isolation --db postgres:temp",
     "PostgreSQL's own specs"},
    {CMD_REPRO, "repro --db mariadb:temp -i rr -l si bad.jsonl", "show a lost update again"},
    {CMD_REPRO, "repro --db postgres:temp -i rr -l ser bad.jsonl -o skew",
     "write skew.spec, skew.sql and skew.md"},
    {CMD_REPRO, "repro --db \"$DATABASE_URL\" -i rc -l si bad.jsonl --tries 100",
     "count how often it shows"},
    {CMD_TEST, "test --db \"$DATABASE_URL\" --junit report.xml --baseline accepted.txt", "in CI"},
    {CMD_AUDIT, "audit log.jsonl", "at the level that the log names"},
    {CMD_AUDIT, "audit --level serializable --shrink small.jsonl log.jsonl",
     "and write a small "
     "log that fails in "
     "the same way"},
    {CMD_AUDIT, "audit --level si --init dump.sql log.jsonl",
     "with the rows that were there before"},
    {CMD_TRACE, "trace proxy --listen :6432 --upstream postgres:///shop --dump -o shop.jsonl",
     "in front of a database"},
    {CMD_TRACE, "audit shop.jsonl", "when the proxy has ended"},
    {CMD_TRACE,
     "trace proxy --listen :6432 --upstream postgres:///shop --max-size 1G -o shop.jsonl",
     "with a log of at most 1 GiB"},
    {CMD_TRACE, "trace to-history shop.jsonl --keys 'products:id->stock' -o history.jsonl",
     "for check and explain"},
    {CMD_LEVELS, "levels", "list all levels, and the names that other tools use"},
    {CMD_LEVELS, "levels snapshot-isolation", "what it means and what it implies"},
    {CMD_LEVELS, "levels --define si", "its definition in the language of synth"},
};

const help_example *help_example_at(unsigned bit, size_t i)
{
    for (size_t k = 0; k < sizeof examples / sizeof *examples; k++)
        if (examples[k].command == bit && !i--) return &examples[k];
    return NULL;
}

static const help_file files[] = {
    {CMD_GEN, "OUTPUT.truth.json", "what was planted, and which levels it violates"},
    {CMD_TEST, "ratel-test-N-WORKLOAD.jsonl", "a history that violates its level, without -o DIR"},
    {CMD_RUN | CMD_TEST | CMD_LITMUS | CMD_REPRO | CMD_POWER, "/tmp/ratel-*",
     "temporary servers, removed at the end"},
    {CMD_SYNTH | CMD_CHECK | CMD_LEVELS, "NAME.iso", "levels written by you"},
    {CMD_CHECK | CMD_TEST, "$GITHUB_STEP_SUMMARY", "the summary that --github adds to"},
    {CMD_ALL, "PREFIX/share/ratel/schema/*.json", "JSON schemas of what --json prints"},
};

const help_file *help_file_at(unsigned bit, size_t i)
{
    for (size_t k = 0; k < sizeof files / sizeof *files; k++)
        if (files[k].commands & bit && !i--) return &files[k];
    return NULL;
}
