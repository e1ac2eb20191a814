/*
 * bind_open.c - calls that give what only the server knows: sequences, clocks, random numbers, who
 * and where the session is, advisory locks.
 */
#include "sql/bind.h"

#define CTX(b) (&(b)->x->c)

/* Nobody but the server knows what these give; times with a zone are taken as plain ones. */
static const struct {
    const char *name;
    size_t most;
    type_id t;
    int op;
} open_calls[] = {
    {"nextval", 1, T_INT8, OPEN_OTHER},
    {"currval", 1, T_INT8, OPEN_OTHER},
    {"lastval", 0, T_INT8, OPEN_OTHER},
    {"now", 0, T_STAMP, OPEN_CLOCK},
    {"transaction_timestamp", 0, T_STAMP, OPEN_CLOCK},
    {"statement_timestamp", 0, T_STAMP, OPEN_CLOCK},
    {"clock_timestamp", 0, T_STAMP, OPEN_CLOCK},
    {"random", 0, T_NUMERIC, OPEN_UNIT},
    {"gen_random_uuid", 0, T_UUID, OPEN_OTHER},
    {"pg_backend_pid", 0, T_INT4, OPEN_ABOVE_ZERO},
    {"txid_current", 0, T_INT8, OPEN_ABOVE_ZERO},
    {"version", 0, T_TEXT, OPEN_OTHER},
    {"current_database", 0, T_TEXT, OPEN_OTHER},
    {"current_schema", 0, T_TEXT, OPEN_OTHER},
    {"current_setting", 2, T_TEXT, OPEN_OTHER},
    {"set_config", 3, T_TEXT, OPEN_OTHER},
    {"pg_sleep", 1, T_VOID, OPEN_OTHER},
    {"pg_notify", 2, T_VOID, OPEN_OTHER},
    {"pg_advisory_lock", 2, T_VOID, OPEN_OTHER},
    {"pg_advisory_xact_lock", 2, T_VOID, OPEN_OTHER},
    {"pg_advisory_lock_shared", 2, T_VOID, OPEN_OTHER},
    {"pg_advisory_xact_lock_shared", 2, T_VOID, OPEN_OTHER},
    {"pg_advisory_unlock_all", 0, T_VOID, OPEN_OTHER},
    {"pg_advisory_unlock", 2, T_BOOL, OPEN_OTHER},
    {"pg_advisory_unlock_shared", 2, T_BOOL, OPEN_OTHER},
    {"pg_try_advisory_lock", 2, T_BOOL, OPEN_OTHER},
    {"pg_try_advisory_xact_lock", 2, T_BOOL, OPEN_OTHER},
    {"pg_try_advisory_lock_shared", 2, T_BOOL, OPEN_OTHER},
    {"pg_try_advisory_xact_lock_shared", 2, T_BOOL, OPEN_OTHER},
};

/* The number of the sequence that nextval names by a plain constant; 0: who knows. */
static uint32_t sequence_of(binder *b, const PgQuery__FuncCall *f)
{
    const node *n = f->n_args == 1 ? f->args[0] : NULL;
    if (n && n->node_case == PG_QUERY__NODE__NODE_TYPE_CAST) n = n->type_cast->arg;
    if (!n || n->node_case != PG_QUERY__NODE__NODE_A_CONST ||
        n->a_const->val_case != PG_QUERY__A__CONST__VAL_SVAL)
        return 0;
    const char *name = n->a_const->sval->sval;
    if (!strncmp(name, "public.", 7)) name += 7;
    for (const char *c = name; *c; c++)
        if (*c == '"' || *c == '.' || (*c >= 'A' && *c <= 'Z')) return 0;
    return *name ? vs_sequence(b->x->s, name) : 0;
}

expr *bind_open_call(binder *b, const PgQuery__FuncCall *f, const char *name)
{
    for (size_t i = 0; i < sizeof open_calls / sizeof open_calls[0]; i++) {
        if (strcmp(name, open_calls[i].name) != 0 || f->n_args > open_calls[i].most) continue;
        expr *e = expr_new(b, E_OPEN, type_plain(open_calls[i].t), f->location, 0);
        e->op = open_calls[i].op;
        if (!strcmp(name, "current_setting") && f->n_args > 1) b->x->s->null_settings = true;
        if (!strcmp(name, "nextval")) e->index = sequence_of(b, f);
        return e;
    }
    return NULL;
}

expr *bind_current(binder *b, const PgQuery__SQLValueFunction *f)
{
    type_id t = T_UNKNOWN;
    switch (f->op) {
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_DATE: t = T_DATE; break;
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIMESTAMP_N:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIMESTAMP_N: t = T_STAMP; break;
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIME:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_CURRENT_TIME_N:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIME:
    case PG_QUERY__SQLVALUE_FUNCTION_OP__SVFOP_LOCALTIME_N:
        sql_refuse(CTX(b), f->location, "the current time of day");
    default: t = T_TEXT; /* who, and where: whatever the log shows */
    }
    expr *e = expr_new(b, E_OPEN, type_plain(t), f->location, 0);
    if (type_is_moment(t)) e->op = OPEN_CLOCK;
    return e;
}
