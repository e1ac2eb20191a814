/*
 * report_assumed.c - what an answer assumes, by which module and in its words.
 */
#include "history/additions.h"
#include "history/edits.h"
#include "report/report_assumed.h"

#define SHOWN_REASONS 8u

/* How many statements each module made. */
static size_t said_by(const additions *add, uint32_t module)
{
    size_t n = 0;
    for (size_t i = 0; i < add->at.n; i++) n += add->at.at[i].module == module;
    return n;
}

static void used_text(const verdict *v, const additions *add, strbuf *b)
{
    for (size_t i = 0; i < v->used.n && i < SHOWN_REASONS; i++) {
        const addition *said = &add->at.at[v->used.at[i]];
        strbuf_printf(b, "  assuming, by module %s: ", additions_name(add, said->module));
        const char *reason = additions_reason(add, v->used.at[i]);
        strbuf_visible(b, reason, strlen(reason));
        strbuf_char(b, '\n');
    }
    if (v->used.n > SHOWN_REASONS)
        strbuf_printf(b, "  assuming %zu more\n", v->used.n - SHOWN_REASONS);
}

void report_assumed_text(const verdict *v, strbuf *b)
{
    const additions *add = v->h ? v->h->assumed : NULL;
    const edits *changed = v->h ? v->h->edited : NULL;
    if (changed)
        strbuf_printf(b, "  assuming, by module %s: %zu operation%s changed\n", changed->module,
                      changed->at.n, changed->at.n == 1 ? "" : "s");
    if (!add || v->outcome == OUTCOME_UNDECIDED) return;
    if (!v->assumed) {
        strbuf_str(b, "  nothing that modules add is needed for this\n");
        return;
    }
    if (v->used.n) {
        used_text(v, add, b);
        return;
    }
    for (uint32_t i = 0; i < add->modules.n; i++)
        strbuf_printf(b, "  assuming, by module %s: %zu statement%s\n", additions_name(add, i),
                      said_by(add, i), said_by(add, i) == 1 ? "" : "s");
}

void report_assumed_json(json_writer *w, const verdict *v)
{
    const additions *add = v->h ? v->h->assumed : NULL;
    const edits *changed = v->h ? v->h->edited : NULL;
    if (!add && !changed) return;
    jw_member_object(w, "modules");
    if (changed) {
        jw_member_text(w, "map", changed->module);
        jw_member_u64(w, "changes", changed->at.n);
    }
    jw_member_bool(w, "assumed", v->assumed);
    jw_member_array(w, "added");
    for (uint32_t i = 0; add && i < add->modules.n; i++) {
        jw_object(w);
        jw_member_text(w, "module", additions_name(add, i));
        jw_member_u64(w, "statements", said_by(add, i));
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_member_array(w, "used");
    for (size_t i = 0; i < v->used.n; i++) {
        const addition *said = &add->at.at[v->used.at[i]];
        jw_object(w);
        jw_member_text(w, "module", additions_name(add, said->module));
        jw_member_text(w, "reason", additions_reason(add, v->used.at[i]));
        jw_end_object(w);
    }
    jw_end_array(w);
    jw_end_object(w);
}
