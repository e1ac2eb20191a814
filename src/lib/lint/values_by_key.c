/*
 * values_by_key.c - writes and read results of a history, grouped by key.
 *
 * Two counting sorts, 8 bytes a write or result: values stand beside their operations, since a look
 * at the history for each would miss the cache.  One key at a time then gets a table from
 * value to first write, small enough for the cache (as in asg.c).
 */
#include "base/map.h"
#include "lint/lint_internal.h"

static bool is_write(unsigned kind)
{
    kind &= OP_KIND_MASK | OP_FAILED;
    return kind == OP_WRITE || kind == OP_APPEND;
}

/* Calls `CALL(op)` for every write of a transaction whose outcome is asked for. */
#define EACH_WRITE(h, outcomes, CALL)                                                              \
    for (size_t t_ = 0; t_ < (h)->txns; t_++) {                                                    \
        if (!((outcomes) >> txn_status_of((h), (txn_id)t_) & 1)) continue;                         \
        for (op_id o_ = (h)->txn_op[t_]; o_ < (h)->txn_op[t_ + 1]; o_++)                           \
            if (is_write((h)->op_kind[o_])) CALL(o_);                                              \
    }

/* Calls `CALL(key, value, op)` for every result that transactions of any outcome but abort have. */
#define EACH_RESULT(h, CALL)                                                                       \
    for (size_t t_ = 0; t_ < (h)->txns; t_++) {                                                    \
        if (txn_status_of((h), (txn_id)t_) == TXN_ABORTED) continue;                               \
        for (op_id o_ = (h)->txn_op[t_]; o_ < (h)->txn_op[t_ + 1]; o_++) {                         \
            unsigned kind_ = (h)->op_kind[o_] & OP_KIND_MASK;                                      \
            if ((h)->op_kind[o_] & OP_FAILED) continue;                                            \
            if (kind_ == OP_READ) CALL((h)->op_key[o_], (h)->op_value[o_], o_);                    \
            if (kind_ < OP_SCAN) continue;                                                         \
            const range *r_ = &(h)->ranges.at[(h)->op_key[o_]];                                    \
            for (uint32_t i_ = r_->first_row; i_ < r_->first_row + r_->rows; i_++)                 \
                CALL((h)->row_key.at[i_], (h)->row_value.at[i_], o_);                              \
        }                                                                                          \
    }

void versions_build(versions *v, const history *h, mem *m, unsigned outcomes)
{
    size_t keys = history_keys(h);
    memset(v, 0, sizeof *v);
    v->h = h;
    v->m = m;
    v->write_first = mem_array0(m, uint32_t, keys + 2);
    v->read_first = mem_array0(m, uint64_t, keys + 2);
#define COUNT(op) v->write_first[h->op_key[op] + 2]++
    EACH_WRITE(h, outcomes, COUNT)
#undef COUNT
#define COUNT(key, value, op) v->read_first[(key) + 2]++
    EACH_RESULT(h, COUNT)
#undef COUNT
    for (size_t k = 2; k < keys + 2; k++) {
        v->write_first[k] += v->write_first[k - 1];
        v->read_first[k] += v->read_first[k - 1];
    }
    guard_tick(m->guard);
    v->write = mem_array(m, seen, (size_t)v->write_first[keys + 1] + 1);
    v->read = mem_array(m, seen, (size_t)v->read_first[keys + 1] + 1);
#define PLACE(op) v->write[v->write_first[h->op_key[op] + 1]++] = (seen){h->op_value[op], (op)}
    EACH_WRITE(h, outcomes, PLACE)
#undef PLACE
#define PLACE(key, value, op) v->read[v->read_first[(key) + 1]++] = (seen){(value), (op)}
    EACH_RESULT(h, PLACE)
#undef PLACE
}

void versions_open(versions *v, key_id k)
{
    uint32_t first = v->write_first[k], last = v->write_first[k + 1];
    id_map_restart(v->m, &v->first_write, last - first);
    for (uint32_t i = first; i < last; i++) {
        uint32_t *known = id_map_at(v->m, &v->first_write, v->write[i].value);
        if (*known == MAP_NONE) *known = i;
    }
    guard_tick(v->m->guard);
}

uint32_t versions_find(const versions *v, value_id x)
{
    return id_map_get(&v->first_write, x);
}

void versions_free(versions *v)
{
    mem_put(v->m, v->write_first);
    mem_put(v->m, v->write);
    mem_put(v->m, v->read_first);
    mem_put(v->m, v->read);
    id_map_free(v->m, &v->first_write);
}
