/* oracle_main.c - the oracle on the command line.
 *
 *   oracle FILE [--level L[,L...]|all] [--session-order on|off] [--ryow must|external|may]
 *          [--drift N]
 *   oracle --litmus DIR          every verdict of DIR/expected.jsonl
 *   oracle --random SEED PROFILE prints a history
 *   oracle --lattice N SEED      the implications of doc/levels.md 7 on N random histories
 *   oracle --shares N SEED       how often each level holds, by profile (to tune the generator)
 *   oracle --serve               answers on standard output, a line each, to questions on standard
 *                                input: "LEVEL on|off RYOW BYTES", then the history
 *   oracle --questions N SEED    N random histories x the levels of opinion.py, with our verdicts,
 *                                one JSON object a line
 *
 * The last line of --litmus and --lattice is "N passed, N failed"; exit status 1 if any failed.
 */
#include "oracle.h"
#include "random_history.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int usage(void)
{
    fputs("usage: oracle FILE [--level L] [--session-order on|off] [--ryow must|external|may] "
          "[--drift N]\n"
          "       oracle --litmus DIR | --random SEED PROFILE | --lattice N SEED\n"
          "       oracle --shares N SEED | --questions N SEED\n",
          stderr);
    return 64;
}

static char *slurp(const char *path, size_t *len)
{
    FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
    size_t cap = 0;
    char *text = NULL;
    *len = 0;
    if (!f) {
        return NULL;
    }
    for (;;) {
        if (*len + 4096 + 1 > cap) {
            cap = cap ? cap * 2 : 16384;
            char *grown = realloc(text, cap);
            if (!grown) {
                abort();
            }
            text = grown;
        }
        size_t n = fread(text + *len, 1, 4096, f);
        *len += n;
        if (n == 0) {
            break;
        }
    }
    text[*len] = 0;
    if (f != stdin) {
        fclose(f);
    }
    return text;
}

static oracle *load(const char *path)
{
    char err[256];
    size_t len;
    char *text = slurp(path, &len);
    if (!text) {
        fprintf(stderr, "oracle: cannot read %s\n", path);
        return NULL;
    }
    oracle *o = oracle_parse(text, len, err, sizeof err);
    if (!o) {
        fprintf(stderr, "%s: %s\n", path, err);
    }
    free(text);
    return o;
}

static bool parse_ryow(const char *s, oracle_ryow *out)
{
    static const char *const names[] = {"must", "external", "may"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(s, names[i]) == 0) {
            *out = (oracle_ryow)i;
            return true;
        }
    }
    return false;
}

static const char *const all_levels[] = {"read-uncommitted",
                                         "read-committed",
                                         "cursor-stability",
                                         "monotonic-atomic-view",
                                         "monotonic-view",
                                         "consistent-view",
                                         "forward-consistent-view",
                                         "repeatable-read",
                                         "update-serializable",
                                         "read-atomic",
                                         "causal",
                                         "prefix",
                                         "update-atomic",
                                         "no-lost-update",
                                         "parallel-snapshot-isolation",
                                         "snapshot-isolation",
                                         "generalized-snapshot-isolation",
                                         "prefix-consistent-snapshot-isolation",
                                         "strong-snapshot-isolation",
                                         "serializable",
                                         "strict-serializable",
                                         "linearizable",
                                         "innodb-repeatable-read",
                                         "innodb-repeatable-read-tight",
                                         "read-your-writes",
                                         "monotonic-reads",
                                         "monotonic-writes",
                                         "writes-follow-reads",
                                         "realtime-read-committed",
                                         "realtime-snapshot-isolation",
                                         NULL};

static int check_file(int argc, char **argv)
{
    oracle_question q = {.level = "serializable", .session_order = 1};
    const char *path = NULL, *levels = "serializable";
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            path = argv[i];
            continue;
        }
        if (i + 1 == argc) {
            return usage();
        }
        const char *name = argv[i], *value = argv[++i];
        if (strcmp(name, "--level") == 0) {
            levels = value;
        } else if (strcmp(name, "--session-order") == 0) {
            q.session_order = strcmp(value, "off") != 0;
        } else if (strcmp(name, "--drift") == 0) {
            q.drift = strtoll(value, NULL, 10);
        } else if (strcmp(name, "--ryow") != 0 || !parse_ryow(value, &q.ryow)) {
            return usage();
        }
    }
    oracle *o = path ? load(path) : NULL;
    if (!o) {
        return path ? 3 : usage();
    }
    int worst = 0;
    bool all = strcmp(levels, "all") == 0;
    char *copy = malloc(strlen(levels) + 1);
    if (!copy) {
        abort();
    }
    strcpy(copy, levels);
    char *token = strtok(copy, ",");
    for (int i = 0; all ? all_levels[i] != NULL : token != NULL; i++) {
        q.level = all ? all_levels[i] : token;
        int verdict = oracle_check(o, &q);
        printf("%s session-order=%s: %s\n", q.level, q.session_order ? "on" : "off",
               oracle_verdict_name(verdict));
        int status = verdict == ORACLE_HOLDS           ? 0
                     : verdict == ORACLE_VIOLATED      ? 1
                     : verdict == ORACLE_BAD_HINT      ? 3
                     : verdict == ORACLE_UNKNOWN_LEVEL ? 64
                                                       : 2;
        worst = worst == 1 || status == 1 ? 1 : status > worst ? status : worst;
        token = all ? NULL : strtok(NULL, ",");
    }
    free(copy);
    oracle_free(o);
    return worst;
}

/* ---- litmus --------------------------------------------------------------------------------- */

/* expected.jsonl has one flat object a line and no escapes in the strings that matter. */
static const char *next_string(const char *at, char *out, size_t cap)
{
    size_t n = 0;
    while (*at && *at != '"' && *at != '}' && *at != '\n') {
        at++;
    }
    if (*at != '"') {
        return NULL;
    }
    for (at++; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1]) {
            at++;
        }
        if (n + 1 < cap) {
            out[n++] = *at;
        }
    }
    out[n] = 0;
    return *at ? at + 1 : NULL;
}

static void litmus_line(const char *dir, const char *line, int *passed, int *failed)
{
    char name[256], key[256], value[256], path[1024];
    const char *history = strstr(line, "\"history\":"), *options = strstr(line, "\"options\":");
    const char *verdicts = strstr(line, "\"verdict\":");
    oracle_question q = {0};
    if (!history || !options || !verdicts || !next_string(history + 10, name, sizeof name)) {
        printf("cannot read: %.60s\n", line);
        ++*failed;
        return;
    }
    for (const char *at = options + 10; (at = next_string(at, key, sizeof key)) != NULL;) {
        if (strcmp(key, "drift") == 0) {
            q.drift = strtoll(at + strspn(at, ": "), (char **)&at, 10);
        } else if (strcmp(key, "ryow") != 0 || !(at = next_string(at, value, sizeof value)) ||
                   !parse_ryow(value, &q.ryow)) {
            printf("%s: option %s not understood\n", name, key);
            ++*failed;
            return;
        }
    }
    snprintf(path, sizeof path, "%s/%s", dir, name);
    oracle *o = load(path);
    if (!o) {
        ++*failed;
        return;
    }
    for (const char *at = verdicts + 10; (at = next_string(at, key, sizeof key)) != NULL;) {
        at = next_string(at, value, sizeof value);
        if (!at) {
            break;
        }
        char level[256];
        char *space = strchr(key, ' ');
        snprintf(level, sizeof level, "%.*s", space ? (int)(space - key) : (int)strlen(key), key);
        /* Where the key is silent the answer must be the same either way. */
        for (int so = 0; so < 2; so++) {
            if (space && (strstr(space, "=on") != NULL) != so) {
                continue;
            }
            q.level = level;
            q.session_order = so;
            const char *got = oracle_verdict_name(oracle_check(o, &q));
            if (strcmp(got, value) == 0) {
                ++*passed;
            } else {
                printf("%s: %s (session order %s): expected %s, got %s\n", name, key,
                       so ? "on" : "off", value, got);
                ++*failed;
            }
        }
    }
    oracle_free(o);
}

static int litmus(const char *dir)
{
    char path[1024];
    size_t len;
    int passed = 0, failed = 0;
    snprintf(path, sizeof path, "%s/expected.jsonl", dir);
    char *text = slurp(path, &len);
    if (!text) {
        fprintf(stderr, "oracle: cannot read %s\n", path);
        return 4;
    }
    for (char *line = text; *line;) {
        char *end = strchr(line, '\n');
        if (end) {
            *end = 0;
        }
        if (*line) {
            litmus_line(dir, line, &passed, &failed);
        }
        if (!end) {
            break;
        }
        line = end + 1;
    }
    free(text);
    printf("%d passed, %d failed\n", passed, failed);
    return failed || !passed;
}

/* ---- lattice (doc/levels.md 7) -------------------------------------------------------------- */

/* A trailing '+' or '-' sets session order; names that settle it carry none.  Each row: the left
 * level implies every one after it. */
static const char *const lattice[][8] = {
    {"serializable-", "snapshot-isolation-", "repeatable-read-", "update-serializable-"},
    {"snapshot-isolation-", "consistent-view-", "prefix-"},
    {"consistent-view-", "monotonic-view-", "cursor-stability-", "causal-", "update-atomic-"},
    {"monotonic-view-", "monotonic-atomic-view-"},
    {"monotonic-atomic-view-", "read-committed-"},
    {"cursor-stability-", "read-committed-"},
    {"read-committed-", "read-uncommitted-"},
    {"repeatable-read-", "cursor-stability-", "innodb-repeatable-read-tight"},
    {"update-serializable-", "consistent-view-"},
    {"serializable+", "snapshot-isolation+", "serializable-", "repeatable-read+",
     "update-serializable+"},
    {"snapshot-isolation+", "prefix+", "parallel-snapshot-isolation", "snapshot-isolation-"},
    {"prefix+", "causal+", "prefix-"},
    {"parallel-snapshot-isolation", "causal+", "update-atomic+", "consistent-view-",
     "consistent-view+", "monotonic-view+"},
    {"consistent-view+", "parallel-snapshot-isolation"},
    {"causal+", "read-atomic+", "causal-", "monotonic-reads", "monotonic-writes",
     "writes-follow-reads"},
    {"read-your-writes", "read-committed+"},
    {"monotonic-reads", "read-committed+"},
    {"monotonic-writes", "read-committed+"},
    {"writes-follow-reads", "read-committed+"},
    {"causal-", "read-atomic-"},
    {"prefix-", "causal-"},
    {"read-atomic+", "monotonic-atomic-view+", "read-atomic-", "read-your-writes"},
    {"read-atomic-", "monotonic-atomic-view-"},
    {"monotonic-atomic-view+", "monotonic-atomic-view-", "read-committed+"},
    {"update-atomic+", "no-lost-update+", "update-atomic-"},
    {"update-atomic-", "no-lost-update-"},
    {"no-lost-update+", "read-atomic+", "cursor-stability-", "cursor-stability+",
     "no-lost-update-"},
    {"no-lost-update-", "read-atomic-", "cursor-stability-"},
    {"read-committed+", "read-committed-", "read-uncommitted+"},
    {"read-uncommitted+", "read-uncommitted-"},
    {"strict-serializable", "serializable+", "realtime-snapshot-isolation"},
    {"strong-snapshot-isolation", "realtime-snapshot-isolation",
     "prefix-consistent-snapshot-isolation"},
    {"prefix-consistent-snapshot-isolation", "generalized-snapshot-isolation",
     "snapshot-isolation+"},
    {"generalized-snapshot-isolation", "snapshot-isolation-"},
    {"realtime-snapshot-isolation", "forward-consistent-view", "snapshot-isolation+"},
    {"forward-consistent-view", "parallel-snapshot-isolation", "realtime-read-committed"},
    {"realtime-read-committed", "read-committed+"},
    {"innodb-repeatable-read-tight", "innodb-repeatable-read"},
    {"innodb-repeatable-read", "read-committed-"},
    {"cursor-stability+", "cursor-stability-", "read-committed+"},
    {"monotonic-view+", "monotonic-view-", "monotonic-atomic-view+"},
    {"repeatable-read+", "repeatable-read-", "cursor-stability+"},
    {"update-serializable+", "update-serializable-", "update-atomic+"},
};

struct memo {
    char name[64];
    int verdict;
};

static int ask(oracle *o, const char *name, struct memo *memo, int *nmemo, oracle_ryow ryow)
{
    for (int i = 0; i < *nmemo; i++) {
        if (strcmp(memo[i].name, name) == 0) {
            return memo[i].verdict;
        }
    }
    struct memo *m = &memo[(*nmemo)++];
    snprintf(m->name, sizeof m->name, "%s", name);
    char level[64];
    size_t n = strlen(name);
    bool marked = name[n - 1] == '+' || name[n - 1] == '-';
    snprintf(level, sizeof level, "%.*s", (int)(marked ? n - 1 : n), name);
    oracle_question q = {.level = level, .session_order = name[n - 1] != '-', .ryow = ryow};
    m->verdict = oracle_check(o, &q);
    return m->verdict;
}

static int check_lattice(long n, uint64_t seed)
{
    long passed = 0, failed = 0, undecided = 0;
    int profiles = 0;
    while (random_profiles[profiles]) {
        profiles++;
    }
    for (long i = 0; i < n; i++) {
        const char *profile = random_profiles[i % profiles];
        char err[256];
        size_t len;
        uint64_t own = seed + (uint64_t)i;
        char *text = random_history(own, profile, &len);
        oracle *o = oracle_parse(text, len, err, sizeof err);
        if (!o) {
            printf("seed %llu %s: %s\n%s", (unsigned long long)own, profile, err, text);
            failed++;
            free(text);
            continue;
        }
        struct memo memo[64];
        int nmemo = 0;
        oracle_ryow ryow = (oracle_ryow)(i / profiles % 3);
        for (size_t l = 0; l < sizeof lattice / sizeof lattice[0]; l++) {
            int left = ask(o, lattice[l][0], memo, &nmemo, ryow);
            for (int r = 1; r < 8 && lattice[l][r]; r++) {
                int right = ask(o, lattice[l][r], memo, &nmemo, ryow);
                if (left < 0 || right < 0) {
                    undecided++;
                } else if (left == ORACLE_HOLDS && right == ORACLE_VIOLATED) {
                    printf("seed %llu %s ryow %d: %s holds, %s does not\n%s",
                           (unsigned long long)own, profile, (int)ryow, lattice[l][0],
                           lattice[l][r], text);
                    failed++;
                } else {
                    passed++;
                }
            }
        }
        oracle_free(o);
        free(text);
    }
    if (undecided) {
        printf("%ld not compared (bad hint, nothing to check or too big)\n", undecided);
    }
    printf("%ld passed, %ld failed\n", passed, failed);
    return failed != 0;
}

/* ---- shares --------------------------------------------------------------------------------- */

static int shares(long n, uint64_t seed)
{
    int profiles = 0;
    while (random_profiles[profiles]) {
        profiles++;
    }
    printf("%-42s", "percent that hold");
    for (int p = 0; p < profiles; p++) {
        printf(" %10.10s", random_profiles[p]);
    }
    printf(" %10s\n", "all");
    for (int l = 0; all_levels[l]; l++) {
        for (int so = 1; so >= 0; so--) {
            long all_hold = 0, all_decided = 0;
            printf("%-38s %s", all_levels[l], so ? "on " : "off");
            for (int p = 0; p < profiles; p++) {
                long hold = 0, decided = 0;
                for (long i = 0; i < n / profiles; i++) {
                    char err[256];
                    size_t len;
                    char *text = random_history(seed + (uint64_t)i, random_profiles[p], &len);
                    oracle *o = oracle_parse(text, len, err, sizeof err);
                    oracle_question q = {.level = all_levels[l], .session_order = so};
                    int verdict = o ? oracle_check(o, &q) : ORACLE_TOO_BIG;
                    hold += verdict == ORACLE_HOLDS;
                    decided += verdict >= 0;
                    oracle_free(o);
                    free(text);
                }
                printf(" %10.1f", decided ? 100.0 * (double)hold / (double)decided : 0.0);
                all_hold += hold;
                all_decided += decided;
            }
            printf(" %10.1f\n", all_decided ? 100.0 * (double)all_hold / (double)all_decided : 0.0);
        }
    }
    return 0;
}

/* ---- questions for opinion.py --------------------------------------------------------------- */

static const char *const policies[] = {"must", "external", "may"};

static void ask_opinion(oracle *o, const oracle_question *q, const char *profile, uint64_t seed,
                        const char *text)
{
    printf("{\"oracle\":\"%s\",\"profile\":\"%s\",\"seed\":%llu,\"level\":\"%s\",",
           oracle_verdict_name(oracle_check(o, q)), profile, (unsigned long long)seed, q->level);
    printf("\"session_order\":%s,\"ryow\":\"%s\",\"drift\":%lld,\"text\":\"",
           q->session_order ? "true" : "false", policies[q->ryow], q->drift);
    for (const char *c = text; *c; c++) {
        /* The generator writes no backslashes. */
        if (*c == '"' || *c == '\n') {
            fputs(*c == '"' ? "\\\"" : "\\n", stdout);
        } else {
            putchar(*c);
        }
    }
    puts("\"}");
}

static int questions(long n, uint64_t seed)
{
    static const char *const mixtures[] = {"mixed", "mixed-pg", "realtime-mixed"};
    /* Those that opinion.py can judge; the last ones settle the session order themselves. */
    static const char *const levels[] = {"read-committed",
                                         "monotonic-atomic-view",
                                         "read-atomic",
                                         "causal",
                                         "serializable",
                                         "snapshot-isolation",
                                         "cursor-stability",
                                         "repeatable-read",
                                         "prefix",
                                         "update-atomic",
                                         "no-lost-update",
                                         "consistent-view",
                                         "parallel-snapshot-isolation",
                                         "forward-consistent-view",
                                         "strict-serializable",
                                         "realtime-read-committed",
                                         "realtime-snapshot-isolation",
                                         "generalized-snapshot-isolation",
                                         "prefix-consistent-snapshot-isolation",
                                         "strong-snapshot-isolation"};
    const int asked = 12, count = (int)(sizeof levels / sizeof levels[0]);
    int profiles = 0;
    while (random_profiles[profiles]) {
        profiles++;
    }
    for (long i = 0; i < n; i++) {
        const char *profile = random_profiles[i % profiles];
        /* The default policy most of the time. */
        oracle_ryow ryow = i / profiles % 2 ? (oracle_ryow)(i / profiles / 2 % 3) : ORACLE_MUST;
        char err[256];
        size_t len;
        char *text = random_history(seed + (uint64_t)i, profile, &len);
        oracle *o = oracle_parse(text, len, err, sizeof err);
        for (int l = 0; o && l < count + asked; l++) {
            oracle_question q = {.level = levels[l < 2 * asked ? l / 2 : l - asked],
                                 .session_order = l % 2,
                                 .ryow = ryow,
                                 .drift = i % 4 == 3 ? 3 : 0};
            ask_opinion(o, &q, profile, seed + (uint64_t)i, text);
        }
        oracle_free(o);
        /* The same transactions, each at a level of its own. */
        text = random_levels(text, seed + (uint64_t)i, &len);
        o = oracle_parse(text, len, err, sizeof err);
        for (int l = 0; o && l < 6; l++) {
            oracle_question q = {.level = mixtures[l / 2],
                                 .session_order = l % 2,
                                 .ryow = ryow,
                                 .drift = i % 4 == 3 ? 3 : 0};
            ask_opinion(o, &q, profile, seed + (uint64_t)i, text);
        }
        oracle_free(o);
        free(text);
    }
    return 0;
}

static int serve(void)
{
    char level[100], so[4], ryow[10], err[256];
    size_t n;
    while (scanf("%99s %3s %9s %zu", level, so, ryow, &n) == 4 && getchar() == '\n') {
        char *text = malloc(n + 1);
        oracle_question q = {.level = level, .session_order = strcmp(so, "off") != 0};
        if (!text || fread(text, 1, n, stdin) != n || !parse_ryow(ryow, &q.ryow)) {
            return usage();
        }
        text[n] = 0;
        oracle *o = oracle_parse(text, n, err, sizeof err);
        puts(o ? oracle_verdict_name(oracle_check(o, &q)) : err);
        fflush(stdout);
        oracle_free(o);
        free(text);
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        return usage();
    }
    if (strcmp(argv[1], "--litmus") == 0) {
        return argc == 3 ? litmus(argv[2]) : usage();
    }
    if (strcmp(argv[1], "--serve") == 0) {
        return serve();
    }
    if (strcmp(argv[1], "--random") == 0) {
        size_t len;
        char *text = argc == 4 ? random_history(strtoull(argv[2], NULL, 10), argv[3], &len) : NULL;
        if (!text) {
            return usage();
        }
        fwrite(text, 1, len, stdout);
        free(text);
        return 0;
    }
    if (strcmp(argv[1], "--lattice") == 0 || strcmp(argv[1], "--shares") == 0 ||
        strcmp(argv[1], "--questions") == 0) {
        if (argc != 4) {
            return usage();
        }
        long n = strtol(argv[2], NULL, 10);
        uint64_t seed = strtoull(argv[3], NULL, 10);
        return argv[1][2] == 'l'   ? check_lattice(n, seed)
               : argv[1][2] == 's' ? shares(n, seed)
                                   : questions(n, seed);
    }
    return check_file(argc, argv);
}
