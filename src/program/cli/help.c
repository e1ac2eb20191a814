/*
 * help.c - --help and the man pages, from the tables.
 *
 * Commands come from main.c, options from command_options.def, exit statuses from opt/exits.def,
 * formats from the library.  The man pages in doc/man are what `ratel --man` prints: tool/gen-man
 * writes them, and a test compares.
 */
#include <string.h>

#include "cli/cli.h"

static const struct {
    int status;
    const char *meaning;
} exits[] = {
#define EXIT(id, status, meaning) {status, meaning},
#include "opt/exits.def"
#undef EXIT
};
#define N_EXITS (sizeof exits / sizeof *exits)

static void spell(const option_info *o, char *buf, size_t n)
{
    char letter[8] = "";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(buf, n, "%s--%s%s%s", letter, o->name, o->arg ? " " : "", o->arg ? o->arg : "");
}

enum { HELP_LEFT = 34, HELP_WIDTH = 100 }; /* columns before the text, and of a line */

/* The text in lines of HELP_WIDTH columns, all but the first indented to HELP_LEFT. */
static void print_wrapped(FILE *to, const char *s)
{
    size_t column = HELP_LEFT + 1;
    while (*s) {
        size_t n = strcspn(s, " \n");
        if (column + n > HELP_WIDTH) {
            fprintf(to, "\n%*s", HELP_LEFT + 1, "");
            column = HELP_LEFT + 1;
        }
        fprintf(to, "%.*s", (int)n, s);
        column += n + 1;
        s += n;
        if (*s && *++s && column + strcspn(s, " \n") <= HELP_WIDTH) fputc(' ', to);
    }
    fputc('\n', to);
}

void help_command(const command *c, FILE *to)
{
    fprintf(to, "ratel %s: %s\n\nusage: ratel %s %s\n\n%s\n", c->name, c->about, c->name, c->usage,
            c->more);
    for (int i = 0; i < OPTION_COUNT; i++) {
        char left[64];
        if (!(option_table[i].commands & c->bit)) continue;
        spell(&option_table[i], left, sizeof left);
        fprintf(to, "  %-32s ", left);
        print_wrapped(to, option_table[i].help);
    }
    if (c->bit & (CMD_READ | CMD_GEN)) {
        const char *id, *about;
        fprintf(to, "\nformats:\n");
        for (size_t i = 0; !ratel_format_at(&id, &about, i); i++)
            fprintf(to, "  %-12s %s\n", id, about);
    }
    fprintf(to, "\nexit status:\n");
    for (size_t i = 0; i < N_EXITS; i++)
        fprintf(to, "  %-4d %s\n", exits[i].status, exits[i].meaning);
}

void help_all(FILE *to)
{
    fprintf(to,
            "ratel %s: does this history keep its isolation promise?\n\n"
            "usage: ratel COMMAND [options] ...\n\n",
            ratel_version());
    for (const command *c = commands; c->name; c++) fprintf(to, "  %-10s %s\n", c->name, c->about);
    fprintf(to, "\n  ratel COMMAND --help    options of a command\n"
                "  ratel --version         (--json: with commit, compiler and features)\n"
                "\nexit status:\n");
    for (size_t i = 0; i < N_EXITS; i++)
        fprintf(to, "  %-4d %s\n", exits[i].status, exits[i].meaning);
}

/* --- man pages -------------------------------------------------------------------------------- */

/* In roff a leading dot or quote is a request and a backslash an escape. */
static void roff(FILE *to, const char *s)
{
    bool line_start = true;
    for (; *s; s++) {
        if (line_start && (*s == '.' || *s == '\'')) fputs("\\&", to);
        if (*s == '\\')
            fputs("\\e", to);
        else if (*s == '-')
            fputs("\\-", to);
        else
            fputc(*s, to);
        line_start = *s == '\n';
    }
}

static void man_exits(FILE *to)
{
    fprintf(to, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < N_EXITS; i++) {
        fprintf(to, ".TP\n.B %d\n", exits[i].status);
        roff(to, exits[i].meaning);
        fputc('\n', to);
    }
}

/* Two columns of roff: a name, and what it is about. */
static void man_item(FILE *to, const char *name, const char *about)
{
    fprintf(to, ".TP\n.B ");
    roff(to, name);
    fputc('\n', to);
    roff(to, about);
    fputc('\n', to);
}

static void man_gen(FILE *to)
{
    for (const gen_list *l = gen_lists; l->title; l++) {
        const char *name, *about;
        fprintf(to, ".SH ");
        for (const char *p = l->title; *p; p++) fputc(*p - 32, to);
        fputc('\n', to);
        for (size_t i = 0; !l->at(&name, &about, i); i++) man_item(to, name, about);
    }
}

static void man_command(const command *c, FILE *to)
{
    fprintf(to, ".TH RATEL-");
    for (const char *p = c->name; *p; p++) fputc(*p >= 'a' && *p <= 'z' ? *p - 32 : *p, to);
    fprintf(to, " 1 \"\" \"ratel %s\" \"Ratel\"\n.SH NAME\nratel\\-%s \\- ", ratel_version(),
            c->name);
    roff(to, c->about);
    fprintf(to, "\n.SH SYNOPSIS\n.B ratel %s\n", c->name);
    roff(to, c->usage);
    fprintf(to, "\n.SH DESCRIPTION\n");
    roff(to, c->more);
    fprintf(to, ".SH OPTIONS\n");
    for (int i = 0; i < OPTION_COUNT; i++) {
        char left[64];
        if (!(option_table[i].commands & c->bit)) continue;
        spell(&option_table[i], left, sizeof left);
        man_item(to, left, option_table[i].help);
    }
    if (c->bit == CMD_GEN) man_gen(to);
    man_exits(to);
    fprintf(to, ".SH SEE ALSO\n.BR ratel (1)\n");
}

void help_man(const char *name, FILE *to)
{
    for (const command *c = commands; name && c->name; c++)
        if (!strcmp(c->name, name)) {
            man_command(c, to);
            return;
        }
    fprintf(to,
            ".TH RATEL 1 \"\" \"ratel %s\" \"Ratel\"\n.SH NAME\n"
            "ratel \\- does this history keep its isolation promise?\n"
            ".SH SYNOPSIS\n.B ratel\n.I COMMAND\n[options] ...\n.SH DESCRIPTION\n"
            "Checks recorded histories of database transactions against isolation levels.\n"
            ".SH COMMANDS\n",
            ratel_version());
    for (const command *c = commands; c->name; c++) {
        fprintf(to, ".TP\n.BR ratel\\-%s (1)\n", c->name);
        roff(to, c->about);
        fputc('\n', to);
    }
    fprintf(to, ".SH FORMATS\n");
    const char *id, *about;
    for (size_t i = 0; !ratel_format_at(&id, &about, i); i++) {
        fprintf(to, ".TP\n.B ");
        roff(to, id);
        fputc('\n', to);
        roff(to, about);
        fputc('\n', to);
    }
    man_exits(to);
}
