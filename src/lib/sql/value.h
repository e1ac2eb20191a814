/*
 * value.h - SQL values of the types we know, with PostgreSQL's conversions, order and text.
 *
 * A value does not carry its type: the typed tree does.  Text compares by bytes (C collation).
 * What PostgreSQL would answer with an error raises its SQLSTATE (sql_raise); what we do not know
 * exactly is refused by name (sql_refuse).  Both leave through the guard, to the border that runs
 * one statement.
 */
#ifndef RATEL_SQL_VALUE_H
#define RATEL_SQL_VALUE_H

#include "sql/num.h"

/* id, name in messages, numeric category */
#define SQL_TYPES                                                                                  \
    TYPE(UNKNOWN, "unknown", 0)                                                                    \
    TYPE(BOOL, "boolean", 0)                                                                       \
    TYPE(INT2, "smallint", 1)                                                                      \
    TYPE(INT4, "integer", 2)                                                                       \
    TYPE(INT8, "bigint", 3)                                                                        \
    TYPE(NUMERIC, "numeric", 4)                                                                    \
    TYPE(TEXT, "text", 0)                                                                          \
    TYPE(VARCHAR, "character varying", 0)                                                          \
    TYPE(CHAR, "character", 0)                                                                     \
    TYPE(STAMP, "timestamp without time zone", 0)                                                  \
    TYPE(DATE, "date", 0)                                                                          \
    TYPE(STAMPTZ, "timestamp with time zone", 0)                                                   \
    TYPE(UUID, "uuid", 0)                                                                          \
    TYPE(VOID, "void", 0)                                                                          \
    TYPE(INTERVAL, "interval", 0)                                                                  \
    TYPE(TIME, "time without time zone", 0)                                                        \
    TYPE(FLOAT4, "real", 0)                                                                        \
    TYPE(FLOAT8, "double precision", 0)                                                            \
    TYPE(BYTEA, "bytea", 0)                                                                        \
    TYPE(JSON, "json", 0)                                                                          \
    TYPE(JSONB, "jsonb", 0)                                                                        \
    TYPE(RECORD, "record", 0)

typedef enum type_id {
#define TYPE(id, name, rank) T_##id,
    SQL_TYPES
#undef TYPE
} type_id;

/* After these come their arrays, in the same order, and then the enumerations of the log. */
enum {
#define TYPE(id, name, rank) SCALAR_##id,
    SQL_TYPES
#undef TYPE
        N_SCALARS
};

typedef struct type {
    type_id id;
    int32_t width; /* varchar, char: characters; numeric: precision; -1: none */
    int32_t scale; /* numeric with a precision */
} type;

typedef struct value {
    bool null;
    uint8_t open; /* OPEN_*: nobody knows it */
    uint32_t n;   /* bytes of a text */
    union {
        int64_t i; /* bool, integers, microseconds or days since 2000-01-01 (of UTC); the bits of a
                      float */
        const num *d;
        const char *s; /* of text: itself; interval.h, jsonb.h and sql_array.h say how others are
                          kept; an enumeration has four bytes of place, then its label */
    };
} value;

/* What a sequence, the clock or a random function gave.  Just made, any observation fits it; once
   stored or read again it must be the same every time, and what depends on it is refused. */
enum { OPEN_NOT, OPEN_FREE, OPEN_FIXED };

/* What TimeZone is in the session: nobody has set it, UTC, or something else (or not known). */
typedef enum sql_zone { ZONE_UNSET, ZONE_UTC, ZONE_OTHER } sql_zone;

/* Where an execution stands: what it raises into and takes short-lived memory from. */
typedef struct sql_place { /* the body that is running or being read, for messages */
    const char *routine;   /* its name; NULL: none */
    uint32_t line;         /* of its text */
} sql_place;

typedef struct sql_context {
    guard *guard;
    arena *work;
    char state[6];     /* SQLSTATE of what was raised */
    uint32_t position; /* byte of the statement that was refused, from 1; 0: nowhere */
    sql_place place;
    sql_zone zone;
    bool unparsed; /* the last statement that was read is none of PostgreSQL's grammar */
    bool exact;    /* what is raised has PostgreSQL's own message */
    bool styled;   /* the log sets IntervalStyle: how an interval is written is not known */
    const struct enum_list *enums;
} sql_context;

/* The enumerations of the log, by type id. */
enum { ENUM_PLACE = 4 };
typedef struct enum_labels {
    const char *name;
    uint32_t n;
    const char **label;
} enum_labels;
typedef struct enum_list {
    uint32_t n;
    enum_labels *at;
} enum_list;

enum { SQL_RAISED = 101, SQL_REFUSED = 102 }; /* codes of the guard, caught by the border */

_Noreturn void sql_raise(sql_context *c, const char *state, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
_Noreturn void sql_refuse(sql_context *c, int position, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

const char *type_name(type_id t);
int type_rank(type_id t); /* of numbers: int2 1 ... numeric 4; else 0 */
static inline bool type_is_int(type_id t)
{
    return t == T_INT2 || t == T_INT4 || t == T_INT8;
}
static inline bool type_is_text(type_id t)
{
    return t == T_TEXT || t == T_VARCHAR || t == T_CHAR || t == T_UNKNOWN;
}
static inline bool type_is_array(type_id t)
{
    return (int)t >= N_SCALARS && (int)t < 2 * N_SCALARS;
}
static inline bool type_is_enum(type_id t)
{
    return (int)t >= 2 * N_SCALARS;
}
static inline type_id type_element(type_id array)
{
    return (type_id)((int)array - N_SCALARS);
}
static inline type_id type_array_of(type_id element)
{
    return (type_id)((int)element + N_SCALARS);
}
static inline bool type_is_float(type_id t)
{
    return t == T_FLOAT4 || t == T_FLOAT8;
}
/* Arrays of it are known. */
static inline bool type_has_arrays(type_id t)
{
    return (int)t < N_SCALARS && t != T_CHAR && t != T_BYTEA && t != T_VOID && t != T_UNKNOWN &&
           t != T_RECORD;
}
/* The bytes of a value are what PostgreSQL prints: texts, and a uuid. */
static inline bool type_is_shown(type_id t)
{
    return type_is_text(t) || t == T_UUID || t == T_JSON || t == T_JSONB || t == T_RECORD;
}
/* A value is kept as bytes, which copies take along. */
static inline bool type_is_bytes(type_id t)
{
    return type_is_shown(t) || t == T_INTERVAL || t == T_BYTEA || (int)t >= N_SCALARS;
}
static inline bool type_is_moment(type_id t)
{
    return t == T_STAMP || t == T_DATE || t == T_STAMPTZ;
}
static inline type type_plain(type_id t)
{
    return (type){t, -1, 0};
}

static inline value value_null(void)
{
    return (value){.null = true, .n = 0, .i = 0};
}
static inline value value_open(void)
{
    return (value){.null = false, .open = OPEN_FREE, .n = 0, .i = 0};
}
static inline value value_int(int64_t i)
{
    return (value){.null = false, .n = 0, .i = i};
}
static inline value value_bool(bool b)
{
    return value_int(b);
}
static inline value value_num(const num *d)
{
    return (value){.null = false, .n = 0, .d = d};
}
static inline double value_double(value v)
{
    double d;
    memcpy(&d, &v.i, sizeof d);
    return d;
}
static inline value value_float(double d)
{
    value v = {.null = false, .n = 0};
    memcpy(&v.i, &d, sizeof d);
    return v;
}
static inline value value_text(const char *s, size_t n)
{
    return (value){.null = false, .n = (uint32_t)n, .s = s};
}

/* Both not null, of one type.  <0, 0, >0. */
int value_cmp(type_id t, value a, value b);
/* Equal or both null; for grouping and rows. */
bool value_same(type_id t, value a, value b);
/* The same to the byte: also the scale of a numeric. */
bool value_identical(type_id t, value a, value b);
uint64_t value_hash(type_id t, value v);
/* The text that PostgreSQL's output function gives. */
void value_print(type_id t, value v, strbuf *out);
/* The same as a part of an answer: refused where a setting decides about it. */
void value_write(sql_context *c, type_id t, value v, strbuf *out);
/* The input function of a type, with its width applied as by an assignment. */
value value_parse(sql_context *c, type t, const char *s, size_t n);

typedef enum cast_kind { CAST_IMPLICIT, CAST_ASSIGN, CAST_EXPLICIT } cast_kind;
/* Is there such a cast? */
bool cast_exists(type_id from, type_id to, cast_kind kind);
value value_cast(sql_context *c, value v, type from, type to, cast_kind kind);
int64_t value_int_range(sql_context *c, type_id t, int64_t v); /* raises 22003 */
const num *value_need(sql_context *c, const num *d);           /* refuses NULL */
/* A time with its offset, as microseconds; false: it is none. */
bool value_instant(const char *s, size_t n, int64_t *out);
value value_move_date(sql_context *c, int64_t date, int64_t days);
size_t text_length(value v); /* characters */

#endif
