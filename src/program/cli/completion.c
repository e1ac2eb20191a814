/*
 * completion.c - completion for bash, zsh and fish, from the tables.
 *
 * tool/gen-man keeps what `ratel --completion SHELL` prints in completion/, from where it is
 * installed.  What an argument may be comes from its description in command_options.def: words
 * with bars between them are the choices, FILE and DIR are files, and levels, formats, workloads,
 * anomalies and knobs come from their own tables.
 */
#include <string.h>

#include "cli/help_texts.h"
#include "cli/live.h"

/* A list of names, separated by spaces. */
static void put_names(FILE *to, const char *(*at)(size_t i), const char *more)
{
    const char *name;
    for (size_t i = 0; (name = at(i)) != NULL; i++) fprintf(to, "%s%s", i ? " " : "", name);
    fputs(more, to);
}

static const char *level_name_at(size_t i)
{
    ratel_level l;
    return ratel_level_at(&l, i) ? NULL : l.name;
}

static const char *anomaly_name_at(size_t i)
{
    const char *name, *about;
    return ratel_gen_anomaly_at(&name, &about, i) ? NULL : name;
}

static const char *warning_id_at(size_t i)
{
    ratel_lint_rule rule;
    return ratel_lint_rule_at(&rule, i) ? NULL : rule.id;
}

/* The words that an option's argument may be; false: a file, or anything. */
static bool put_choices(FILE *to, enum option_id o)
{
    const char *arg = option_table[o].arg;
    switch (o) {
    case O_LEVEL:
    case O_ALLOW:
    case O_FORBID:
    case O_LATTICE: put_names(to, level_name_at, " all"); return true;
    case O_FORMAT:
    case O_FROM:
    case O_TO: put_names(to, format_name_at, " edn"); return true;
    case O_WORKLOAD: put_names(to, live_workload_at, ""); return true;
    case O_ANOMALY: put_names(to, anomaly_name_at, ""); return true;
    case O_FAIL_ON_WARNING:
    case O_ONLY: put_names(to, warning_id_at, ""); return true;
    default: break;
    }
    if (!arg || !strchr(arg, '|') || strchr(arg, '[')) return false;
    for (const char *p = arg; *p; p++) fputc(*p == '|' ? ' ' : *p, to);
    return true;
}

/* May the argument be a level in a file, NAME.iso? */
static bool takes_definition(enum option_id o)
{
    return o == O_LEVEL || o == O_ALLOW || o == O_FORBID || o == O_LATTICE;
}

static bool is_file(enum option_id o)
{
    const char *arg = option_table[o].arg;
    return arg && (!strcmp(arg, "FILE") || !strcmp(arg, "DIR") || !strcmp(arg, "PREFIX"));
}

static void put_command_names(FILE *to)
{
    for (const command *c = commands; c->name; c++)
        fprintf(to, "%s%s", c == commands ? "" : " ", c->name);
}

/* --- bash ------------------------------------------------------------------------------------- */

static void bash_completion(FILE *to)
{
    fputs("# Completion of ratel for bash. Made by ratel --completion bash; do not edit.\n"
          "_ratel() {\n"
          "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
          "        words='",
          to);
    put_command_names(to);
    fputs(" help --help --version'\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
          "        return\n"
          "    fi\n"
          "    case $prev in\n",
          to);
    for (int i = 0; i < OPTION_COUNT; i++) {
        if (!option_table[i].arg) continue;
        fprintf(to, "    --%s", option_table[i].name);
        if (option_table[i].letter) fprintf(to, "|-%c", option_table[i].letter);
        fputs(") words='", to);
        bool words = put_choices(to, (enum option_id)i);
        fputs("'\n        mapfile -t COMPREPLY < <(compgen ", to);
        fputs(words ? "-W \"$words\"" : "-f", to);
        fputs(" -- \"$cur\"", to);
        if (takes_definition((enum option_id)i)) fputs("; compgen -f -X '!*.iso' -- \"$cur\"", to);
        fputs("); return ;;\n", to);
    }
    fputs("    esac\n"
          "    if [ \"${cur#-}\" != \"$cur\" ]; then\n"
          "        case ${COMP_WORDS[1]} in\n",
          to);
    for (const command *c = commands; c->name; c++) {
        fprintf(to, "        %s) words='", c->name);
        for (int i = 0; i < OPTION_COUNT; i++)
            if (option_table[i].commands & c->bit) fprintf(to, "--%s ", option_table[i].name);
        fputs("' ;;\n", to);
    }
    fputs("        esac\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
          "        return\n"
          "    fi\n"
          "    case ${COMP_WORDS[1]} in\n"
          "    levels) words='",
          to);
    put_names(to, level_name_at, "");
    fputs("' ;;\n    help) words='", to);
    put_command_names(to);
    fputs("' ;;\n    esac\n"
          "    if [ -n \"$words\" ]; then\n"
          "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
          "    else\n"
          "        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n"
          "    fi\n"
          "}\n"
          "complete -o filenames -F _ratel ratel\n",
          to);
}

/* --- zsh -------------------------------------------------------------------------------------- */

/* Text between single quotes, in brackets or before a colon. */
static void zsh_text(FILE *to, const char *s)
{
    for (; *s; s++)
        if (*s == '\'')
            fputs("'\\''", to);
        else if (strchr("[]:", *s))
            fprintf(to, "\\%c", *s);
        else
            fputc(*s == '\n' ? ' ' : *s, to);
}

static void zsh_option(FILE *to, enum option_id o, unsigned bit)
{
    const option_info said = help_option(o, bit), *x = &said;
    const char *more = x->arg ? "=" : "";
    if (x->letter)
        fprintf(to, "            '(-%c --%s)'{-%c%s,--%s%s}'[", x->letter, x->name, x->letter,
                x->arg ? "+" : "", x->name, more);
    else
        fprintf(to, "            '--%s%s[", x->name, more);
    zsh_text(to, x->help);
    fputc(']', to);
    if (x->arg) {
        fputc(':', to);
        zsh_text(to, x->arg);
        fputc(':', to);
        if (is_file(o)) {
            fputs("_files", to);
        } else {
            fputs(takes_definition(o) ? "{ _values -w level " : "(", to);
            put_choices(to, o);
            fputs(takes_definition(o) ? "; _files -g \"*.iso\" }" : ")", to);
        }
    }
    fputs("' \\\n", to);
}

static void zsh_completion(FILE *to)
{
    fputs("#compdef ratel\n"
          "# Completion of ratel for zsh. Made by ratel --completion zsh; do not edit.\n"
          "_ratel() {\n"
          "    local -a commands\n"
          "    commands=(\n",
          to);
    for (const command *c = commands; c->name; c++) {
        fprintf(to, "        '%s:", c->name);
        zsh_text(to, c->about);
        fputs("'\n", to);
    }
    fputs("    )\n"
          "    if (( CURRENT == 2 )); then\n"
          "        _describe command commands\n"
          "        return\n"
          "    fi\n"
          "    local chosen=$words[2]\n"
          "    shift words\n"
          "    (( CURRENT-- ))\n"
          "    case $chosen in\n",
          to);
    for (const command *c = commands; c->name; c++) {
        fprintf(to, "    %s)\n        _arguments \\\n", c->name);
        for (int i = 0; i < OPTION_COUNT; i++)
            if (option_table[i].commands & c->bit) zsh_option(to, (enum option_id)i, c->bit);
        if (c->bit == CMD_LEVELS) {
            fputs("            '*:level:(", to);
            put_names(to, level_name_at, ")' ;;\n");
        } else {
            fputs("            '*:file:_files' ;;\n", to);
        }
    }
    fputs("    help) _describe command commands ;;\n    esac\n}\n_ratel \"$@\"\n", to);
}

/* --- fish ------------------------------------------------------------------------------------- */

static void fish_text(FILE *to, const char *s)
{
    fputc('\'', to);
    for (; *s; s++)
        if (*s == '\'' || *s == '\\')
            fprintf(to, "\\%c", *s);
        else
            fputc(*s == '\n' ? ' ' : *s, to);
    fputc('\'', to);
}

static void fish_completion(FILE *to)
{
    fputs("# Completion of ratel for fish. Made by ratel --completion fish; do not edit.\n", to);
    for (const command *c = commands; c->name; c++) {
        fprintf(to, "complete -c ratel -f -n __fish_use_subcommand -a %s -d ", c->name);
        fish_text(to, c->about);
        fputc('\n', to);
    }
    for (const command *c = commands; c->name; c++)
        for (int i = 0; i < OPTION_COUNT; i++) {
            const option_info said = help_option((enum option_id)i, c->bit), *x = &said;
            if (!(x->commands & c->bit)) continue;
            fprintf(to, "complete -c ratel -n '__fish_seen_subcommand_from %s' -l %s", c->name,
                    x->name);
            if (x->letter) fprintf(to, " -s %c", x->letter);
            if (x->arg) {
                fputs(is_file((enum option_id)i) ? " -r -F" : " -x -a '", to);
                if (!is_file((enum option_id)i)) {
                    put_choices(to, (enum option_id)i);
                    fputs(takes_definition((enum option_id)i) ? " (__fish_complete_suffix .iso)'"
                                                              : "'",
                          to);
                }
            }
            fputs(" -d ", to);
            fish_text(to, x->help);
            fputc('\n', to);
        }
    fputs("complete -c ratel -f -n '__fish_seen_subcommand_from levels' -a '", to);
    put_names(to, level_name_at, "'\n");
    fputs("complete -c ratel -f -n __fish_use_subcommand -a help -d 'help on a command'\n"
          "complete -c ratel -f -n '__fish_seen_subcommand_from help' -a '",
          to);
    put_command_names(to);
    fputs("'\n", to);
}

bool print_completion(const char *shell, FILE *to)
{
    static const struct {
        const char *shell;
        void (*print)(FILE *to);
    } shells[] = {{"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (!strcmp(shells[i].shell, shell)) {
            shells[i].print(to);
            return true;
        }
    complain("--completion: \"%s\" is not one of bash, zsh, fish", shell);
    return false;
}
