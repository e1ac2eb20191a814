/*
 * api_look.c - a frozen history's transactions and operations, and a violation's, one by one.
 */
#include <stdio.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"

#include "api/api_internal.h"

/* A string in a buffer that ends with a 0: a 0 within it becomes the text \x00, and what does not
   fit is cut between two characters. */
static void put_string(const char *s, size_t n, char *buf, size_t cap)
{
    size_t used = 0;
    for (size_t k; n; s += k, n -= k) {
        k = utf8_length(s, n);
        if (!k) k = 1;
        size_t need = *s ? k : 4;
        if (used + need >= cap) break;
        memcpy(buf + used, *s ? s : "\\x00", need);
        used += need;
    }
    buf[used] = 0;
}

void api_put_atom(const history *m, atom a, char *buf, size_t cap)
{
    if (a.kind == ATOM_STR)
        put_string(atom_bytes(m, a), a.len, buf, cap);
    else if (a.kind == ATOM_UINT)
        snprintf(buf, cap, "%llu", (unsigned long long)a.as.u);
    else
        snprintf(buf, cap, "%lld", (long long)a.as.i);
}

static void look_at_times(const history *m, txn_id t, ratel_txn_info *out)
{
    unsigned f = m->txn_flags[t];
    if (f & TXN_HAS_TIMES) {
        out->begin = m->txn_times[4 * (size_t)t];
        out->end = m->txn_times[4 * (size_t)t + 3];
    } else if ((f & TXN_HAS_BEGIN) && (f & TXN_HAS_END)) {
        out->begin = m->txn_begin[t];
        out->end = m->txn_end[t];
    }
    out->timed = (f & TXN_HAS_TIMES) || ((f & TXN_HAS_BEGIN) && (f & TXN_HAS_END));
}

int ratel_history_txn_at(const ratel_history *h, size_t i, ratel_txn_info *out)
{
    if (!h || !out || !h->model->frozen || i >= h->model->txns) return RATEL_EINVAL;
    const history *m = h->model;
    atom a = label_atom(m, m->txn_label[i]);
    *out = (ratel_txn_info){.session = m->txn_session[i],
                            .status = (ratel_status)txn_status_of(m, (txn_id)i),
                            .first_op = m->txn_op[i],
                            .ops = m->txn_op[i + 1] - m->txn_op[i],
                            .line = txn_line_of(m, (txn_id)i)};
    look_at_times(m, (txn_id)i, out);
    api_put_atom(m, a, out->id, sizeof out->id);
    return RATEL_OK;
}

size_t ratel_history_txn_id(const ratel_history *h, size_t i, char *buf, size_t cap)
{
    char number[32];
    if (!h || !h->model->frozen || i >= h->model->txns || (!buf && cap)) return 0;
    const history *m = h->model;
    atom a = label_atom(m, m->txn_label[i]);
    const char *bytes = number;
    size_t n = a.len;
    if (a.kind == ATOM_STR) {
        bytes = atom_bytes(m, a);
    } else {
        api_put_atom(m, a, number, sizeof number);
        n = strlen(number);
    }
    if (cap) memcpy(buf, bytes, n < cap ? n : cap);
    return n;
}

int ratel_history_op_at(const ratel_history *h, size_t i, ratel_op_info *out)
{
    if (!h || !out || !h->model->frozen || i >= h->model->ops) return RATEL_EINVAL;
    const history *m = h->model;
    enum op_kind kind = op_kind_of(m, (op_id)i);
    *out = (ratel_op_info){.kind = "rwdasi"[kind], .key = m->op_key[i], .value = m->op_value[i]};
    out->failed = (m->op_kind[i] & OP_FAILED) != 0;
    for (const attr *a = op_attrs(m, (op_id)i); a && a < m->attrs.at + m->attrs.n && a->op == i;
         a++)
        if (a->kind == ATTR_CALL) {
            out->timed = 1;
            out->called = (int64_t)a->a;
        }
    out->known = out->value != VALUE_UNKNOWN;
    out->absent = kind == OP_READ && out->value == VALUE_NULL;
    if (kind == OP_READ || kind == OP_WRITE)
        out->initial = m->init_unknown ? -1 : m->key_init[out->key] == out->value;
    if (kind == OP_SCAN || kind == OP_ITER) {
        range_ranks(m, &m->ranges.at[m->op_key[i]], &out->rank, &out->rank_to);
        return RATEL_OK;
    }
    out->rank = m->key_rank ? m->key_rank[out->key] : out->key;
    out->before = m->key_init[out->key];
    out->had = m->init_unknown ? -1 : out->before != VALUE_NULL;
    return RATEL_OK;
}

int ratel_result_core_at(const ratel_result *a, size_t i, size_t *txn)
{
    if (!a || !txn || i >= a->v.core.n) return RATEL_EINVAL;
    *txn = a->v.core.at[i];
    return RATEL_OK;
}

int ratel_result_step_at(const ratel_result *a, size_t i, ratel_step *out)
{
    if (!a || !out || i >= a->v.cycle.n) return RATEL_EINVAL;
    const cycle_link *l = &a->v.cycle.at[i];
    *out = (ratel_step){.from = l->from, .to = l->to, .edge = l->edge};
    if (l->key != NO_ID) api_put_atom(a->v.h, key_atom(a->v.h, l->key), out->key, sizeof out->key);
    return RATEL_OK;
}
