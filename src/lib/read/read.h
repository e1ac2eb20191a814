/*
 * read.h - the readers and writers, one table.
 *
 * A reader takes a source (one stream of bytes) or, for formats that are directories, a list of
 * named streams, and calls the builder of history/history.h; it does not freeze.  It reports the
 * first wrong byte through source_fail and repairs nothing silently.  A writer appends to a sink
 * and says through `lost` what the format cannot hold.
 */
#ifndef RATEL_READ_READ_H
#define RATEL_READ_READ_H

#include "history/history.h"
#include "read/byte_source.h"

/* A directory given as a history; names are base names, sorted. */
typedef struct read_dir {
    const char *path;
    size_t members;
    const char *const *names;
} read_dir;

/* Points the source at member i (closing the one before); errors then carry the member's name. */
void source_open_member(source *s, const read_dir *d, size_t i);

typedef struct sink {
    mem *mem;
    guard *guard;
    int (*write)(const void *buf, size_t n, void *payload); /* 0 or an error */
    void *payload;
    strbuf buf; /* flushed when it passes SINK_FLUSH */
    uint64_t lost_bits;
    uint64_t *lost_ops; /* how many operations, or transactions with some, by lost_bit; in mem */
    uint64_t flushed;   /* bytes */
    void *cache;        /* what a directory writer keeps from member to member, in mem */
    void *deflater;     /* inflate.c's state if the output is compressed, else NULL */
} sink;

#define SINK_FLUSH ((size_t)1 << 16)

void sink_init(sink *s, mem *m, guard *g, int (*write)(const void *, size_t, void *),
               void *payload);
void sink_flush(sink *s);
static inline void sink_check(sink *s)
{
    if (s->buf.n >= SINK_FLUSH) sink_flush(s);
}

/* What a target format cannot hold; a writer sets the bits, the caller tells the user. */
#define LOST_LIST(X)                                                                               \
    X(ABORTED, "aborted transactions")                                                             \
    X(UNKNOWN, "transactions of unknown outcome")                                                  \
    X(TIMES, "times")                                                                              \
    X(LABELS, "session or transaction ids (renumbered)")                                           \
    X(KEYS, "keys (renumbered)")                                                                   \
    X(VALUES, "values (renumbered)")                                                               \
    X(INIT, "the initial state")                                                                   \
    X(NULLS, "reads of absent keys")                                                               \
    X(DELETES, "deletes")                                                                          \
    X(RANGES, "scans and iterators")                                                               \
    X(LISTS, "appends and list reads")                                                             \
    X(REGISTERS, "register reads and writes")                                                      \
    X(UNKNOWN_READS, "reads of unknown result")                                                    \
    X(ATTRS, "attributes of operations")                                                           \
    X(EXTRAS, "notes and other fields")                                                            \
    X(MARKS, "marks")                                                                              \
    X(FAILED, "failed statements")                                                                 \
    X(EMPTY, "empty transactions or sessions")                                                     \
    X(READS, "reads")
enum lost_bit {
#define X(name, text) LOST_##name,
    LOST_LIST(X)
#undef X
        LOST_COUNT
};
static inline void sink_lose(sink *s, enum lost_bit b)
{
    s->lost_bits |= (uint64_t)1 << b;
}
/* The same of an operation that is left out, or of a transaction with its operations: losses that
   sink_refuse_loss refuses. */
void sink_lose_op(sink *s, enum lost_bit b);
void sink_lose_txn(sink *s, const history *h, txn_id t, enum lost_bit b);
/* What was noted of a kind of operation does not hold for this format. */
void sink_keep_ops(sink *s, enum lost_bit b);
/* Fails if an operation was left out. */
void sink_refuse_loss(const sink *s, const char *format);
const char *lost_text(enum lost_bit b);

typedef struct read_format {
    const char *id; /* its name: "ratel", "dbcop", ... */
    const char *about;
    bool binary;
    bool directory;
    void (*read)(history *h, source *s); /* one stream (for a directory format: one member) */
    void (*read_dir)(history *h, const read_dir *d, source *s);
    void (*write)(const history *h, sink *out); /* NULL: cannot be written as one stream */
    /* Directory formats: the file of one session; NULL otherwise. */
    void (*write_member)(const history *h, uint32_t session, sink *out);
    uint32_t (*members)(const history *h); /* how many files: the sessions', then others */
    char member_letter;                    /* T: files are called T<number>.log */
    bool (*member)(const char *name, uint64_t *number); /* is this one of its files? */
} read_format;

/* The table (formats.def), in the order of detection. */
const read_format *read_format_at(size_t i);
const read_format *read_format_named(const char *id);
/* By the first bytes (as many as the window holds); NULL if it cannot be told. */
const read_format *read_detect(source *s);
/* Gives the positions and timestamps of a version certificate, itself read as a history, to the
   transactions of h that wrote its versions. */
void read_versions(history *h, const history *certificate);

/* Whether files of sessions are numbered by label (all are small numbers) or by position. */
bool read_numbered(const history *h);
/* How many sessions' files a directory gets: also those of declared, empty sessions. */
uint32_t read_session_files(const history *h);
/* Whether any of a directory's files is of the format. */
bool read_dir_has(const read_format *f, size_t members, const char *const *names);
/* By the names of a directory's files. */
const read_format *read_detect_dir(size_t members, const char *const *names);

#endif
