/*
 * cmd_levels.c - ratel levels: the table, the implications, and other tools' names.
 */
#include <string.h>

#include "cli/cli.h"

static const struct {
    const char *tool, *map;
} others[] = {
    {"Jepsen/Elle", "its plain levels are ours with --session-order off; strong-session-* the same "
                    "name; its strong SI is realtime-si; strict-serializable ours"},
    {"dbcop, Plume, AWDIT", "their RC is mav, RA ra, CC/TCC causal, session order on"},
    {"VeriStrong, PolySI, Cobra", "SER ser, SI si, session order on"},
    {"Viper", "Adya SI adya-si, GSI gsi, strong session SI pcsi, strong SI strong-si"},
    {"Troubadour", "SS sser, SSI (strict SI) strong-si"},
    {"Adya", "pl-1 ... pl-3: the level without session order"},
};

static void implied(const char *name, bool so, bool json)
{
    ratel_level l;
    bool first = true;
    for (size_t i = 0; !ratel_level_at(&l, i); i++) {
        if (!strcmp(l.name, name) || ratel_level_implies(name, l.name, so) != 1) continue;
        if (json) {
            if (!first) putchar(',');
            json_text_to(stdout, l.name);
        } else {
            printf("%s%s", first ? "" : ", ", l.name);
        }
        first = false;
    }
    if (first && !json) printf("nothing weaker here");
}

static void print_json(const ratel_level *l, bool so)
{
    fputs("{\"schema\":1,\"level\":", stdout);
    json_text_to(stdout, l->name);
    fputs(",\"aliases\":[", stdout);
    for (const char *p = l->aliases; *p;) {
        size_t n = strcspn(p, ",");
        printf("%s\"%.*s\"", p == l->aliases ? "" : ",", (int)n, p);
        p += n + (p[n] == ',');
    }
    fputs("],\"definition\":", stdout);
    json_text_to(stdout, l->about);
    fputs(",\"session_order\":", stdout);
    json_text_to(stdout, l->session_order);
    fputs(",\"checked_by\":", stdout);
    json_text_to(stdout, l->how);
    printf(",\"decided\":%s,\"implies\":[", l->decided ? "true" : "false");
    implied(l->name, so, true);
    fputs("]}\n", stdout);
}

static void print_long(const ratel_level *l, bool so)
{
    printf("%s%s%s\n", l->name, *l->aliases ? ", also " : "", l->aliases);
    printf("  definition     %s\n", l->about);
    printf("  session order  %s\n", !strcmp(l->session_order, "option")
                                        ? "by --session-order (default on)"
                                        : l->session_order);
    printf("  checked by     %s\n", l->how);
    printf("  implies        ");
    implied(l->name, so, false);
    putchar('\n');
}

int cmd_levels(args *a)
{
    ratel_level l;
    const char *order = a->value[O_SESSION_ORDER];
    bool so = !order || strcmp(order, "off") != 0, json = a->value[O_JSON] != NULL;
    for (size_t i = 0; i < a->n_files; i++) {
        const char *base;
        if (ratel_level_named(a->files[i], &base)) {
            complain("no level \"%s\"%s%s", a->files[i], base ? "; did you mean " : "",
                     base ? base : "");
            return EXIT_USAGE;
        }
        for (size_t j = 0; !ratel_level_at(&l, j); j++) {
            if (strcmp(l.name, base)) continue;
            if (json)
                print_json(&l, so);
            else
                print_long(&l, so);
        }
    }
    if (a->n_files) return EXIT_HOLDS;
    for (size_t i = 0; !ratel_level_at(&l, i); i++) {
        if (json) {
            print_json(&l, so);
            continue;
        }
        printf("%-38s %-18s %s%s\n", l.name, l.aliases, l.about,
               l.decided ? "" : " (not decided yet)");
    }
    if (json) return EXIT_HOLDS;
    printf("\nprefixes: strong-session-X is X with session order, realtime-X with real time too\n"
           "ratel levels NAME shows what a level implies and what checks it\n\nif you come from:\n");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        printf("  %-26s %s\n", others[i].tool, others[i].map);
    return EXIT_HOLDS;
}
