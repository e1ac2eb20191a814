/*
 * bind_utility.c - statements that neither read nor write rows as far as an answer shows.
 *
 * They are taken so that they do not end an audit: settings of the planner, maintenance, comments,
 * rights, notifications.  A setting that changes what a statement answers is refused by name.  SHOW
 * and EXPLAIN answer with rows that are not compared (S_UNSEEN).
 */
#include <ctype.h>
#include <strings.h>

#include "sql/bind.h"

#define CTX(b) (&(b)->x->c)

/* ---- names of parse nodes -------------------------------------------------------------------- */

static const char *const short_titles[][2] = {
    {"CREATE TRIG", "CREATE TRIGGER"},
    {"ALTER SEQ", "ALTER SEQUENCE"},
    {"CREATE ENUM", "CREATE TYPE"},
    {"COMPOSITE TYPE", "CREATE TYPE"},
    {"A ARRAY EXPR", "an array"},
    {"A INDIRECTION", "a part of an array or row"},
    {"CURRENT OF EXPR", "CURRENT OF"},
    {"ROW EXPR", "a row"},
    {"XML EXPR", "XML"},
    {"GROUPING FUNC", "GROUPING"},
    {"CREATE TABLE AS", "CREATE TABLE AS or a materialized view"},
};

/* The name of the node in libpg_query, without its ending, is nearly that of the statement. */
const char *node_title(binder *b, const node *n)
{
    const ProtobufCFieldDescriptor *f =
        protobuf_c_message_descriptor_get_field(&pg_query__node__descriptor, n->node_case);
    if (!f) return "unnamed";
    size_t len = strlen(f->name);
    char *name = arena_text(b->mem, f->name, len);
    if (len > 5 && !strcmp(name + len - 5, "_stmt")) len -= 5;
    name[len] = 0;
    for (size_t i = 0; i < len; i++)
        name[i] = name[i] == '_' ? ' ' : (char)toupper((unsigned char)name[i]);
    for (size_t i = 0; i < sizeof short_titles / sizeof short_titles[0]; i++)
        if (!strcmp(name, short_titles[i][0])) return short_titles[i][1];
    return name;
}

/* ---- SET ------------------------------------------------------------------------------------- */

/* Settings that change no answer but whether a statement is given up, or which isolation later
   transactions have, which a log says of each; a dash: all that begin so.  (autocommit: MySQL;
   timezone,
   intervalstyle: what depends on it is refused, wherever it is) */
static const char *const harmless_settings[] = {
    "application_name",
    "auto_explain-",
    "autocommit",
    "bgwriter_-",
    "client_min_messages",
    "commit_-",
    "constraint_exclusion",
    "cpu_-",
    "cursor_tuple_fraction",
    "deadlock_timeout",
    "debug_-",
    "default_statistics_target",
    "default_transaction_-",
    "effective_-",
    "enable_-",
    "extra_float_digits",
    "force_parallel_mode",
    "from_collapse_limit",
    "geqo-",
    "hash_mem_multiplier",
    "intervalstyle",
    "jit-",
    "join_collapse_limit",
    "log_-",
    "logical_decoding_work_mem",
    "maintenance_-",
    "max_parallel_-",
    "min_parallel_-",
    "parallel_-",
    "plan_cache_mode",
    "random_page_cost",
    "seq_page_cost",
    "synchronous_commit",
    "tcp_-",
    "temp_buffers",
    "timezone",
    "track_-",
    "transaction_isolation",
    "transaction_read_only",
    "vacuum_-",
    "wal_-",
    "work_mem",
};

static bool is_harmless(const char *name)
{
    size_t n = strlen(name);
    if (!strncmp(name, "TRANSACTION", 11) || !strncmp(name, "SESSION CHARACTERISTICS", 23))
        return true;
    if (n > 8 && !strcasecmp(name + n - 8, "_timeout")) return true;
    if (strchr(name, '.') && strncmp(name, "auto_explain", 12) != 0)
        return true; /* a setting of the application: current_setting is refused */
    for (size_t i = 0; i < sizeof harmless_settings / sizeof harmless_settings[0]; i++) {
        const char *known = harmless_settings[i];
        size_t len = strlen(known);
        bool begins = known[len - 1] == '-';
        if (begins ? !strncasecmp(name, known, len - 1) : !strcasecmp(name, known)) return true;
    }
    return false;
}

static const char *setting_word(const PgQuery__VariableSetStmt *s, size_t i)
{
    const node *n = s->args[i];
    if (n->node_case != PG_QUERY__NODE__NODE_A_CONST ||
        n->a_const->val_case != PG_QUERY__A__CONST__VAL_SVAL)
        return "";
    return n->a_const->sval->sval;
}

/* Every value is one that leaves things as they are. */
static bool only_words(const PgQuery__VariableSetStmt *s, const char *const *words, size_t n_words)
{
    for (size_t i = 0; i < s->n_args; i++) {
        size_t k = 0;
        while (k < n_words && strcasecmp(setting_word(s, i), words[k]) != 0) k++;
        if (k == n_words) return false;
    }
    return true;
}

static bool keeps_meaning(const PgQuery__VariableSetStmt *s)
{
    static const char *const path[] = {"public", "$user", "pg_catalog"};
    static const char *const style[] = {"iso", "iso, mdy", "iso, ymd", "mdy", "ymd"};
    static const char *const encoding[] = {"utf8",    "utf-8",   "unicode",
                                           "utf8mb4", "utf8mb3", "sql_ascii"};
    static const char *const role[] = {"none", "default"};
    static const char *const on[] = {"on", "true", "1", "yes"};
    if (is_harmless(s->name)) return true;
    if (s->kind != PG_QUERY__VARIABLE_SET_KIND__VAR_SET_VALUE) /* RESET, SET ... TO DEFAULT */
        return s->kind == PG_QUERY__VARIABLE_SET_KIND__VAR_RESET_ALL ||
               !strcasecmp(s->name, "search_path") || !strcasecmp(s->name, "role") ||
               !strcasecmp(s->name, "client_encoding");
    if (!strcasecmp(s->name, "client_encoding")) return only_words(s, encoding, 6);
    if (!strcasecmp(s->name, "search_path")) return only_words(s, path, 3);
    if (!strcasecmp(s->name, "datestyle")) return only_words(s, style, 5);
    if (!strcasecmp(s->name, "role")) return only_words(s, role, 2);
    if (!strcasecmp(s->name, "standard_conforming_strings")) return only_words(s, on, 4);
    return false;
}

/* set_config(name, value, local) as far as both are plain words. */
void bind_set_config(binder *b, const PgQuery__FuncCall *f)
{
    const char *word[2] = {NULL, NULL};
    for (size_t i = 0; i < 2 && i < f->n_args; i++) {
        const node *n = f->args[i];
        if (n->node_case == PG_QUERY__NODE__NODE_A_CONST &&
            n->a_const->val_case == PG_QUERY__A__CONST__VAL_SVAL)
            word[i] = n->a_const->sval->sval;
    }
    /* an empty path, as pg_dump sets it: names without a schema find nothing but what is
       PostgreSQL's own, so what still succeeds means the same */
    bool path =
        word[0] && !strcasecmp(word[0], "search_path") && word[1] &&
        (!*word[1] || !strcasecmp(word[1], "public") || !strcmp(word[1], "\"$user\", public"));
    if (!word[0] || (!is_harmless(word[0]) && !path))
        sql_refuse(CTX(b), f->location, "set_config of this setting");
}

static void set_variable(binder *b, plan *p, const PgQuery__VariableSetStmt *s)
{
    if (!keeps_meaning(s)) sql_refuse(CTX(b), -1, "SET %s", s->name);
    p->kind = S_NOTHING;
}

/* ---- EXPLAIN --------------------------------------------------------------------------------- */

static bool is_on(const PgQuery__DefElem *d)
{
    const node *n = d->arg;
    if (!n) return true;
    if (n->node_case == PG_QUERY__NODE__NODE_STRING)
        return strcasecmp(n->string->sval, "off") != 0 && strcasecmp(n->string->sval, "false") != 0;
    return n->node_case != PG_QUERY__NODE__NODE_INTEGER || n->integer->ival;
}

/* EXPLAIN ANALYZE executes what it explains. */
static void explain(binder *b, plan *p, const PgQuery__ExplainStmt *e)
{
    bool runs = false;
    for (size_t i = 0; i < e->n_options; i++) {
        const PgQuery__DefElem *d = e->options[i]->def_elem;
        runs |= !strcmp(d->defname, "analyze") && is_on(d);
    }
    if (runs && e->query->node_case != PG_QUERY__NODE__NODE_SELECT_STMT)
        sql_refuse(CTX(b), -1, "EXPLAIN ANALYZE of a statement that writes");
    if (runs) { /* a query may call what writes, or lock */
        p->q = bind_select(b, NULL, e->query->select_stmt);
        if (b->calls || p->q->locking)
            sql_refuse(CTX(b), -1, "EXPLAIN ANALYZE of a query that calls functions or locks");
        p->q = NULL;
    }
    p->kind = S_UNSEEN;
}

static void set_constraints(binder *b, plan *p, const PgQuery__ConstraintsSetStmt *s)
{
    p->kind = S_CONSTRAINTS;
    p->cascade = s->deferred;
    p->n_names = (uint32_t)s->n_constraints;
    p->names = arena_array(b->mem, const char *, s->n_constraints + 1);
    p->names[0] = "";
    for (size_t i = 0; i < s->n_constraints; i++) {
        const PgQuery__RangeVar *r = s->constraints[i]->range_var;
        if (*r->schemaname && strcmp(r->schemaname, "public") != 0)
            sql_refuse(CTX(b), r->location, "SET CONSTRAINTS in another schema");
        p->names[i] = name_keep(b, r->relname);
    }
}

/* What poolers send between two users of a connection. */
static void discard(binder *b, plan *p, const PgQuery__DiscardStmt *d)
{
    bool all = d->target == PG_QUERY__DISCARD_MODE__DISCARD_ALL;
    if ((all || d->target == PG_QUERY__DISCARD_MODE__DISCARD_TEMP) && b->x->s->temporaries)
        sql_refuse(CTX(b), -1, "DISCARD where there are temporary tables");
    p->kind = S_NOTHING;
    if (!all) return;
    p->kind = S_DEALLOCATE; /* every prepared statement */
    p->n_names = 1;
    p->names = arena_array(b->mem, const char *, 1);
    p->names[0] = "";
}

/* ---- the rest -------------------------------------------------------------------------------- */

bool bind_utility(binder *b, plan *p, const node *n)
{
    switch (n->node_case) {
    case PG_QUERY__NODE__NODE_VARIABLE_SET_STMT:
        set_variable(b, p, n->variable_set_stmt);
        return true;
    case PG_QUERY__NODE__NODE_VARIABLE_SHOW_STMT: p->kind = S_UNSEEN; return true;
    case PG_QUERY__NODE__NODE_EXPLAIN_STMT: explain(b, p, n->explain_stmt); return true;
    case PG_QUERY__NODE__NODE_LOCK_STMT: /* others wait: what that does shows in their answers */
        for (size_t i = 0; i < n->lock_stmt->n_relations; i++)
            bind_table(b, n->lock_stmt->relations[i]->range_var);
        p->kind = S_NOTHING;
        return true;
    case PG_QUERY__NODE__NODE_CONSTRAINTS_SET_STMT:
        set_constraints(b, p, n->constraints_set_stmt);
        return true;
    case PG_QUERY__NODE__NODE_DISCARD_STMT: discard(b, p, n->discard_stmt); return true;
    case PG_QUERY__NODE__NODE_VACUUM_STMT:
    case PG_QUERY__NODE__NODE_REINDEX_STMT:
    case PG_QUERY__NODE__NODE_CLUSTER_STMT:
    case PG_QUERY__NODE__NODE_CHECK_POINT_STMT:
    case PG_QUERY__NODE__NODE_COMMENT_STMT:
    case PG_QUERY__NODE__NODE_GRANT_STMT:
    case PG_QUERY__NODE__NODE_GRANT_ROLE_STMT:
    case PG_QUERY__NODE__NODE_ALTER_DEFAULT_PRIVILEGES_STMT:
    case PG_QUERY__NODE__NODE_CREATE_ROLE_STMT:
    case PG_QUERY__NODE__NODE_ALTER_ROLE_STMT:
    case PG_QUERY__NODE__NODE_ALTER_OWNER_STMT:
    case PG_QUERY__NODE__NODE_NOTIFY_STMT:
    case PG_QUERY__NODE__NODE_LISTEN_STMT:
    case PG_QUERY__NODE__NODE_UNLISTEN_STMT:
    case PG_QUERY__NODE__NODE_CREATE_POLICY_STMT: /* see secures_rows in bind_alter.c */
    case PG_QUERY__NODE__NODE_ALTER_POLICY_STMT:
    case PG_QUERY__NODE__NODE_CREATE_STATS_STMT:
    case PG_QUERY__NODE__NODE_CREATE_EXTENSION_STMT: /* its functions are not known */
    case PG_QUERY__NODE__NODE_CREATE_SEQ_STMT:
    case PG_QUERY__NODE__NODE_ALTER_SEQ_STMT: /* what it gives is observed */
        p->kind = S_NOTHING;
        return true;
    default: return false;
    }
}
