/*
 * bind_locks.c - FOR UPDATE, NO KEY UPDATE, SHARE, KEY SHARE: which tables of a query they lock.
 *
 * The strengths differ in whom they keep waiting, which no answer shows; FOR KEY SHARE alone also
 * differs in what it reads.  NOWAIT only adds an error that may come at any time.
 */
#include "sql/bind.h"

#define CTX(b) (&(b)->x->c)

static bool is_locked(const PgQuery__LockingClause *l, const char *name)
{
    for (size_t i = 0; i < l->n_locked_rels; i++)
        if (!strcmp(l->locked_rels[i]->range_var->relname, name)) return true;
    return !l->n_locked_rels;
}

static void check_names(binder *b, const scope *s, const PgQuery__LockingClause *l)
{
    for (size_t i = 0; i < l->n_locked_rels; i++) {
        const PgQuery__RangeVar *r = l->locked_rels[i]->range_var;
        size_t k = 0;
        while (k < s->rels.n && strcmp(s->rels.at[k].name, r->relname) != 0) k++;
        if (k == s->rels.n)
            sql_raise(CTX(b), "42P01", "relation \"%s\" in FOR UPDATE clause not found",
                      r->relname);
    }
}

static bool has_slot(const join *j, uint32_t slot)
{
    if (j->kind == J_REL) return j->slot == slot;
    return has_slot(j->left, slot) || has_slot(j->right, slot);
}

/* The rows of the slot may be missing beside others. */
static bool may_be_missing(const join *j, uint32_t slot)
{
    if (j->kind == J_REL) return false;
    bool left = has_slot(j->left, slot);
    if (j->kind == J_FULL || (j->kind == J_LEFT && !left)) return true;
    return may_be_missing(left ? j->left : j->right, slot);
}

/* PostgreSQL refuses the side of an outer join whose rows may be missing, unless a condition makes
   an inner join of it. */
static void refuse_missing(binder *b, const query *q, const relation *r)
{
    const join *top = q->from;
    bool outer = top->kind == J_FULL || (top->kind == J_LEFT && has_slot(top->right, r->slot));
    if (!outer || q->where || !r->t)
        sql_refuse(CTX(b), -1, "FOR UPDATE of the side of an outer join whose rows may be missing");
    sql_raise(CTX(b), "0A000",
              "FOR UPDATE cannot be applied to the nullable side of an outer join");
}

static bool full_joins(const join *j)
{
    return j->kind == J_FULL || (j->kind != J_REL && (full_joins(j->left) || full_joins(j->right)));
}

/* A lock of the relation, or a stronger one than it has. */
static void add_lock(binder *b, query *q, const relation *r, const PgQuery__LockingClause *l)
{
    bool keys_only = l->strength == PG_QUERY__LOCK_CLAUSE_STRENGTH__LCS_FORKEYSHARE;
    if (may_be_missing(q->from, r->slot)) refuse_missing(b, q, r);
    if (!r->t) {
        bool names_none = !l->n_locked_rels;
        if (names_none && (r->sub->kept || r->sub->call || r->sub->series[0])) return;
        sql_refuse(CTX(b), -1, "FOR UPDATE of a subquery or view");
    }
    for (uint32_t i = 0; i < q->n_locks; i++)
        if (q->locks[i].slot == r->slot) {
            q->locks[i].keys_only &= keys_only;
            return;
        }
    q->locks[q->n_locks++] = (row_lock){r->slot, r->t, keys_only};
}

void bind_locks(binder *b, const scope *s, query *q, const PgQuery__SelectStmt *from)
{
    if (!from->n_locking_clause) return;
    if (!q->from) sql_refuse(CTX(b), -1, "FOR UPDATE without FROM");
    if (q->grouped || q->distinct || q->n_on || q->n_windows)
        sql_raise(CTX(b), "0A000", "FOR UPDATE is not allowed with this query");
    q->locking = true;
    q->locks = arena_array(b->mem, row_lock, s->rels.n + 1);
    for (size_t i = 0; i < from->n_locking_clause; i++) {
        const PgQuery__LockingClause *l = from->locking_clause[i]->locking_clause;
        check_names(b, s, l);
        q->skips |= l->wait_policy == PG_QUERY__LOCK_WAIT_POLICY__LockWaitSkip;
        for (size_t k = 0; k < s->rels.n; k++)
            if (is_locked(l, s->rels.at[k].name)) add_lock(b, q, &s->rels.at[k], l);
    }
    if (full_joins(q->from)) sql_refuse(CTX(b), -1, "FOR UPDATE beside a full join");
    if (q->skips && b->code) sql_refuse(CTX(b), -1, "SKIP LOCKED in a body");
    if (q->skips && from->limit_offset) sql_refuse(CTX(b), -1, "SKIP LOCKED with OFFSET");
}

void bind_unlocked(binder *b, const query *q, int position)
{
    if (q->skips)
        sql_refuse(CTX(b), position,
                   "SKIP LOCKED in a cursor, in FROM or with IN, where PostgreSQL may execute the "
                   "query more than once (WITH executes it once)");
}
