/*
 * proof_log.c - what goes to the proof log, and the writer of DRAT.
 *
 * DRAT (Wetzler, Heule, Hunt, 2014): each line is a clause that follows, "d" before one that is
 * deleted.  The binary form has 'a' or 'd', literals as 2 * number + sign in groups of 7 bits,
 * and 0.  Numbers are variables + 1.
 */
#include "base/strbuf.h"
#include "solve/solver_internal.h"

void solve_log_original(solver *s, const uint32_t *lits, size_t n)
{
    if (s->proof && s->proof->original) s->proof->original(s->proof->state, lits, n);
}

void solve_log_lemma(solver *s, const uint32_t *lits, size_t n, uint64_t tag)
{
    if (s->proof && s->proof->lemma) s->proof->lemma(s->proof->state, lits, n, tag);
}

void solve_log_learned(solver *s, const uint32_t *lits, size_t n)
{
    if (s->proof && s->proof->learned) s->proof->learned(s->proof->state, lits, n);
}

void solve_log_deleted(solver *s, const uint32_t *lits, size_t n)
{
    if (s->proof && s->proof->deleted) s->proof->deleted(s->proof->state, lits, n);
}

void solve_log_empty(solver *s)
{
    assert(s->consistent && !solve_level(s));
    s->consistent = false;
    solve_log_learned(s, NULL, 0);
}

/* ---- DRAT ---------------------------------------------------------------------------------- */

struct drat {
    mem *mem;
    proof proof;
    drat_write write;
    void *ud;
    bool binary;
    strbuf buffer;
};

static void put_binary(drat *d, char kind, const uint32_t *lits, size_t n)
{
    assert(d->binary);
    strbuf_char(&d->buffer, kind);
    for (size_t i = 0; i < n; i++) {
        uint64_t x = (uint64_t)lits[i] + 2;
        for (; x > 127; x >>= 7) strbuf_char(&d->buffer, (char)(unsigned char)((x & 127) | 128));
        strbuf_char(&d->buffer, (char)x);
    }
    strbuf_char(&d->buffer, 0);
}

static void put_text(drat *d, char kind, const uint32_t *lits, size_t n)
{
    if (kind == 'd') strbuf_add(&d->buffer, "d ", 2);
    for (size_t i = 0; i < n; i++) {
        int64_t number = (int64_t)lit_var(lits[i]) + 1;
        strbuf_i64(&d->buffer, lit_negative(lits[i]) ? -number : number);
        strbuf_char(&d->buffer, ' ');
    }
    strbuf_add(&d->buffer, "0\n", 2);
}

static void put_clause(drat *d, char kind, const uint32_t *lits, size_t n)
{
    assert(kind == 'a' || kind == 'd');
    if (d->binary)
        put_binary(d, kind, lits, n);
    else
        put_text(d, kind, lits, n);
    if (d->buffer.n >= DRAT_BUFFER) drat_flush(d);
}

static void drat_learned(void *state, const uint32_t *lits, size_t n)
{
    put_clause(state, 'a', lits, n);
}

static void drat_deleted(void *state, const uint32_t *lits, size_t n)
{
    put_clause(state, 'd', lits, n);
}

drat *drat_new(mem *m, bool binary, drat_write write, void *ud)
{
    assert(write);
    drat *d = mem_zeroed(m, sizeof *d);
    d->mem = m;
    d->binary = binary;
    d->write = write;
    d->ud = ud;
    strbuf_init(&d->buffer, m);
    d->proof = (proof){.state = d, .learned = drat_learned, .deleted = drat_deleted};
    return d;
}

const proof *drat_proof(drat *d)
{
    return &d->proof;
}

void drat_flush(drat *d)
{
    if (d->buffer.n) d->write(d->ud, d->buffer.at, d->buffer.n);
    d->buffer.n = 0;
}

void drat_free(drat *d)
{
    if (!d) return;
    strbuf_free(&d->buffer);
    mem_put(d->mem, d);
}
