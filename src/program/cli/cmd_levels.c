/*
 * cmd_levels.c - ratel levels: the table, the implications, and other tools' names.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/synth_cli.h"

static const struct {
    const char *tool, *map;
} others[] = {
    {"Jepsen/Elle",
     "its plain levels are the same names with --session-order off; strong-session-* "
     "and strict-serializable are the same; its strong SI is realtime-si"},
    {"dbcop, Plume, AWDIT",
     "their RC is mav, RA is ra, CC and TCC are causal, with session order on"},
    {"VeriStrong, PolySI, Cobra", "SER is ser, SI is si, with session order on"},
    {"Viper", "Adya SI is adya-si, GSI is gsi, strong session SI is pcsi, strong SI is strong-si"},
    {"Troubadour", "SS is sser, SSI (strict SI) is strong-si"},
    {"Adya", "pl-1 ... pl-3 are the levels without session order"},
};

/* The levels that a level implies, one after the other: start with *i == 0. */
static bool next_implied(const char *name, bool so, size_t *i, ratel_level *l)
{
    while (!ratel_level_at(l, (*i)++))
        if (strcmp(l->name, name) && ratel_level_implies(name, l->name, so) == 1) return true;
    return false;
}

static void print_level_json(FILE *out, const ratel_level *l, bool so)
{
    ratel_level weaker;
    json_writer to = json_file(out), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "level", l->name);
    jw_member_array(w, "aliases");
    for (const char *p = l->aliases; *p;) {
        size_t n = strcspn(p, ",");
        jw_bytes(w, p, n);
        p += n + (p[n] == ',');
    }
    jw_end_array(w);
    jw_member_text(w, "definition", l->about);
    jw_member_text(w, "session_order", l->session_order);
    jw_member_text(w, "checked_by", l->how);
    jw_member_bool(w, "decided", l->decided);
    jw_member_array(w, "implies");
    for (size_t i = 0; next_implied(l->name, so, &i, &weaker);) jw_text(w, weaker.name);
    jw_end_array(w);
    jw_end_object(w);
    jw_end_line(w);
}

static void print_long(FILE *out, const ratel_level *l, bool so)
{
    fprintf(out, "%s%s%s\n", l->name, *l->aliases ? ", also " : "", l->aliases);
    fprintf(out, "  definition     %s\n", l->about);
    fprintf(out, "  session order  %s\n",
            !strcmp(l->session_order, "option") ? "as --session-order says (default: on)"
                                                : l->session_order);
    fprintf(out, "  checked by     %s\n", l->how);
    fprintf(out, "  implies        ");
    ratel_level weaker;
    bool any = false;
    for (size_t i = 0; next_implied(l->name, so, &i, &weaker); any = true)
        fprintf(out, "%s%s", any ? ", " : "", weaker.name);
    fputs(any ? "\n" : "no other level\n", out);
}

static int print_levels(const args *a, FILE *out)
{
    ratel_level l;
    const char *order = a->value[O_SESSION_ORDER];
    bool so = !order || strcmp(order, "off") != 0, json = a->value[O_JSON] != NULL;
    for (size_t i = 0; i < a->n_files; i++) {
        const char *base;
        if (ratel_level_named(a->files[i], &base)) {
            complain_no_level(a->files[i]);
            return EXIT_USAGE;
        }
        for (size_t j = 0; !ratel_level_at(&l, j); j++) {
            if (strcmp(l.name, base)) continue;
            if (json)
                print_level_json(out, &l, so);
            else
                print_long(out, &l, so);
        }
    }
    if (a->n_files) return EXIT_HOLDS;
    for (size_t i = 0; !ratel_level_at(&l, i); i++) {
        if (json) {
            print_level_json(out, &l, so);
            continue;
        }
        fprintf(out, "%-38s %-18s %s%s\n", l.name, l.aliases, l.about,
                l.decided ? "" : " (not decided yet)");
    }
    if (json) return EXIT_HOLDS;
    fprintf(
        out,
        "\nprefixes: strong-session-X is X with session order, realtime-X is X with session order "
        "and real time\n"
        "ratel levels NAME shows what a level implies and how it is checked\n"
        "\nnames in other tools:\n");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        fprintf(out, "  %-26s %s\n", others[i].tool, others[i].map);
    return EXIT_HOLDS;
}

/* levels --define: the text of each level, or the names that have one. */
static int print_definitions(const args *a, FILE *out)
{
    const char *name, *text, *builtin;
    for (size_t i = 0; !a->n_files && synth_library_at(i, &name, &text, &builtin); i++)
        fprintf(out, "%-32s %s%s\n", name, *builtin ? "decides the same as " : "synth only",
                builtin);
    for (size_t i = 0; i < a->n_files; i++) {
        const char *near = NULL, *known = synth_library_name(a->files[i], &near);
        const char *why = synth_unwritten(a->files[i]);
        if (why) {
            complain("level \"%s\" is not written in the language: %s", a->files[i], why);
            return EXIT_USAGE;
        }
        if (!known) {
            complain("no definition of level \"%s\"%s%s", a->files[i],
                     near ? "; did you mean " : "", near ? near : "");
            return EXIT_USAGE;
        }
        for (size_t j = 0; synth_library_at(j, &name, &text, &builtin); j++)
            if (name == known) fputs(text, out);
    }
    return EXIT_HOLDS;
}

/* One file in its usual layout, to be freed; NULL after a complaint. */
static char *tidied(synth *s, const char *path, int *status)
{
    size_t n;
    const char *tidy;
    char *text = read_level_file(path, &n, status), *out = NULL;
    if (!text) return NULL;
    int code = synth_tidy(s, path, text, n, &tidy);
    if (code) {
        *status = complain_about_level(s, path, code);
    } else if (!(out = malloc(strlen(tidy) + 1))) {
        complain("out of memory");
        *status = EXIT_UNDECIDED;
    } else {
        memcpy(out, tidy, strlen(tidy) + 1);
    }
    free(text);
    return out;
}

/* levels --tidy: all is read before the output is opened, which may be one of the files. */
static int print_tidy(const args *a)
{
    int status = EXIT_UNDECIDED;
    char **texts = calloc(a->n_files + 1, sizeof *texts);
    synth *s = session_open(a);
    FILE *out = NULL;
    size_t n = 0;
    if (!texts || !s)
        complain("out of memory");
    else
        while (n < a->n_files && (texts[n] = tidied(s, a->files[n], &status))) n++;
    if (n && n == a->n_files) {
        out = open_output(a);
        status = out ? EXIT_HOLDS : EXIT_IO;
        for (size_t i = 0; out && i < n; i++) fputs(texts[i], out);
    }
    for (size_t i = 0; texts && i < n; i++) free(texts[i]);
    free(texts);
    synth_close(s);
    return out ? close_output(a, out, status) : status;
}

int cmd_levels(args *a)
{
    if (a->value[O_TIDY] && !a->n_files) {
        complain("levels --tidy: give the `.iso` files");
        return EXIT_USAGE;
    }
    if (a->value[O_TIDY]) return print_tidy(a);
    FILE *out = open_output(a);
    if (!out) return EXIT_IO;
    int status = a->value[O_DEFINE] ? print_definitions(a, out) : print_levels(a, out);
    return close_output(a, out, status);
}
