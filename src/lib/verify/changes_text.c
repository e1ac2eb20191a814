/*
 * changes_text.c - how a module changed operations (history/edits.h), in the head of a certificate:
 *
 *     changes N "module"
 *     drop T I | absent T I | absent-row T I ROW | split T I | early T I
 *
 * T and I name operations of the history as it was recorded.  Whoever verifies the certificate
 * applies them to that history; the module is not needed for it.
 */
#include "verify/changes_text.h"

static const char *const words[] = {[EDIT_DROP] = "drop",
                                    [EDIT_ABSENT] = "absent",
                                    [EDIT_ROW_ABSENT] = "absent-row",
                                    [EDIT_SPLIT] = "split",
                                    [EDIT_EARLY] = "early"};

void changes_write(strbuf *b, const history *h, const edits *e)
{
    strbuf_printf(b, "changes %zu \"%s\"\n", e->at.n, e->module);
    for (size_t i = 0; i < e->at.n; i++) {
        const edit *x = &e->at.at[i];
        txn_id t = txn_of_op(h, x->op);
        strbuf_printf(b, "%s ", words[x->kind]);
        certificate_txn(b, h, t);
        strbuf_printf(b, " %u", x->op - h->txn_op[t]);
        if (x->kind == EDIT_ROW_ABSENT) strbuf_printf(b, " %u", x->row);
        strbuf_char(b, '\n');
        guard_tick(b->mem->guard);
    }
}

static edit read_change(parser *p, const history *h)
{
    const char *s, *at;
    size_t n;
    edit x = {.kind = EDIT_DROP};
    parse_need(p, "a change", &s, &n);
    while (x.kind <= EDIT_EARLY && !parse_is(s, n, words[x.kind])) x.kind++;
    if (x.kind > EDIT_EARLY) parse_fail(p, s, "no change has that name");
    txn_id t = parse_txn_word(p, false);
    at = p->now;
    uint64_t i = parse_u64(p, "the number of an operation");
    if (i >= h->txn_op[t + 1] - h->txn_op[t])
        parse_fail(p, at, "the transaction has no such operation");
    x.op = h->txn_op[t] + (op_id)i;
    if (x.kind == EDIT_ROW_ABSENT) {
        at = p->now;
        uint64_t row = parse_u64(p, "the number of a row");
        if (row >= UINT32_MAX) parse_fail(p, at, "there is no such row");
        x.row = (uint32_t)row;
    }
    parse_no_more(p);
    return x;
}

void changes_read(parser *p, const history *h, edits *out, mem *m)
{
    const char *s;
    size_t n;
    uint64_t lines = parse_u64(p, "a number of changes");
    parse_need(p, "the name of a module", &s, &n);
    if (n < 3 || n > 80 || *s != '"' || s[n - 1] != '"' || memchr(s + 1, '"', n - 2))
        parse_fail(p, s, "the name of a module in quotes expected");
    parse_no_more(p);
    char *name = mem_zeroed(m, n);
    memcpy(name, s + 1, n - 2);
    out->module = name;
    for (uint64_t i = 0; i < lines; i++) {
        if (!parse_line(p))
            guard_fail(p->guard, GUARD_PARSE, "a change expected: the certificate is cut off");
        edit x = read_change(p, h);
        vec_push(m, &out->at, x);
    }
    const char *wrong = edits_check(out, h);
    if (wrong) parse_fail(p, p->begin, "the changes have %s", wrong);
}
