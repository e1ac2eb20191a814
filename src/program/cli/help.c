/*
 * help.c - --help and the man pages, from the tables.
 *
 * Commands come from main.c, options from command_options.def and option_words.def, exit statuses
 * from opt/exits.def, formats from the library.  The man pages in doc/man are what `ratel --man`
 * prints: tool/gen-man writes them, and a test compares.
 */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/help_texts.h"

static void spell(const option_info *o, char *buf, size_t n)
{
    char letter[8] = "";
    if (o->letter) snprintf(letter, sizeof letter, "-%c, ", o->letter);
    snprintf(buf, n, "%s--%s%s%s", letter, o->name, o->arg ? " " : "", o->arg ? o->arg : "");
}

enum { HELP_LEFT = 34, HELP_NARROW = 72, HELP_INDENT = 8 };

/* Columns of a line: as many as the terminal has, between 40 and 100; 100 elsewhere. */
static size_t help_width(FILE *to)
{
    struct winsize w;
    size_t n = 100;
    if (isatty(fileno(to)) && !ioctl(fileno(to), TIOCGWINSZ, &w) && w.ws_col) n = w.ws_col;
    return n < 40 ? 40 : n > 100 ? 100 : n;
}

/* The text in lines of `width` columns; what stands before its first line takes `column`, the other
   lines are indented by `left`.  An empty line in the text ends a paragraph. */
static void print_wrapped(FILE *to, const char *s, size_t column, size_t left, size_t width)
{
    bool first = true;
    while (*s) {
        if (*s == '\n') {
            fprintf(to, "\n\n%*s", (int)left, "");
            column = left;
            first = true;
            s++;
            continue;
        }
        size_t n = strcspn(s, " \n");
        if (!first && column + 1 + n > width) {
            fprintf(to, "\n%*s", (int)left, "");
            column = left;
            first = true;
        }
        if (!first) fputc(' ', to), column++;
        fprintf(to, "%.*s", (int)n, s);
        column += n;
        first = false;
        s += n;
        if (*s) s++;
    }
    fputc('\n', to);
}

static void print_row(FILE *to, const char *left, const char *text, size_t width)
{
    size_t n = strlen(left), indent = width < HELP_NARROW ? HELP_INDENT : HELP_LEFT + 1;
    fprintf(to, "  %s", left);
    if (n + 3 > indent)
        fprintf(to, "\n%*s", (int)indent, "");
    else
        fprintf(to, "%*s", (int)(indent - n - 2), "");
    print_wrapped(to, text, indent, indent, width);
}

static void print_options(FILE *to, const command *c, size_t width)
{
    for (int g = 0; g < HELP_GROUPS; g++) {
        bool any = false;
        for (int i = 0; i < OPTION_COUNT; i++) {
            char left[64];
            if (!(option_table[i].commands & c->bit)) continue;
            if (help_group_of((enum option_id)i, c->bit) != (enum help_group)g) continue;
            if (!any) fprintf(to, "\n%s:\n", help_groups[g]);
            any = true;
            option_info o = help_option((enum option_id)i, c->bit);
            spell(&o, left, sizeof left);
            print_row(to, left, o.help, width);
        }
    }
}

static void print_exits(FILE *to, unsigned bit)
{
    help_exit e;
    for (size_t i = 0; help_exit_at(&e, bit, i); i++)
        fprintf(to, "  %-4d %s\n", e.status, e.meaning);
}

void help_command(const command *c, FILE *to)
{
    size_t width = help_width(to);
    const help_example *e;
    fprintf(to, "ratel %s: %s\n\nusage: ratel %s %s\n\n", c->name, c->about, c->name, c->usage);
    print_wrapped(to, c->more, 0, 0, width);
    if (help_example_at(c->bit, 0)) fprintf(to, "\nexamples:\n");
    for (size_t i = 0; (e = help_example_at(c->bit, i)) != NULL; i++)
        fprintf(to, "  ratel %s\n      %s\n", e->line, e->about);
    print_options(to, c, width);
    if (c->bit & (CMD_READ | CMD_GEN)) {
        const char *id, *about;
        fprintf(to, "\nformats:\n");
        for (size_t i = 0; !ratel_format_at(&id, &about, i); i++)
            fprintf(to, "  %-14s %s\n", id, about);
        fprintf(to, "  %-14s %s\n", "edn", "edn-la or edn-rw, whichever it is");
    }
    fprintf(to, "\nexit status:\n");
    print_exits(to, c->bit);
}

void help_all(FILE *to)
{
    fprintf(to,
            "ratel %s: does this history keep its isolation promise?\n\n"
            "usage: ratel COMMAND [options] ...\n\n",
            ratel_version());
    for (const command *c = commands; c->name; c++) fprintf(to, "  %-13s %s\n", c->name, c->about);
    fprintf(to,
            "\n  ratel COMMAND --help              what a command does, and its options\n"
            "  ratel --version [--json]          the version; as JSON also commit and features\n"
            "  ratel --completion bash|zsh|fish  a completion script for this shell\n"
            "\nexit status:\n");
    print_exits(to, CMD_ALL);
}

/* --- man pages -------------------------------------------------------------------------------- */

/* In roff a leading dot or quote is a request and a backslash an escape. */
static void roff(FILE *to, const char *s)
{
    bool line_start = true;
    for (; *s; s++) {
        if (line_start && *s == '\n') fputs(".PP", to); /* an empty line: a paragraph */
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

static void man_exits(FILE *to, unsigned bit)
{
    help_exit e;
    fprintf(to, ".SH EXIT STATUS\n");
    for (size_t i = 0; help_exit_at(&e, bit, i); i++) {
        fprintf(to, ".TP\n.B %d\n", e.status);
        roff(to, e.meaning);
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

static void man_options(FILE *to, const command *c)
{
    fprintf(to, ".SH OPTIONS\n");
    for (int g = 0; g < HELP_GROUPS; g++) {
        bool any = false;
        for (int i = 0; i < OPTION_COUNT; i++) {
            char left[64];
            if (!(option_table[i].commands & c->bit)) continue;
            if (help_group_of((enum option_id)i, c->bit) != (enum help_group)g) continue;
            if (!any && g != HELP_OWN) fprintf(to, ".SS %s\n", help_groups[g]);
            any = true;
            option_info o = help_option((enum option_id)i, c->bit);
            spell(&o, left, sizeof left);
            man_item(to, left, o.help);
        }
    }
}

static void man_examples(FILE *to, const command *c)
{
    const help_example *e;
    if (help_example_at(c->bit, 0)) fprintf(to, ".SH EXAMPLES\n");
    for (size_t i = 0; (e = help_example_at(c->bit, i)) != NULL; i++) {
        char line[160];
        snprintf(line, sizeof line, "ratel %s", e->line);
        man_item(to, line, e->about);
    }
}

static void man_files(FILE *to, const command *c)
{
    const help_file *f;
    if (help_file_at(c->bit, 0)) fprintf(to, ".SH FILES\n");
    for (size_t i = 0; (f = help_file_at(c->bit, i)) != NULL; i++) man_item(to, f->name, f->about);
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
    man_options(to, c);
    if (c->bit == CMD_GEN) man_gen(to);
    man_exits(to, c->bit);
    man_examples(to, c);
    man_files(to, c);
    fprintf(to, ".SH SEE ALSO\n.BR ratel (1),\n.BR ratel\\-formats (5)\n");
}

/* ratel-formats(5): every format, and the native one in short. */
static void man_formats(FILE *to)
{
    const char *id, *about;
    fprintf(to,
            ".TH RATEL\\-FORMATS 5 \"\" \"ratel %s\" \"Ratel\"\n.SH NAME\n"
            "ratel\\-formats \\- files in which Ratel finds histories of transactions\n"
            ".SH DESCRIPTION\n",
            ratel_version());
    roff(to, "Ratel reads the formats below and tells them apart by their content; --format names\n"
             "one instead. Every file may be compressed with gzip or zstd. ratel-convert(1)\n"
             "translates between them and says what the target cannot hold.\n");
    fprintf(to, ".SH FORMATS\n");
    for (size_t i = 0; !ratel_format_at(&id, &about, i); i++) man_item(to, id, about);
    man_item(to, "edn", "for options: edn-la or edn-rw, whichever it is");
    fprintf(to, ".SH THE NATIVE FORMAT\n");
    roff(to,
         "One JSON object per line. The first line may be a header; every other one is a\n"
         "transaction or a mark. The lines of one session stand in the order of the session.\n");
    fprintf(to, ".PP\n.nf\n");
    roff(to, "{\"ratel\":1,\"init\":null}\n"
             "{\"session\":1,\"id\":\"a\",\"begin\":100,\"end\":140,"
             "\"ops\":[[\"r\",\"x\",null],[\"w\",\"x\",1]]}\n"
             "{\"session\":2,\"status\":\"aborted\",\"ops\":[[\"w\",\"x\",2]]}\n"
             "{\"mark\":\"end\",\"at\":900,\"txns\":2}\n");
    fprintf(to, ".fi\n.SS Operations\n");
    static const struct {
        const char *op, *about;
    } ops[] = {
        {"[\"r\",k,v]", "a read; null: the key was absent; without v: the result is not known"},
        {"[\"w\",k,v]", "a write, insert or update"},
        {"[\"d\",k]", "a delete"},
        {"[\"append\",k,v]", "appends v to the list at k"},
        {"[\"scan\",from,to,[[k,v],...]]", "all keys from `from` up to, but without, `to`"},
        {"[\"iter\",from,to,[[k,v],...],done]", "an iterator; done is false if it was left early"},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) man_item(to, ops[i].op, ops[i].about);
    fprintf(to, ".SH FILES\n");
    man_item(to, "*.jsonl", "native histories; with .gz or .zst, compressed");
    man_item(to, "NAME.iso", "levels written by you, for check and synth");
    fprintf(to, ".SH SEE ALSO\n.BR ratel (1),\n.BR ratel\\-convert (1),\n.BR ratel (3)\n");
}

void help_man(const char *name, FILE *to)
{
    if (name && !strcmp(name, "formats")) {
        man_formats(to);
        return;
    }
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
    man_exits(to, CMD_ALL);
    fprintf(to, ".SH EXAMPLES\n");
    for (const command *c = commands; c->name; c++) {
        const help_example *e = help_example_at(c->bit, 0);
        char line[160];
        if (!e) continue;
        snprintf(line, sizeof line, "ratel %s", e->line);
        man_item(to, line, e->about);
    }
    fprintf(to, ".SH FILES\n");
    man_item(to, "PREFIX/share/ratel/schema/*.json", "JSON schemas of what --json prints");
    fprintf(to, ".SH SEE ALSO\n.BR ratel\\-formats (5),\n.BR ratel (3)\n");
}
