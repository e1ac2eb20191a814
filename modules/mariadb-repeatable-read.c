/* mariadb-repeatable-read.c - InnoDB's repeatable read by parts of transactions, for --level
   repeatable-read --session-order off: plain reads are one part, which comes first, and every write
   or locking read is a part of its own.  Read-committed of the whole transactions is asked apart,
   without the module: the two together are innodb-repeatable-read. */
#include <stdlib.h>

#include "ratel-module.h"

static uint32_t *parts; /* of each transaction, from map to extend: both run in one process */

static int is_write(const ratel_module_op *op)
{
    return op->kind == RATEL_OP_WRITE || op->kind == RATEL_OP_DELETE || op->kind == RATEL_OP_APPEND;
}

/* Did the transaction write the key between two of its operations? */
static int wrote(const ratel_module_host *host, ratel_module_call *c, uint32_t from, uint32_t to,
                 uint32_t key)
{
    ratel_module_op op;
    for (uint32_t o = from; o < to; o++)
        if (host->op(c, o, &op) && is_write(&op) && !(op.flags & RATEL_FLAG_FAILED) &&
            (key == RATEL_NO_NUMBER || op.key == key))
            return 1;
    return 0;
}

static const char *map_txn(const ratel_module_host *host, ratel_module_call *c, uint32_t t)
{
    ratel_module_txn x;
    ratel_module_op op;
    host->txn(c, t, &x);
    uint32_t end = x.first_op + x.ops;
    parts[t] = 1;
    if (x.status == RATEL_ABORTED_TXN) return NULL;
    for (uint32_t o = x.first_op; o < end; o++) {
        host->op(c, o, &op);
        int current = is_write(&op) || op.flags & RATEL_FLAG_LOCKS;
        int own = !is_write(&op) && wrote(host, c, x.first_op, o, op.key);
        if (op.flags & RATEL_FLAG_FAILED) continue;
        if (op.kind == RATEL_OP_APPEND) return "lists are not taken";
        if (op.key == RATEL_NO_NUMBER && own) return "scans after own writes are not taken";
        if (x.status == RATEL_UNKNOWN_TXN && current) return "unknown outcomes are not taken";
        if (current) {
            host->split(c, o);
            parts[t]++;
        }
        if (own || (is_write(&op) && wrote(host, c, o + 1, end, op.key)))
            host->drop(c, o); /* explained by an own write, or overwritten by one */
        else if (!current)
            host->early(c, o);
    }
    return NULL;
}

static int map(const ratel_module *self, const ratel_module_host *host, ratel_module_call *c)
{
    (void)self;
    free(parts);
    parts = calloc((size_t)host->txns(c) + 1, sizeof *parts);
    if (!parts) host->refuse(c, "out of memory");
    for (uint32_t t = 0; parts && t < host->txns(c); t++) {
        const char *why = map_txn(host, c, t);
        if (why) host->refuse(c, why);
        if (host->poll(c)) return 1;
    }
    return 0;
}

static int extend(const ratel_module *self, const ratel_module_host *host, ratel_module_call *c)
{
    (void)self;
    for (uint32_t t = 0, whole = 0; t < host->txns(c); whole++) {
        for (uint32_t end = t++ + parts[whole]; t < end; t++) {
            ratel_module_edge e = {t - 1, t, RATEL_COMMIT, RATEL_COMMIT, RATEL_ORDERS};
            host->add(c, &e, 1, "the statements of a transaction follow each other");
        }
        if (host->poll(c)) return 1;
    }
    return 0;
}

const ratel_module *ratel_module_entry(void)
{
    static const ratel_module module = {RATEL_MODULE_ABI,
                                        sizeof module,
                                        "mariadb-repeatable-read",
                                        "parts of transactions, as InnoDB runs them",
                                        map,
                                        extend,
                                        NULL};
    return &module;
}
