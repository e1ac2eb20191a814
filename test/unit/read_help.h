/*
 * What the tests of readers share: histories from bytes, in pieces of any size, and back.
 *
 * Everything goes through read_stream, so that decompression and the sliding window are part of
 * each test; `piece` is how many bytes a read returns at most.
 */
#ifndef RATEL_TEST_READ_HELP_H
#define RATEL_TEST_READ_HELP_H

#include <stdlib.h>

#include "read/file.h"
#include "read/formats.h"
#include "test.h"

typedef struct bytes {
    const char *at;
    size_t n, piece;
} bytes;

static inline ptrdiff_t bytes_read(void *buf, size_t cap, void *payload)
{
    bytes *b = payload;
    size_t n = b->n < b->piece ? b->n : b->piece;
    if (n > cap) n = cap;
    memcpy(buf, b->at, n);
    b->at += n;
    b->n -= n;
    return (ptrdiff_t)n;
}

/* A frozen history, or NULL with the reason in g. */
static inline history *load_pieces(guard *g, const char *format, const void *at, size_t n,
                                   size_t piece)
{
    bytes b = {at, n, piece};
    read_file f;
    history *volatile h = NULL;
    guard_init(g);
    read_file_init(&f);
    if (!guard_armed(g)) {
        h = history_new(NULL, NULL, g, (size_t)1 << 28);
        read_stream(&f, h, bytes_read, &b, format);
        history_freeze(h);
        const char *broken = history_check(h);
        if (broken) test_fail(__FILE__, __LINE__, "history_check: %s", broken);
    }
    read_file_close(&f);
    if (g->code == GUARD_OK) return h;
    history_free(h);
    return NULL;
}

static inline history *load(guard *g, const char *format, const void *at, size_t n)
{
    return load_pieces(g, format, at, n, SIZE_MAX);
}

static inline history *load_path(guard *g, const char *format, const char *path)
{
    read_file f;
    history *volatile h = NULL;
    guard_init(g);
    read_file_init(&f);
    if (!guard_armed(g)) {
        h = history_new(NULL, NULL, g, (size_t)1 << 28);
        read_path(&f, h, path, format);
        history_freeze(h);
        const char *broken = history_check(h);
        if (broken) test_fail(__FILE__, __LINE__, "history_check: %s", broken);
    }
    read_file_close(&f);
    if (g->code == GUARD_OK) return h;
    history_free(h);
    return NULL;
}

typedef struct text {
    char *at; /* NUL terminated, from malloc */
    size_t n;
    uint64_t lost;
} text;

static inline int text_add(const void *buf, size_t n, void *payload)
{
    text *t = payload;
    t->at = realloc(t->at, t->n + n + 1);
    memcpy(t->at + t->n, buf, n);
    t->n += n;
    t->at[t->n] = 0;
    return 0;
}

/* The history in a one-stream format; session >= 0: that member of a directory format. */
static inline text dump_member(const history *h, const char *format, int session)
{
    static text t; /* static: it must survive the jump */
    guard g;
    mem m;
    t = (text){0};
    text_add("", 0, &t);
    guard_init(&g);
    mem_init(&m, NULL, NULL, &g);
    if (!guard_armed(&g)) {
        sink out;
        sink_init(&out, &m, &g, text_add, &t);
        const read_format *f = read_format_named(format);
        if (session < 0)
            f->write(h, &out);
        else
            f->write_member(h, (uint32_t)session, &out);
        sink_flush(&out);
        t.lost = out.lost_bits;
    }
    EXPECT_STR(g.text, "");
    mem_free_all(&m);
    return t;
}

static inline text dump(const history *h, const char *format)
{
    return dump_member(h, format, -1);
}

#define LOST(bit) ((uint64_t)1 << LOST_##bit)

/* Two histories are the same if the native format shows no difference. */
#define EXPECT_SAME(a, b)                                                                          \
    do {                                                                                           \
        text ta_ = dump((a), "ratel"), tb_ = dump((b), "ratel");                                   \
        EXPECT_STR(ta_.at, tb_.at);                                                                \
        free(ta_.at);                                                                              \
        free(tb_.at);                                                                              \
    } while (0)

/* The native text of a history given in a format, whatever the size of the pieces. */
#define EXPECT_NATIVE(format, from, from_n, want)                                                  \
    do {                                                                                           \
        static const size_t pieces_[] = {SIZE_MAX, 1, 7};                                          \
        for (int i_ = 0; i_ < 3; i_++) {                                                           \
            guard g_;                                                                              \
            history *h_ = load_pieces(&g_, format, from, from_n, pieces_[i_]);                     \
            EXPECT_STR(g_.text, "");                                                               \
            if (!h_) break;                                                                        \
            text t_ = dump(h_, "ratel");                                                           \
            EXPECT_STR(t_.at, want);                                                               \
            free(t_.at);                                                                           \
            history_free(h_);                                                                      \
        }                                                                                          \
    } while (0)

/* Refused with this code and text, at line:column (text) or byte (binary; line 0). */
#define EXPECT_REFUSED(format, from, from_n, code_, line_, where_, text_)                          \
    do {                                                                                           \
        static const size_t pieces_[] = {SIZE_MAX, 1, 7};                                          \
        for (int i_ = 0; i_ < 3; i_++) {                                                           \
            guard g_;                                                                              \
            history *h_ = load_pieces(&g_, format, from, from_n, pieces_[i_]);                     \
            EXPECT(!h_);                                                                           \
            EXPECT_EQ_INT(g_.code, code_);                                                         \
            if (!strstr(g_.text, text_)) EXPECT_STR(g_.text, text_);                               \
            EXPECT_EQ_UINT(g_.line, (uint64_t)(line_));                                            \
            EXPECT_EQ_UINT((line_) ? g_.column : g_.offset, (uint64_t)(where_));                   \
            history_free(h_);                                                                      \
        }                                                                                          \
    } while (0)

/* A file of the collected histories (RATEL_SHARED, else ../shared). NULL: the test must SKIP. */
static inline const char *shared_path(const char *name)
{
    static char path[4096];
    const char *dir = getenv("RATEL_SHARED");
    snprintf(path, sizeof path, "%s/data/%s", dir ? dir : "../shared", name);
    FILE *f = fopen(path, "r");
    if (!f) return NULL;
    fclose(f);
    return path;
}

/* What manifest.tsv counts: committed transactions and their operations, failed ones apart. */
typedef struct counts {
    size_t txns, ops, sessions;
    bool unique;
} counts;

static inline int compare_u64(const void *x, const void *y)
{
    uint64_t a = *(const uint64_t *)x, b = *(const uint64_t *)y;
    return a < b ? -1 : a > b;
}

static inline counts count(const history *h)
{
    counts c = {0, 0, h->sessions.n, true};
    uint64_t *written = malloc((h->ops + 1) * sizeof *written);
    size_t n = 0;
    for (txn_id t = 0; t < h->txns; t++) {
        if (txn_status_of(h, t) != TXN_COMMITTED) continue;
        c.txns++;
        for (op_id o = h->txn_op[t]; o < h->txn_op[t + 1]; o++) {
            if (h->op_kind[o] & OP_FAILED) continue;
            c.ops++;
            if (op_kind_of(h, o) == OP_WRITE)
                written[n++] = (uint64_t)h->op_key[o] << 32 | h->op_value[o];
        }
    }
    qsort(written, n, sizeof *written, compare_u64);
    for (size_t i = 1; i < n; i++)
        if (written[i] == written[i - 1]) c.unique = false;
    free(written);
    return c;
}

/* Told by content, written again: the same text and nothing lost. */
static inline void expect_same_text(const char *format, const char *from)
{
    guard g;
    history *h = load(&g, NULL, from, strlen(from));
    EXPECT_STR(g.text, "");
    REQUIRE(h);
    text t = dump(h, format);
    EXPECT_STR(t.at, from);
    EXPECT_EQ_UINT(t.lost, 0);
    free(t.at);
    history_free(h);
}

/* A native history, written: this text and these losses; and what was written can be read. */
static inline void expect_written(const char *format, const char *native, const char *want,
                                  uint64_t lost)
{
    guard g;
    history *h = load(&g, "ratel", native, strlen(native));
    EXPECT_STR(g.text, "");
    REQUIRE(h);
    text t = dump(h, format);
    EXPECT_STR(t.at, want);
    EXPECT_EQ_UINT(t.lost, lost);
    history *again = load(&g, format, t.at, t.n);
    EXPECT_STR(g.text, "");
    history_free(again);
    free(t.at);
    history_free(h);
}

/* Reads every manifest line of a format and compares the counts; returns how many there were. */
static inline int check_manifest(const char *format)
{
    const char *path = shared_path("manifest.tsv");
    FILE *f = path ? fopen(path, "r") : NULL;
    if (!f) return -1;
    static char line[1 << 16], file[8192];
    char root[4096];
    snprintf(root, sizeof root, "%.*s", (int)(strlen(path) - strlen("manifest.tsv")), path);
    int n = 0;
    while (fgets(line, sizeof line, f)) {
        char *field[8], *p = line;
        for (int i = 0; i < 8; i++) {
            field[i] = p;
            p += strcspn(p, "\t\n");
            if (*p) *p++ = 0;
        }
        if (strcmp(field[1], format) != 0) continue;
        n++;
        guard g;
        snprintf(file, sizeof file, "%s%s", root, field[0]);
        history *h = load_path(&g, NULL, file);
        if (!h) {
            test_fail(__FILE__, __LINE__, "%s: %s", field[0], g.text);
            continue;
        }
        counts c = count(h);
        char got[200], want[200];
        snprintf(got, sizeof got, "%zu %zu %zu %s", c.txns, c.ops, c.sessions,
                 c.unique ? "yes" : "no");
        snprintf(want, sizeof want, "%.40s %.40s %.40s %.40s", field[4], field[5], field[6],
                 field[7]);
        if (strcmp(got, want) != 0)
            test_fail(__FILE__, __LINE__, "%s: counted %s, manifest %s", field[0], got, want);
        history_free(h);
    }
    fclose(f);
    return n;
}

#endif
