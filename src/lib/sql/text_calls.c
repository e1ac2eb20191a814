/*
 * text_calls.c - functions of texts and bytes that sql_text.c does not have.
 */
#include <assert.h>
#include <stdio.h>

#include "sql/builtin.h"

static bool is_word_char(char c)
{
    return (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* Letters of ASCII alone, as PostgreSQL does in the C locale. */
static value initcap(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    char *t = arena_text(&x->work, v[0].s, v[0].n);
    bool inside = false;
    (void)e;
    for (uint32_t i = 0; i < v[0].n; i++) {
        if (inside && t[i] >= 'A' && t[i] <= 'Z') t[i] = (char)(t[i] + 32);
        if (!inside && t[i] >= 'a' && t[i] <= 'z') t[i] = (char)(t[i] - 32);
        inside = is_word_char(t[i]);
    }
    return value_text(t, v[0].n);
}

static value bytes_length(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 1 && !v[0].null);
    (void)x, (void)e;
    return value_int(v[0].n);
}

/* Bytes one after the other. */
static value bytes_joined(sql_exec *x, const expr *e, const value *v)
{
    assert(e->n == 2 && !v[0].null && !v[1].null);
    size_t n = (size_t)v[0].n + v[1].n;
    (void)e;
    if (n > UINT32_MAX / 4) sql_raise(&x->c, "54000", "requested length too large");
    char *t = arena_get(&x->work, n + 1);
    memcpy(t, v[0].s, v[0].n);
    memcpy(t + v[0].n, v[1].s, v[1].n);
    return value_text(t, n);
}

const builtin text_builtins[] = {
    {"initcap", "t>t", initcap, 0},
    {"length", "y>4", bytes_length, BUILTIN_EXACT},
    {"octet_length", "y>4", bytes_length, BUILTIN_EXACT},
    {"||", "yy>y", bytes_joined, 0},
    {NULL, NULL, NULL, 0},
};
