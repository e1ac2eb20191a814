/*
 * explain_iso.c - explain --level FILE.iso: why a history breaks a level that the user wrote.
 *
 * The history is shrunk to transactions none of which can be left out; on these, what the
 * definition asks for is narrowed down to demands none of which can be left out either, and told a
 * line each.  Then the verifier proves the violation of these few from the text of the definition,
 * with code that shares nothing with what decided.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/page_output.h"
#include "cli/synth_cli.h"

typedef struct told {
    args *a;
    const char *format; /* text, json, markdown, dot, svg or tikz */
    synth *s;
    int number;
    const char *given;
    FILE *out;
    ratel_history *part;
    ratel_shrunk shrunk;
    const char *verdict;
    char reason[512];
    const char *const *lines; /* demands that contradict each other */
    size_t n_lines;
    char checked[512]; /* what the verifier says of it; "": it proved it */
    text_kept text;    /* of the part, in our own format */
    uint64_t start;    /* of the command: --time counts from here */
} told;

static int judge_part(const ratel_history *h, void *payload)
{
    const told *t = payload;
    if (!time_left(t->a, t->s, t->start)) return 0;
    return decide_iso(t->a, t->s, t->number, h, NULL, 0) == EXIT_VIOLATED;
}

static int forget_written(const void *buf, size_t n, void *payload)
{
    (void)buf, (void)n, (void)payload;
    return 0;
}

/* The violation of the part, proved from the definition's text. */
static void check_part(told *t)
{
    const char *name;
    size_t n;
    int status;
    ratel_verdict v;
    char *text = level_text(t->given, &n, &name, &status);
    if (!text) {
        snprintf(t->checked, sizeof t->checked, "the definition cannot be read again");
        return;
    }
    int code =
        ratel_certify_definition(&v, t->a->context, t->part, text, n, name, forget_written, NULL);
    if (code)
        snprintf(t->checked, sizeof t->checked, "%.500s", ratel_errmsg(t->a->context));
    else if (v != RATEL_VIOLATED)
        snprintf(t->checked, sizeof t->checked, "internal error: the verifier says that it holds");
    free(text);
}

/* --- words ------------------------------------------------------------------------------------ */

/* The key of the operation that begins at *p, which is moved behind it; NULL: there is none. */
static const char *next_key(const char **p, size_t *n)
{
    const char *s = strstr(*p, "[\"");
    if (!s || !(s = strchr(s + 2, ','))) return NULL;
    const char *from = ++s;
    if (*s == '"')
        for (s++; *s && *s != '"'; s++) s += *s == '\\' && s[1];
    while (*s && *s != ',' && *s != ']') s++;
    *n = (size_t)(s - from);
    *p = s;
    return from;
}

/* Does a demand speak of the key of that name? */
static bool is_mentioned(const told *t, const char *name)
{
    size_t n = strlen(name);
    for (size_t i = 0; i < t->n_lines; i++)
        for (const char *p = t->lines[i]; (p = strstr(p, name)); p += n) {
            bool word = p == t->lines[i] || strchr(" [(,", p[-1]);
            if (word && (!p[n] || strchr(" ])(,:", p[n]))) return true;
        }
    return false;
}

/* The keys as the demands name them: x, y, ... in the order in which they come. */
static void keys_text(const told *t, strbuf *b)
{
    uint32_t known[64], n = 0;
    ratel_txn_info txn;
    ratel_op_info o;
    const char *line = strchr(t->text.at, '\n');
    for (size_t i = 0; line && n < 64 && !ratel_history_txn_at(t->part, i, &txn); i++) {
        const char *p = strstr(line + 1, "\"ops\":[");
        line = strchr(line + 1, '\n');
        for (size_t k = 0; p && k < txn.ops && n < 64; k++) {
            size_t length = 0;
            const char *key = next_key(&p, &length);
            ratel_history_op_at(t->part, txn.first_op + k, &o);
            bool counts = !o.failed && txn.status != RATEL_ABORTED;
            for (uint32_t j = 0; j < n; j++) counts = counts && known[j] != o.key;
            if (!key || !counts) continue;
            char name[24], copy[200];
            known[n] = o.key;
            synth_key_name(n++, name, sizeof name);
            if (!is_mentioned(t, name)) continue;
            snprintf(copy, sizeof copy, "%.*s", (int)(length < 190 ? length : 190), key);
            strbuf_printf(b, "  %s is the key ", name);
            strbuf_visible(b, copy, strlen(copy));
            strbuf_char(b, '\n');
        }
    }
}

static void render_keys(strbuf *b, void *what)
{
    keys_text(what, b);
}

/* One transaction a line, as it stands in the input; those that may count are numbered. */
static void tell_transactions(const told *t)
{
    ratel_txn_info txn;
    const char *line = strchr(t->text.at, '\n'); /* after the header */
    unsigned number = 0;
    for (size_t i = 0; line && line[1] && !ratel_history_txn_at(t->part, i, &txn); i++) {
        const char *from = line + 1, *end = strchr(from, '\n');
        size_t n = end ? (size_t)(end - from) : strlen(from);
        char *copy = malloc(n + 1);
        if (!copy) return;
        memcpy(copy, from, n);
        copy[n] = 0;
        if (txn.status == RATEL_ABORTED)
            fputs("  (aborted) ", t->out);
        else
            fprintf(t->out, "  t%u = ", ++number);
        visible_to(t->out, copy);
        fputc('\n', t->out);
        free(copy);
        line = end;
    }
}

static void tell_text(told *t, const char *history)
{
    FILE *f = t->out;
    visible_to(f, history);
    fprintf(f, ": %s (", synth_level_name(t->s, t->number));
    visible_to(f, t->given);
    fprintf(f, "): violated\nFound: %s.\n\nThese transactions show it", t->reason);
    fputs(t->shrunk.minimal ? "; without any one of them, the others satisfy the level:\n" : ":\n",
          f);
    tell_transactions(t);
    if (t->n_lines) {
        fputs("\nThe definition requires all of this, and no order (and no visibility) of these "
              "transactions satisfies all of it:\n",
              f);
        for (size_t i = 0; i < t->n_lines; i++) {
            fputs("  ", f);
            visible_to(f, t->lines[i]);
            fputc('\n', f);
        }
        render(f, render_keys, t);
    } else {
        fputs(
            "\nWhatever outcomes and sources of reads are chosen, no order (and no visibility) of "
            "these transactions satisfies the definition.\n",
            f);
    }
    if (*t->checked)
        fprintf(f, "\nNot checked again: no certificate, because %s.\n", t->checked);
    else
        fputs("\nChecked again: the verifier proved the violation of these transactions from the "
              "text of the definition.\n",
              f);
}

/* --- other forms ------------------------------------------------------------------------------ */

/* Code of a list or a paragraph: backquotes end it, so none may be left in it. */
static void code_to(FILE *f, const char *text, size_t n)
{
    strbuf b;
    mem m;
    guard g;
    guard_init(&g);
    mem_init(&m, mem_libc, NULL, &g);
    if (!guard_armed(&g)) {
        strbuf_init(&b, &m);
        strbuf_visible(&b, text, n);
        for (size_t i = 0; i < b.n; i++)
            if (b.at[i] == '`') b.at[i] = '\'';
        fprintf(f, "`%.*s`", (int)b.n, b.n ? b.at : "");
    }
    mem_free_all(&m);
}

static void markdown_transactions(const told *t)
{
    ratel_txn_info txn;
    const char *line = strchr(t->text.at, '\n'); /* after the header */
    unsigned number = 0;
    for (size_t i = 0; line && line[1] && !ratel_history_txn_at(t->part, i, &txn); i++) {
        const char *from = line + 1, *end = strchr(from, '\n');
        if (txn.status == RATEL_ABORTED)
            fputs("- (aborted) ", t->out);
        else
            fprintf(t->out, "- t%u = ", ++number);
        code_to(t->out, from, end ? (size_t)(end - from) : strlen(from));
        fputc('\n', t->out);
        line = end;
    }
}

static void tell_markdown(told *t, const char *history)
{
    FILE *f = t->out;
    fputs("### ", f);
    code_to(f, history, strlen(history));
    fprintf(f, ": %s, as ", synth_level_name(t->s, t->number));
    code_to(f, t->given, strlen(t->given));
    fprintf(f, " defines it: %s\n\nFound: ", t->verdict);
    code_to(f, t->reason, strlen(t->reason));
    fputs(".\n", f);
    if (!t->part) return;
    fputs("\n**These transactions show it**", f);
    fputs(t->shrunk.minimal ? "; without any one of them, the others satisfy the level:\n\n"
                            : ":\n\n",
          f);
    markdown_transactions(t);
    if (t->n_lines)
        fputs(
            "\n**The definition requires all of this**, and no order (and no visibility) of these "
            "transactions satisfies all of it:\n\n",
            f);
    for (size_t i = 0; i < t->n_lines; i++) {
        fputs("- ", f);
        code_to(f, t->lines[i], strlen(t->lines[i]));
        fputc('\n', f);
    }
    fputs(*t->checked ? "\nNot checked again: "
                      : "\nChecked again: the verifier proved the violation of "
                        "these transactions from the text of the definition.\n",
          f);
    if (!*t->checked) return;
    code_to(f, t->checked, strlen(t->checked));
    fputs(".\n", f);
}

/* The transactions with session order and reads: of any answer about them (read-uncommitted costs
   least). */
static int draw_scene(const told *t, const ratel_history *h, const char *history)
{
    ratel *r = t->a->context;
    ratel_result *any = NULL;
    ratel_explanation *e = NULL;
    char title[1024], format[16];
    ratel_telling with = {.history = title};
    snprintf(format, sizeof format, "scene-%s", t->format);
    snprintf(title, sizeof title, "%.400s: %.100s (%.300s) %s", history,
             synth_level_name(t->s, t->number), t->given, t->verdict);
    ratel_set(r, "time", 0);
    int code = ratel_check(&any, r, t->part ? t->part : h, "read-uncommitted");
    if (!code) code = ratel_explain(&e, r, t->part ? t->part : h, any);
    if (!code) code = ratel_explanation_write(e, r, format, &with, write_file_cb, t->out);
    ratel_explanation_free(e);
    ratel_result_free(any);
    return code ? complain_about(r, history, code) : 0;
}

/* Whole ids, which may hold any byte. */
static void ids_json(json_writer *w, const ratel_history *h)
{
    char some[256], *id;
    for (size_t i = 0, n; (n = ratel_history_txn_id(h, i, NULL, 0)) > 0; i++) {
        id = n <= sizeof some ? some : malloc(n);
        if (!id) return;
        ratel_history_txn_id(h, i, id, n);
        jw_bytes(w, id, n);
        if (id != some) free(id);
    }
}

/* The object of --json, which a page holds too. */
static void write_definition(json_writer *w, const told *t, const char *history)
{
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "history", history);
    jw_member_text(w, "definition", synth_level_name(t->s, t->number));
    jw_member_text(w, "given", t->given);
    jw_member_text(w, "verdict", t->verdict);
    jw_member_text(w, "reason", t->reason);
    if (t->part) {
        jw_member_array(w, "core");
        ids_json(w, t->part);
        jw_end_array(w);
        jw_member_bool(w, "minimal", t->shrunk.minimal);
        jw_member_array(w, "demands");
        for (size_t i = 0; i < t->n_lines; i++) jw_text(w, t->lines[i]);
        jw_end_array(w);
        jw_member_bool(w, "checked", !*t->checked);
        if (*t->checked) jw_member_text(w, "not_checked", t->checked);
    }
    jw_end_object(w);
}

static void tell_json(const told *t, const char *history)
{
    json_writer to = json_file(t->out), *w = &to;
    write_definition(w, t, history);
    jw_end_line(w);
}

/* Holds, or undecided: a sentence. */
static void tell_plain(const told *t, const char *history)
{
    visible_to(t->out, history);
    fprintf(t->out, ": %s (", synth_level_name(t->s, t->number));
    visible_to(t->out, t->given);
    fprintf(t->out, "): %s\nFound: %s.\n", t->verdict, t->reason);
}

/* --- the page --------------------------------------------------------------------------------- */

typedef struct iso_page {
    const told *t;
    const char *history;
    const ratel_history *shown; /* whose transactions are drawn */
    ratel_stat whole;           /* of the history that was asked about */
    text_kept scene;
} iso_page;

static void visible_member(json_writer *w, strbuf *text, const char *name, const char *s)
{
    strbuf_visible(text, s, strlen(s));
    jw_name(w, name);
    jw_bytes(w, text->n ? text->at : "", text->n);
    text->n = 0;
}

/* What the demands call the transactions and the keys. */
static void names_json(json_writer *w, const told *t, strbuf *text)
{
    char line[96];
    unsigned number = 0;
    ratel_txn_info txn;
    jw_object(w);
    jw_member_text(w, "title", "Their names");
    jw_member_array(w, "list");
    for (size_t i = 0; !ratel_history_txn_at(t->part, i, &txn); i++) {
        if (txn.status == RATEL_ABORTED) continue;
        snprintf(line, sizeof line, "t%u is the transaction %s", ++number, txn.id);
        jw_text(w, line);
    }
    keys_text(t, text);
    for (size_t at = 0, k; at < text->n; at += k + 1) {
        const char *end = memchr(text->at + at, '\n', text->n - at);
        k = end ? (size_t)(end - text->at) - at : text->n - at;
        jw_bytes(w, text->at + at + 2, k > 2 ? k - 2 : 0); /* without its indent */
    }
    text->n = 0;
    jw_end_array(w);
    jw_end_object(w);
}

static void paragraphs_json(json_writer *w, const told *t, strbuf *text)
{
    jw_member_array(w, "paragraphs");
    if (t->n_lines) {
        jw_object(w);
        jw_member_text(w, "title",
                       "The definition requires all of this, and no order satisfies all of it");
        jw_member_array(w, "list");
        for (size_t i = 0; i < t->n_lines; i++) jw_text(w, t->lines[i]);
        jw_end_array(w);
        jw_end_object(w);
    }
    if (t->n_lines) names_json(w, t, text);
    if (t->part) {
        jw_object(w);
        jw_member_text(w, "title", "The transactions");
        jw_member_text(
            w, "text",
            t->shrunk.minimal
                ? "Without any one of the transactions shown, the others satisfy the level."
                : "The transactions shown violate the level; some of them may be unnecessary.");
        jw_end_object(w);
        jw_object(w);
        jw_member_text(w, "title", *t->checked ? "Not checked again" : "Checked again");
        jw_member_text(w, "text",
                       *t->checked ? t->checked
                                   : "The verifier proved the violation of these transactions "
                                     "from the text of the definition.");
        jw_end_object(w);
    }
    jw_end_array(w);
}

static void reproduce_json(json_writer *w, strbuf *text, const iso_page *x)
{
    static const char *const words[] = {"explain", "check"};
    jw_member_array(w, "reproduce");
    for (size_t i = 0; i < 2; i++) {
        strbuf_printf(text, "ratel %s --level ", words[i]);
        strbuf_shell_path(text, x->t->given);
        strbuf_char(text, ' ');
        strbuf_shell_path(text, x->history);
        jw_bytes(w, text->at, text->n);
        text->n = 0;
    }
    jw_end_array(w);
}

static void render_iso_entry(strbuf *b, void *what)
{
    const iso_page *x = what;
    const told *t = x->t;
    const char *name = synth_level_name(t->s, t->number);
    json_writer to = jw_strbuf(b), *w = &to;
    strbuf text;
    strbuf_init(&text, b->mem);
    jw_object(w);
    jw_member_text(w, "verdict", t->verdict);
    strbuf_visible(&text, x->history, strlen(x->history));
    strbuf_printf(&text, ": %s, as ", name);
    strbuf_visible(&text, t->given, strlen(t->given));
    strbuf_printf(&text, " defines it, %s%s: %s.", strcmp(t->verdict, "holds") ? "is " : "",
                  t->verdict, t->reason);
    jw_name(w, "sentence");
    jw_bytes(w, text.at, text.n);
    text.n = 0;
    visible_member(w, &text, "source", x->history);
    jw_member_text(w, "level", name);
    jw_name(w, "explanation");
    write_definition(w, t, x->history);
    paragraphs_json(w, t, &text);
    if (x->scene.n > 3) jw_raw(w, x->scene.at + 1, x->scene.n - 3); /* without braces */
    jw_member_object(w, "counts");
    jw_member_u64(w, "committed", x->whole.txns);
    jw_member_u64(w, "operations", x->whole.ops);
    jw_member_u64(w, "sessions", x->whole.sessions);
    jw_member_u64(w, "keys", x->whole.keys);
    jw_end_object(w);
    reproduce_json(w, &text, x);
    jw_end_object(w);
}

/* The transactions are drawn as of any answer about them: read-uncommitted, which costs least. */
static void page_add_iso(const told *t, const ratel_history *h, const char *history)
{
    ratel *r = t->a->context;
    ratel_result *any = NULL;
    ratel_explanation *e = NULL;
    iso_page x = {.t = t, .history = history, .shown = t->part ? t->part : h};
    if (!t->a->page) return;
    ratel_set(r, "time", 0);
    if (ratel_history_stat(&x.whole, r, h) || ratel_check(&any, r, x.shown, "read-uncommitted") ||
        ratel_explain(&e, r, x.shown, any) ||
        ratel_explanation_write(e, r, "page-scene", NULL, keep_text, &x.scene))
        t->a->page->failed = true;
    else
        page_add_rendered(t->a, render_iso_entry, &x);
    free(x.scene.at);
    ratel_explanation_free(e);
    ratel_result_free(any);
}

/* --- the command ------------------------------------------------------------------------------ */

/* In the form that was asked for; the exit status. */
static int tell_formed(told *t, const ratel_history *h, const char *history, int status)
{
    int failed = 0;
    if (!strcmp(t->format, "json"))
        tell_json(t, history);
    else if (!strcmp(t->format, "markdown"))
        tell_markdown(t, history);
    else if (strcmp(t->format, "text") != 0)
        failed = draw_scene(t, h, history);
    else if (t->part)
        tell_text(t, history);
    else
        tell_plain(t, history);
    return failed ? failed : status;
}

static int explain_part(told *t, const ratel_history *h, const char *history)
{
    ratel *r = t->a->context;
    int code = ratel_shrink_by(&t->part, r, h, judge_part, t, &t->shrunk);
    if (!code) code = ratel_history_write(t->part, r, "ratel", keep_text, &t->text);
    if (code) return complain_about(r, history, code);
    if (why_iso(t->a, t->s, t->number, t->part, &t->lines, &t->n_lines)) t->n_lines = 0;
    check_part(t);
    page_add_iso(t, h, history);
    t->out = open_output(t->a);
    if (!t->out) return EXIT_IO;
    return close_output(t->a, t->out, tell_formed(t, h, history, EXIT_VIOLATED));
}

int explain_iso(args *a, synth *s, int level, const char *given, const char *history,
                const char *format)
{
    told t = {.a = a, .format = format, .s = s, .number = level, .given = given, .start = now()};
    const char *aborted = a->value[O_ABORTED_READS];
    if (aborted && !strcmp(aborted, "reads")) {
        complain("explain: --aborted reads is for built-in levels; check decides %s with it",
                 given);
        return EXIT_USAGE;
    }
    ratel_history *h;
    int code = read_history(a, history, &h), status = EXIT_UNDECIDED;
    if (a->shown) history = a->shown;
    if (code) return complain_about(a->context, history, code);
    snprintf(t.reason, sizeof t.reason, "the time limit ended it");
    if (time_left(a, s, t.start)) status = decide_iso(a, s, level, h, t.reason, sizeof t.reason);
    limit_rest(a, t.start);
    t.verdict = status == EXIT_VIOLATED ? "violated" : status == EXIT_HOLDS ? "holds" : "undecided";
    if (status == EXIT_VIOLATED) {
        status = explain_part(&t, h, history);
    } else if (!(t.out = open_output(a))) {
        status = EXIT_IO;
    } else {
        page_add_iso(&t, h, history);
        status = close_output(a, t.out, tell_formed(&t, h, history, status));
    }
    free(t.text.at);
    ratel_history_free(t.part);
    ratel_history_free(h);
    return status;
}
