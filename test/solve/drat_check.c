/*
 * drat_check.c - checks a refutation: every added clause must follow from the formula and the
 * clauses before it by unit propagation (RUP), and the empty clause must come out.
 *
 * usage: drat_check FORMULA PROOF     exit 0: verified, 1: not, 2: unreadable
 *
 * Forward checking with two watched literals.  What propagates at level 0 stays true for ever,
 * also when a clause it came from is deleted: it follows from the formula all the same.  Shares
 * nothing with the solver, so that one mistake cannot hide the other; reads text and binary DRAT.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct vector {
    int *at;
    size_t n, cap;
} vector;

typedef struct record {
    size_t first; /* in `pool`, n literals */
    int n;
    bool deleted;
    uint64_t hash;
    int next; /* in the bucket, -1: none */
} record;

static vector pool, trail, scratch;
static vector *watches; /* by literal: indices of records */
static signed char *value;
static int vars;
static record *records;
static size_t n_records, cap_records;
static int *buckets;
static size_t n_buckets;
static size_t head; /* propagated so far */
static bool refuted;
static const char *path;

_Noreturn static void die(const char *what, size_t where)
{
    fprintf(stderr, "drat_check: %s: %s at byte %zu\n", path, what, where);
    exit(2);
}

static void *grow(void *p, size_t bytes)
{
    p = realloc(p, bytes ? bytes : 1);
    if (!p) {
        fprintf(stderr, "drat_check: out of memory\n");
        exit(2);
    }
    return p;
}

static void push(vector *v, int x)
{
    if (v->n == v->cap) {
        v->cap = v->cap ? 2 * v->cap : 8;
        v->at = grow(v->at, v->cap * sizeof *v->at);
    }
    v->at[v->n++] = x;
}

static int index_of(int lit)
{
    return lit > 0 ? 2 * lit : -2 * lit + 1;
}

static int value_of(int lit)
{
    return lit > 0 ? value[lit] : -value[-lit];
}

/* Variables may turn up in the proof that the header did not count. */
static void make_room(int var)
{
    if (var <= vars) return;
    int more = var > 2 * vars ? var : 2 * vars;
    value = grow(value, (size_t)more + 1);
    watches = grow(watches, (2 * (size_t)more + 2) * sizeof *watches);
    int from = vars ? vars + 1 : 0;
    memset(value + from, 0, (size_t)(more + 1 - from));
    memset(watches + 2 * from, 0, (size_t)(more + 1 - from) * 2 * sizeof *watches);
    vars = more;
}

static void assign(int lit)
{
    value[abs(lit)] = lit > 0 ? 1 : -1;
    push(&trail, lit);
}

/* ---- unit propagation ---------------------------------------------------------------------- */

static bool visit(int false_lit)
{
    vector *list = watches + index_of(false_lit);
    size_t j = 0;
    bool ok = true;
    for (size_t i = 0; i < list->n; i++) {
        int id = list->at[i];
        record *r = records + id;
        if (r->deleted) continue;
        list->at[j++] = id;
        if (!ok) continue;
        int *lits = pool.at + r->first;
        if (lits[0] == false_lit) {
            lits[0] = lits[1];
            lits[1] = false_lit;
        }
        if (value_of(lits[0]) > 0) continue;
        int k = 2;
        while (k < r->n && value_of(lits[k]) < 0) k++;
        if (k < r->n) {
            lits[1] = lits[k];
            lits[k] = false_lit;
            push(watches + index_of(lits[1]), id);
            j--;
        } else if (value_of(lits[0]) < 0) {
            ok = false;
        } else {
            assign(lits[0]);
        }
    }
    list->n = j;
    return ok;
}

/* false: a clause is falsified */
static bool propagate(void)
{
    while (head < trail.n)
        if (!visit(-trail.at[head++])) return false;
    return true;
}

/* ---- clauses ------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Sorts the clause in `scratch`, drops repeated literals; false if it is a tautology. */
static bool tidy(void)
{
    size_t n = 0;
    bool tautology = false;
    if (scratch.n) qsort(scratch.at, scratch.n, sizeof(int), compare);
    for (size_t i = 0; i < scratch.n; i++)
        if (!n || scratch.at[n - 1] != scratch.at[i]) scratch.at[n++] = scratch.at[i];
    scratch.n = n;
    for (size_t i = 0, j = n; i < j;) {
        int sum = scratch.at[i] + scratch.at[j - 1];
        if (!sum) tautology = true;
        if (sum <= 0)
            i++;
        else
            j--;
    }
    return !tautology;
}

static uint64_t hash_scratch(void)
{
    uint64_t sum = 0, product = 1;
    for (size_t i = 0; i < scratch.n; i++) {
        uint64_t x = (uint64_t)(int64_t)scratch.at[i] * 0x9e3779b97f4a7c15u;
        sum += x ^ (x >> 29);
        product *= x | 1;
    }
    return sum ^ product * 0xbf58476d1ce4e5b9u;
}

static void rehash(void)
{
    n_buckets = n_buckets ? 2 * n_buckets : 1024;
    buckets = grow(buckets, n_buckets * sizeof *buckets);
    for (size_t i = 0; i < n_buckets; i++) buckets[i] = -1;
    for (size_t i = 0; i < n_records; i++) {
        if (records[i].deleted) continue;
        int *bucket = buckets + records[i].hash % n_buckets;
        records[i].next = *bucket;
        *bucket = (int)i;
    }
}

static bool same_as_scratch(const record *r)
{
    if ((size_t)r->n != scratch.n) return false;
    /* the record's literals are permuted by watching: compare as sets, both free of repeats */
    for (int i = 0; i < r->n; i++)
        if (!bsearch(pool.at + r->first + i, scratch.at, scratch.n, sizeof(int), compare))
            return false;
    return true;
}

/* Stores the clause in `scratch` and draws the consequences at level 0. */
static void store(void)
{
    if (n_records == cap_records) {
        cap_records = cap_records ? 2 * cap_records : 1024;
        records = grow(records, cap_records * sizeof *records);
    }
    if (n_records >= n_buckets) rehash();
    int id = (int)n_records++;
    record *r = records + id;
    *r = (record){pool.n, (int)scratch.n, false, hash_scratch(), -1};
    int *bucket = buckets + r->hash % n_buckets;
    r->next = *bucket;
    *bucket = id;
    for (size_t i = 0; i < scratch.n; i++) push(&pool, scratch.at[i]);

    int *lits = pool.at + r->first, good = 0;
    for (int i = 0; i < r->n && good < 2; i++) {
        if (value_of(lits[i]) < 0) continue;
        int lit = lits[good];
        lits[good++] = lits[i];
        lits[i] = lit;
    }
    if (r->n >= 2) {
        push(watches + index_of(lits[0]), id);
        push(watches + index_of(lits[1]), id);
    }
    if (!good) refuted = true;
    if (good == 1 && !value_of(lits[0])) {
        assign(lits[0]);
        if (!propagate()) refuted = true;
    }
}

/* Does the clause in `scratch` follow by unit propagation? */
static bool implied(void)
{
    size_t height = trail.n;
    bool ok = true;
    for (size_t i = 0; i < scratch.n && ok; i++) {
        int v = value_of(scratch.at[i]);
        if (v > 0)
            ok = false; /* true at level 0, or by the literals before: implied */
        else if (!v)
            assign(-scratch.at[i]);
    }
    ok = ok && propagate();
    while (trail.n > height) value[abs(trail.at[--trail.n])] = 0;
    head = trail.n;
    return !ok;
}

static bool delete_scratch(void)
{
    uint64_t hash = hash_scratch();
    for (int *at = buckets + hash % n_buckets; *at >= 0; at = &records[*at].next) {
        record *r = records + *at;
        if (r->hash != hash || !same_as_scratch(r)) continue;
        r->deleted = true;
        *at = r->next;
        return true;
    }
    return false;
}

/* ---- files --------------------------------------------------------------------------------- */

static char *slurp(const char *name, size_t *n)
{
    path = name;
    FILE *f = fopen(name, "rb");
    if (!f) die("cannot be opened", 0);
    char *text = NULL;
    size_t cap = 0, got;
    *n = 0;
    do {
        if (cap - *n < 65537) text = grow(text, cap = 2 * cap + 65537);
        got = fread(text + *n, 1, 65536, f);
        *n += got;
    } while (got);
    fclose(f);
    text[*n] = 0;
    return text;
}

static bool read_number(const char *text, size_t n, size_t *at, int *out)
{
    while (*at < n && isspace((unsigned char)text[*at])) ++*at;
    size_t first = *at;
    bool negative = *at < n && text[*at] == '-';
    if (negative) ++*at;
    int64_t x = 0;
    size_t digits = *at;
    while (*at < n && isdigit((unsigned char)text[*at]) && x < 1 << 29)
        x = 10 * x + text[(*at)++] - '0';
    if (*at == digits || x >= 1 << 29) {
        *at = first;
        return false;
    }
    *out = (int)(negative ? -x : x);
    return true;
}

static void read_formula(const char *name)
{
    size_t n, at = 0;
    char *text = slurp(name, &n);
    while (at < n && !refuted) {
        if (isspace((unsigned char)text[at])) {
            at++;
        } else if (text[at] == 'c' || text[at] == 'p') {
            while (at < n && text[at] != '\n') at++;
        } else if (text[at] == '%') {
            break;
        } else {
            int lit;
            for (scratch.n = 0;;) {
                if (!read_number(text, n, &at, &lit)) die("literal expected", at);
                if (!lit) break;
                make_room(abs(lit));
                push(&scratch, lit);
            }
            if (tidy()) store();
        }
    }
    free(text);
}

/* The first bytes of a text proof are digits, '-', 'd', blanks; binary ones begin with 'a' or have
 * a byte no text has. */
static bool is_binary(const char *text, size_t n)
{
    for (size_t i = 0; i < n && i < 100; i++)
        if (!strchr("0123456789- d\n\r", text[i]) || !text[i]) return true;
    return false;
}

/* One line into `scratch`; 'a', 'd', or 0 at the end. */
static int next_line(const char *text, size_t n, size_t *at, bool binary)
{
    int kind = 'a', lit;
    scratch.n = 0;
    if (binary) {
        if (*at == n) return 0;
        kind = text[(*at)++];
        if (kind != 'a' && kind != 'd') die("'a' or 'd' expected", *at - 1);
        for (;;) {
            uint64_t x = 0;
            unsigned shift = 0, byte;
            do {
                if (*at == n || shift > 28) die("broken literal", *at);
                byte = (unsigned char)text[(*at)++];
                x |= (uint64_t)(byte & 127) << shift;
                shift += 7;
            } while (byte & 128);
            if (!x) return kind;
            make_room((int)(x >> 1));
            push(&scratch, x & 1 ? -(int)(x >> 1) : (int)(x >> 1));
        }
    }
    while (*at < n && isspace((unsigned char)text[*at])) ++*at;
    if (*at == n) return 0;
    if (text[*at] == 'd') {
        kind = 'd';
        ++*at;
    }
    for (;;) {
        if (!read_number(text, n, at, &lit)) die("literal expected", *at);
        if (!lit) return kind;
        make_room(abs(lit));
        push(&scratch, lit);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: drat_check FORMULA PROOF\n");
        return 2;
    }
    make_room(1);
    push(&pool, 0); /* so that even the empty clause has a place */
    rehash();
    read_formula(argv[1]);
    size_t n, at = 0, added = 0, deleted = 0, line = 0;
    char *text = slurp(argv[2], &n);
    bool binary = is_binary(text, n), ended = false;
    int kind;
    while (!ended && (kind = next_line(text, n, &at, binary))) {
        line++;
        if (kind == 'd') {
            if (!tidy()) continue; /* never stored */
            if (!refuted && !delete_scratch()) {
                printf("clause %zu is deleted but not there\n", line);
                return 1;
            }
            deleted++;
            continue;
        }
        added++;
        ended = !scratch.n;
        if (refuted) continue;
        bool proper = tidy();
        if (proper && !implied()) {
            printf("clause %zu does not follow\n", line);
            return 1;
        }
        if (proper) store();
    }
    free(text);
    if (!refuted || !ended) {
        printf("%s\n", refuted ? "the proof does not end in the empty clause" : "not a refutation");
        return 1;
    }
    printf("verified: %zu clauses added, %zu deleted\n", added, deleted);
    for (int i = 0; i < 2 * (vars + 1); i++) free(watches[i].at);
    free(watches);
    free(value);
    free(pool.at);
    free(trail.at);
    free(scratch.at);
    free(records);
    free(buckets);
    return 0;
}
