/*
 * args.c - the command line: one table (command_options.def), one parser.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* The words of options that have tables of their own: "|lazy|polygraph|bc". */
static const char strategy_words[] =
#define STRATEGY(id, name, help) "|" name
#include "opt/strategies.def"
#undef STRATEGY
    ;
static const char stage_words[] =
#define STAGE(id, name, help) "|" name
#include "opt/stages.def"
#undef STAGE
    ;
static const char ryow_words[] =
#define RYOW(id, name) "|" name
#include "opt/ryow.def"
#undef RYOW
    "|auto";

const option_info option_table[OPTION_COUNT] = {
#define OPT(id, commands, name, letter, arg, help) {commands, name, letter, arg, help},
#include "cli/command_options.def"
#undef OPT
};

static int find_long(const command *c, const char *name, size_t n)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].commands & c->bit && strlen(option_table[i].name) == n &&
            !strncmp(option_table[i].name, name, n))
            return i;
    return -1;
}

/* The list of names is that of one command: parsing happens once, in one thread. */
static const command *named_command;

static const char *option_name_at(size_t i)
{
    if (i >= OPTION_COUNT) return NULL;
    return option_table[i].commands & named_command->bit ? option_table[i].name : "";
}

static void complain_no_option(const command *c, const char *word, size_t n)
{
    named_command = c;
    const char *near = nearest_name(word, n, option_name_at);
    if (near)
        complain("%s: no option --%.*s; did you mean --%s? (see ratel %s --help)", c->name, (int)n,
                 word, near, c->name);
    else
        complain("%s: no option --%.*s (see ratel %s --help)", c->name, (int)n, word, c->name);
}

static int find_letter(const command *c, char letter)
{
    for (int i = 0; i < OPTION_COUNT; i++)
        if (option_table[i].commands & c->bit && option_table[i].letter == letter) return i;
    return -1;
}

static bool push(const char ***list, size_t *n, const char *s, bool *short_of_memory)
{
    const char **more = realloc(*list, (*n + 1) * sizeof *more);
    if (!more) {
        complain("out of memory");
        *short_of_memory = true;
        return false;
    }
    more[(*n)++] = s;
    *list = more;
    return true;
}

static bool set(args *a, int o, const char *value)
{
    a->value[o] = value;
    if (o == O_FAIL_ON_WARNING) return push(&a->fail_on, &a->n_fail_on, value, &a->short_of_memory);
    if (o == O_LEVEL_OF) return push(&a->level_of, &a->n_level_of, value, &a->short_of_memory);
    if (o == O_MODULE) return push(&a->modules, &a->n_modules, value, &a->short_of_memory);
    return o != O_SET || push(&a->knobs, &a->n_knobs, value, &a->short_of_memory);
}

static bool parse_long(args *a, int argc, char **argv, int *i)
{
    const char *word = argv[*i] + 2, *equals = strchr(word, '=');
    size_t n = equals ? (size_t)(equals - word) : strlen(word);
    int o = find_long(a->command, word, n);
    if (o < 0) {
        complain_no_option(a->command, word, n);
        return false;
    }
    if (!option_table[o].arg) {
        if (equals) {
            complain("--%s takes no value", option_table[o].name);
            return false;
        }
        return set(a, o, "");
    }
    if (equals) return set(a, o, equals + 1);
    if (*i + 1 >= argc) {
        complain("--%s needs a value: %s", option_table[o].name, option_table[o].arg);
        return false;
    }
    return set(a, o, argv[++*i]);
}

static bool parse_letters(args *a, int argc, char **argv, int *i)
{
    for (const char *p = argv[*i] + 1; *p; p++) {
        int o = find_letter(a->command, *p);
        if (o < 0) {
            complain("%s: no option -%c (see ratel %s --help)", a->command->name, *p,
                     a->command->name);
            return false;
        }
        if (!option_table[o].arg) {
            if (!set(a, o, "")) return false;
            continue;
        }
        if (p[1]) return set(a, o, p + 1);
        if (*i + 1 >= argc) {
            complain("-%c needs a value: %s", *p, option_table[o].arg);
            return false;
        }
        return set(a, o, argv[++*i]);
    }
    return true;
}

bool args_parse(args *a, const command *c, int argc, char **argv)
{
    memset(a, 0, sizeof *a);
    a->command = c;
    bool options = true;
    for (int i = 0; i < argc; i++) {
        const char *w = argv[i];
        bool ok;
        if (options && !strcmp(w, "--")) {
            options = false;
            continue;
        }
        if (options && w[0] == '-' && w[1] == '-')
            ok = parse_long(a, argc, argv, &i);
        else if (options && w[0] == '-' && w[1])
            ok = parse_letters(a, argc, argv, &i);
        else
            ok = push(&a->files, &a->n_files, w, &a->short_of_memory);
        if (!ok) return false;
    }
    if (a->value[O_FROM]) a->value[O_FORMAT] = a->value[O_FROM];
    return true;
}

void args_free(args *a)
{
    free((void *)a->files);
    free((void *)a->knobs);
    free((void *)a->fail_on);
    free((void *)a->level_of);
    free((void *)a->modules);
    a->files = a->knobs = a->fail_on = a->level_of = a->modules = NULL;
}

/* False, after a sentence that says which numbers there are. */
static bool complain_range(const args *a, enum option_id o, uint64_t low, uint64_t high)
{
    complain("--%s: %s is out of range (%llu to %llu)", option_table[o].name, a->value[o],
             (unsigned long long)low, (unsigned long long)high);
    return false;
}

bool args_u64(const args *a, enum option_id o, uint64_t *out)
{
    const char *s = a->value[o];
    if (!s) return true;
    char *end;
    errno = 0;
    unsigned long long v = strtoull(s, &end, 10);
    if (s[0] < '0' || s[0] > '9' || *end) {
        complain("--%s: \"%s\" is not a whole number", option_table[o].name, s);
        return false;
    }
    bool is_signed = o == O_DRIFT || o == O_MEMORY;
    if (errno) return complain_range(a, o, 0, is_signed ? INT64_MAX : UINT64_MAX);
    *out = v;
    return true;
}

bool args_share(const args *a, enum option_id o, double *out)
{
    const char *s = a->value[o];
    if (!s) return true;
    char *end;
    double v = strtod(s, &end);
    if (!*s || *end || !(v >= 0 && v <= 1)) {
        complain("--%s: \"%s\" is not a number between 0 and 1", option_table[o].name, s);
        return false;
    }
    *out = v;
    return true;
}

static bool apply_word(const args *a, enum option_id o, const char *const *words, size_t n,
                       const char *option)
{
    const char *s = a->value[o];
    if (!s) return true;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(s, words[i])) return !ratel_set(a->context, option, (int64_t)i);
    complain("--%s: \"%s\" is not one of %s", option_table[o].name, s, option_table[o].arg);
    return false;
}

static bool apply_number(const args *a, enum option_id o, const char *option)
{
    uint64_t n;
    if (!a->value[o]) return true;
    if (!args_u64(a, o, &n)) return false;
    if (o == O_SEED) n &= INT64_MAX; /* any seed will do */
    if (n <= INT64_MAX && !ratel_set(a->context, option, (int64_t)n)) return true;
    ratel_option of;
    for (size_t i = 0; !ratel_option_at(&of, i); i++)
        if (!strcmp(of.name, option)) return complain_range(a, o, (uint64_t)of.lo, (uint64_t)of.hi);
    return false;
}

bool pass_chosen(const args *a, const char *pass)
{
    bool chosen = true;
    const char *s = a->value[O_PASS];
    while (s && *s) {
        size_t n = strcspn(s, ",");
        bool on = *s != '-';
        if (*s == '-' || *s == '+') s++, n--;
        if (n == 4 && !strncmp(s, "none", 4)) chosen = !on;
        if ((n == 3 && !strncmp(s, "all", 3)) || (n == strlen(pass) && !strncmp(s, pass, n)))
            chosen = on;
        s += n;
        if (*s == ',') s++;
    }
    return chosen;
}

/* A list of pass names: -P off, P or +P on, `none`, `all`. */
static bool apply_passes(const args *a)
{
    const char *s = a->value[O_PASS];
    if (a->command->bit == CMD_AUDIT) return true; /* has its own: cmd_audit.c */
    if (s && !strcmp(s, "list")) return true;      /* cmd_check.c */
    while (s && *s) {
        size_t n = strcspn(s, ",");
        int on = *s != '-';
        if (*s == '-' || *s == '+') s++, n--;
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)(n < 63 ? n : 63), s);
        bool none = !strcmp(name, "none");
        if (none || !strcmp(name, "all")) {
            ratel_pass p;
            for (size_t i = 0; !ratel_pass_at(&p, i); i++)
                ratel_set_pass(a->context, p.name, none ? !on : on);
        } else if (ratel_set_pass(a->context, name, on)) {
            complain("--pass: no pass \"%s\" (--pass list lists them)", name);
            return false;
        }
        s += n;
        if (*s == ',') s++;
    }
    return true;
}

const char *format_name_at(size_t i)
{
    const char *id, *about;
    return ratel_format_at(&id, &about, i) ? NULL : id;
}

/* A format is named before anything is read; `edn` stands for both kinds of EDN (files.c). */
static bool is_format_known(const args *a, enum option_id o)
{
    const char *given = a->value[o], *name;
    bool spec = o == O_TO && a->command->bit == CMD_SYNTH; /* also a test for isolationtester */
    if (!given || !strcmp(given, "edn") || (spec && !strcmp(given, "spec"))) return true;
    for (size_t i = 0; (name = format_name_at(i)) != NULL; i++)
        if (!strcmp(name, given)) return true;
    complain_no_name("format", given, strlen(given), format_name_at,
                     "ratel convert --help lists them");
    return false;
}

bool args_apply(const args *a)
{
    static const char *const off_on[] = {"off", "on"};
    static const char *const policies[] = {
#define RYOW(id, name) name,
#include "opt/ryow.def"
#undef RYOW
        "auto"};
    if (!level_of_given(a)) return false;
    if (!is_format_known(a, O_FORMAT) || !is_format_known(a, O_TO)) return false;
    if (!apply_word(a, O_SESSION_ORDER, off_on, 2, "session_order")) return false;
    if (!apply_word(a, O_RYOW, policies, sizeof policies / sizeof *policies, "ryow")) return false;
    static const char *const aborted[] = {"ignored", "reads"};
    if (!apply_word(a, O_ABORTED_READS, aborted, 2, "aborted")) return false;
    static const char *const strategies[] = {
#define STRATEGY(id, name, help) name,
#include "opt/strategies.def"
#undef STRATEGY
    };
    if (!apply_word(a, O_STRATEGY, strategies, sizeof strategies / sizeof *strategies, "strategy"))
        return false;
    static const char *const encodings[] = {"bc", "induced"};
    if (!apply_word(a, O_SI_ENCODING, encodings, 2, "si_encoding")) return false;
    ratel_set(a->context, "threads", sysconf(_SC_NPROCESSORS_ONLN) > 1 ? 2 : 1);
    if (!apply_number(a, O_PORTFOLIO, "portfolio") || !apply_number(a, O_THREADS, "threads") ||
        !apply_number(a, O_SEED, "seed") || !apply_passes(a))
        return false;
    uint64_t drift = 0, memory = 0;
    if (!args_u64(a, O_DRIFT, &drift) || !args_u64(a, O_MEMORY, &memory)) return false;
    if (drift > INT64_MAX) return complain_range(a, O_DRIFT, 0, INT64_MAX);
    if (memory > INT64_MAX) return complain_range(a, O_MEMORY, 0, INT64_MAX);
    ratel_set(a->context, "drift", (int64_t)drift);
    ratel_set(a->context, "trust_timestamps", a->value[O_TRUST] != NULL);
    ratel_set(a->context, "memory", (int64_t)memory);
    const char *time = a->value[O_TIME];
    if (time) {
        char *end;
        double s = strtod(time, &end);
        if (!*time || *end || !(s > 0 && s < 1e9)) {
            complain("--time: \"%s\" is not a number of seconds (above 0, below 1000000000)", time);
            return false;
        }
        double ms = s * 1000;
        ratel_set(a->context, "time", ms < 1 ? 1 : (int64_t)ms);
    }
    return true;
}
