/*
 * help_texts.c - what --help and the man pages say beside the table of options: groups, examples,
 * files.
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

enum help_group help_group_of(enum option_id o)
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

static const help_example examples[] = {
    {CMD_CHECK, "check --level snapshot-isolation history.jsonl", "decide one level"},
    {CMD_CHECK, "check --level all history.edn", "find the strongest levels that hold"},
    {CMD_CHECK, "check --recursive --junit report.xml histories/", "check a directory in CI"},
    {CMD_EXPLAIN, "explain history.jsonl", "why the weakest violated level is violated"},
    {CMD_EXPLAIN, "explain --level si --svg -o picture.svg history.jsonl", "draw it"},
    {CMD_EXPLAIN, "explain --markdown history.jsonl", "for the text of an issue"},
    {CMD_LINT, "lint history.jsonl", "look for what makes verdicts weak"},
    {CMD_LINT, "lint --fix -o repaired.jsonl history.jsonl", "repair what is safe to repair"},
    {CMD_LINT, "lint --list", "list everything that lint looks for"},
    {CMD_STAT, "stat history.jsonl", "count what is in a history"},
    {CMD_STAT, "stat -v history.jsonl.zst", "with bars for the distributions"},
    {CMD_STAT, "stat --json a.jsonl b.jsonl", "for a script, one object per line"},
    {CMD_CONVERT, "convert --to edn history.jsonl history.edn", "for Jepsen and Elle"},
    {CMD_CONVERT, "convert --to ratel cobra-logs/ history.jsonl.zst", "from a directory of logs"},
    {CMD_CONVERT, "convert --to text --lossy history.jsonl -", "leave out what cannot be held"},
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
    {CMD_TEST, "test --db sqlite:test.db --workload bank,lost-update --level si", "choose both"},
    {CMD_POWER, "power --db sqlite::memory:", "in seconds, without a server"},
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
    {CMD_REPRO, "repro --db mariadb:temp -i rr -l si bad.jsonl", "a lost update, again"},
    {CMD_REPRO, "repro --db postgres:temp -i rr -l ser bad.jsonl -o skew", "skew.spec, .sql, .md"},
    {CMD_REPRO, "repro --db \"$DATABASE_URL\" -i rc -l si bad.jsonl --tries 100", "how often"},
    {CMD_TEST, "test --db \"$DATABASE_URL\" --junit report.xml --baseline accepted.txt", "in CI"},
    {CMD_AUDIT, "audit log.jsonl", "at the level that the log names"},
    {CMD_AUDIT, "audit --level serializable --shrink small.jsonl log.jsonl", "and make it small"},
    {CMD_AUDIT, "audit --level si --init dump.sql log.jsonl", "with the rows there were before"},
    {CMD_TRACE, "trace proxy --listen :6432 --upstream postgres:///shop --dump -o shop.jsonl",
     "in front of a database"},
    {CMD_TRACE, "audit shop.jsonl", "after the proxy was ended"},
    {CMD_TRACE,
     "trace proxy --listen :6432 --upstream postgres:///shop --max-size 1G -o shop.jsonl",
     "never more than that"},
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
    {CMD_GEN, "OUTPUT.truth.json", "what was planted, and which levels that violates"},
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
