/*
 * api_look.c - a frozen history's transactions and operations, one by one.
 */
#include <stdio.h>
#include <string.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"

#include "api/api_internal.h"

int ratel_history_txn_at(const ratel_history *h, size_t i, ratel_txn_info *out)
{
    if (!h || !out || !h->model->frozen || i >= h->model->txns) return RATEL_EINVAL;
    const history *m = h->model;
    atom a = label_atom(m, m->txn_label[i]);
    *out = (ratel_txn_info){.session = m->txn_session[i],
                            .status = (ratel_status)txn_status_of(m, (txn_id)i),
                            .first_op = m->txn_op[i],
                            .ops = m->txn_op[i + 1] - m->txn_op[i]};
    if (a.kind == ATOM_STR)
        snprintf(out->id, sizeof out->id, "%.*s", (int)(a.len < 63 ? a.len : 63), atom_bytes(m, a));
    else if (a.kind == ATOM_UINT)
        snprintf(out->id, sizeof out->id, "%llu", (unsigned long long)a.as.u);
    else
        snprintf(out->id, sizeof out->id, "%lld", (long long)a.as.i);
    return RATEL_OK;
}

int ratel_history_op_at(const ratel_history *h, size_t i, ratel_op_info *out)
{
    if (!h || !out || !h->model->frozen || i >= h->model->ops) return RATEL_EINVAL;
    const history *m = h->model;
    enum op_kind kind = op_kind_of(m, (op_id)i);
    *out = (ratel_op_info){.kind = "rwdasi"[kind], .key = m->op_key[i], .value = m->op_value[i]};
    out->failed = (m->op_kind[i] & OP_FAILED) != 0;
    out->known = out->value != VALUE_UNKNOWN;
    out->absent = kind == OP_READ && out->value == VALUE_NULL;
    if (kind == OP_READ || kind == OP_WRITE)
        out->initial = m->init_unknown ? -1 : m->key_init[out->key] == out->value;
    return RATEL_OK;
}
