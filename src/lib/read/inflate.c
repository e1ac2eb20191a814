/*
 * inflate.c - decompression and compression; the only file that knows zlib and zstd.
 *
 * Compressed bytes are pulled through one buffer; a window's worth of output is made at a time,
 * so what a small file can blow up to does not matter.  Several gzip members or zstd frames in a
 * row are one stream.  Input that stops inside one is an error: half a history must not pass for
 * a whole one.
 *
 * Invariant: the libraries never call back into us but for memory (zlib), and that callback
 * returns NULL instead of jumping; so no jump crosses their frames.
 */
#include "read/inflate.h"

#include <limits.h>

#include "config.h"
#include "read/zstd_frame.h"

#ifdef HAVE_ZLIB
#include <zlib.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#define CHUNK ((size_t)1 << 17)
#define WINDOW_MAX ((size_t)1 << 27) /* zstd refuses larger windows by itself */

enum packing { PACKED_NOT, PACKED_GZIP, PACKED_ZSTD };

#ifdef HAVE_ZLIB
/* zlib frees without telling a size, the region's function wants it: it stands before the block. */
typedef union block {
    size_t size;
    long double align;
} block;

static voidpf get_block(voidpf opaque, uInt items, uInt size)
{
    mem *m = opaque;
    size_t n = sizeof(block) + (size_t)items * size;
    block *b = m->fn(m->ud, NULL, 0, n);
    if (!b) return Z_NULL;
    b->size = n;
    return b + 1;
}

static void put_block(voidpf opaque, voidpf address)
{
    mem *m = opaque;
    block *b = (block *)address - 1;
    m->fn(m->ud, b, b->size, 0);
}
#endif

/* --- reading ------------------------------------------------------------------------------- */

typedef struct inflater {
    source *s;
    source_read read; /* the bare stream */
    void *payload;
    const char *(*error)(void *payload);
    enum packing packing;
    unsigned char *in;
    size_t at, n;     /* what is left of in: [at, n) */
    uint64_t before;  /* compressed bytes that came before in[0] */
    bool eof, border; /* border: between two members or frames */
    bool may_be_cut;
#ifdef HAVE_ZLIB
    z_stream z;
    bool z_open;
#endif
#ifdef HAVE_ZSTD
    ZSTD_DStream *zstd;
    size_t window;   /* the frame's, as its header says */
    size_t unpacked; /* bytes of the frame, up to its window */
    size_t charged;  /* bytes of the window that the region was charged for */
#endif
} inflater;

static _Noreturn void bad_data(inflater *f, const char *why)
{
    guard *g = f->s->guard;
    g->offset = f->before + f->at;
    g->has_offset = true;
    guard_fail(g, GUARD_PARSE, "%s data: %s", f->packing == PACKED_GZIP ? "gzip" : "zstd", why);
}

#ifdef HAVE_ZLIB
static size_t gunzip(inflater *f, void *buf, size_t cap)
{
    if (f->border && inflateReset(&f->z) != Z_OK) bad_data(f, "cannot start a new member");
    f->border = false;
    size_t in = f->n - f->at, out = cap > UINT_MAX ? UINT_MAX : cap;
    f->z.next_in = f->in + f->at;
    f->z.avail_in = (uInt)in;
    f->z.next_out = buf;
    f->z.avail_out = (uInt)out;
    int rc = inflate(&f->z, Z_NO_FLUSH);
    f->at += in - f->z.avail_in;
    if (rc == Z_MEM_ERROR) guard_fail(f->s->guard, GUARD_NOMEM, "out of memory (zlib)");
    if (rc != Z_OK && rc != Z_STREAM_END && rc != Z_BUF_ERROR)
        bad_data(f, f->z.msg ? f->z.msg : "broken");
    f->border = rc == Z_STREAM_END;
    return out - f->z.avail_out;
}
#endif

#ifdef HAVE_ZSTD
/* The window of the frame whose header begins at p (RFC 8878, 3.1.1.1); the largest if the header
   does not tell, and then the frame is a single segment no longer than that, or is cut here. */
static size_t frame_window(const unsigned char *p, size_t n)
{
    if (n < 6 || p[4] & 0x20) return WINDOW_MAX;
    unsigned exponent = p[5] >> 3, mantissa = p[5] & 7;
    size_t base = exponent < 17 ? (size_t)1 << (10 + exponent) : WINDOW_MAX;
    size_t window = base + base / 8 * mantissa;
    return window < WINDOW_MAX ? window : WINDOW_MAX;
}

/* zstd keeps the last bytes that it unpacked, as many as the frame's window, in memory of its own.
   A frame may declare a large window and fill little of it: only what is filled is charged. */
static void charge_window(inflater *f, size_t made)
{
    mem *m = f->s->mem;
    f->unpacked = made > f->window - f->unpacked ? f->window : f->unpacked + made;
    if (f->unpacked <= f->charged) return;
    size_t more = f->unpacked - f->charged;
    if (m->limit && (m->used > m->limit || more > m->limit - m->used))
        guard_fail(f->s->guard, GUARD_NOMEM,
                   "memory limit reached (%zu MiB): unpacking zstd data takes %zu MiB of it",
                   m->limit >> 20, f->unpacked >> 20);
    m->used += more;
    f->charged += more;
}

static size_t unzstd(inflater *f, void *buf, size_t cap)
{
    ZSTD_inBuffer in = {f->in, f->n, f->at};
    ZSTD_outBuffer out = {buf, cap, 0};
    if (!f->window || f->border) {
        f->window = frame_window(f->in + f->at, f->n - f->at);
        f->unpacked = 0; /* the next frame fills the same memory */
    }
    size_t rc = ZSTD_decompressStream(f->zstd, &out, &in);
    f->at = in.pos;
    if (ZSTD_isError(rc)) bad_data(f, ZSTD_getErrorName(rc));
    f->border = rc == 0;
    charge_window(f, out.pos);
    return out.pos;
}
#endif

static size_t unpack(inflater *f, void *buf, size_t cap)
{
#ifdef HAVE_ZLIB
    if (f->packing == PACKED_GZIP) return gunzip(f, buf, cap);
#endif
#ifdef HAVE_ZSTD
    if (f->packing == PACKED_ZSTD) return unzstd(f, buf, cap);
#endif
    (void)f, (void)buf, (void)cap;
    return 0;
}

static ptrdiff_t inflate_read(void *buf, size_t cap, void *payload)
{
    inflater *f = payload;
    for (;;) {
        bool starved = f->at == f->n;
        /* Between members nothing can be pending inside the library: only input helps. */
        if (!starved || !f->border) {
            size_t made = unpack(f, buf, cap);
            if (made) return (ptrdiff_t)made;
        }
        if (f->at < f->n) continue;
        if (f->eof) {
            if (f->border || f->may_be_cut) return 0;
            bad_data(f, "cut off before its end");
        }
        f->before += f->n;
        f->at = f->n = 0;
        ptrdiff_t got = f->read(f->in, CHUNK, f->payload);
        if (got < 0) return got;
        f->n = (size_t)got;
        f->eof = !got;
    }
}

static const char *inflate_error(void *payload)
{
    inflater *f = payload;
    return f->error ? f->error(f->payload) : "read error";
}

static enum packing packing_of(source *s)
{
    const char *p;
    if (!source_need(s, 4)) return PACKED_NOT;
    p = s->at + s->pos;
    /* the third byte is the method, of which there is one; a binary history may begin like that */
    if (!memcmp(p, "\x1f\x8b\x08", 3)) return PACKED_GZIP;
    if (!memcmp(p, "\x28\xb5\x2f\xfd", 4)) return PACKED_ZSTD;
    return PACKED_NOT;
}

static void start(inflater *f)
{
    guard *g = f->s->guard;
#ifdef HAVE_ZLIB
    if (f->packing == PACKED_GZIP) {
        f->z.zalloc = get_block;
        f->z.zfree = put_block;
        f->z.opaque = f->s->mem;
        if (inflateInit2(&f->z, 15 + 16) != Z_OK) /* 16: gzip's header and checksum */
            guard_fail(g, GUARD_NOMEM, "out of memory (zlib)");
        f->z_open = true;
        return;
    }
#endif
#ifdef HAVE_ZSTD
    if (f->packing == PACKED_ZSTD) {
        f->zstd = ZSTD_createDStream();
        if (!f->zstd) guard_fail(g, GUARD_NOMEM, "out of memory (zstd)");
        return;
    }
#endif
    guard_fail(g, GUARD_UNSUPPORTED, "%s-compressed, and this program was built without %s",
               f->packing == PACKED_GZIP ? "gzip" : "zstd",
               f->packing == PACKED_GZIP ? "zlib" : "libzstd");
}

bool inflate_wrap(source *s)
{
    enum packing packing = packing_of(s);
    if (packing == PACKED_NOT) return false;
    inflater *f = mem_zeroed(s->mem, sizeof *f);
    f->s = s;
    f->read = s->read;
    f->payload = s->payload;
    f->error = s->error;
    f->packing = packing;
    s->inflater = f;
    size_t have = s->n - s->pos;
    f->in = mem_get(s->mem, have > CHUNK ? have : CHUNK);
    memcpy(f->in, s->at + s->pos, have); /* what was looked at is the first input */
    f->n = have;
    f->eof = s->eof;
    start(f);
    s->n = s->pos = 0;
    s->at[0] = 0;
    s->eof = false;
    s->read = inflate_read;
    s->payload = f;
    s->error = inflate_error;
    return true;
}

void inflate_allow_cut(source *s)
{
    inflater *f = s->inflater;
    if (f) f->may_be_cut = true;
}

void inflate_close(source *s)
{
    inflater *f = s->inflater;
    if (!f) return;
#ifdef HAVE_ZLIB
    if (f->z_open) inflateEnd(&f->z);
#endif
#ifdef HAVE_ZSTD
    ZSTD_freeDStream(f->zstd);
    s->mem->used -= f->charged;
#endif
    s->read = f->read;
    s->payload = f->payload;
    s->error = f->error;
    s->inflater = NULL;
    mem_put(s->mem, f->in);
    mem_put(s->mem, f);
}

/* --- writing ------------------------------------------------------------------------------- */

typedef struct deflater {
    int (*write)(const void *buf, size_t n, void *payload);
    void *payload;
    enum packing packing;
    unsigned char *out;
#ifdef HAVE_ZLIB
    z_stream z;
    bool z_open;
#endif
#ifdef HAVE_ZSTD
    ZSTD_CCtx *zstd;
#endif
} deflater;

/* Compresses n bytes, and with `last` all that is pending; 0 or an error. */
static int pack(deflater *d, const void *buf, size_t n, bool last)
{
#ifdef HAVE_ZLIB
    if (d->packing == PACKED_GZIP) {
        const unsigned char *p = buf;
        for (;;) {
            uInt step = n > UINT_MAX ? UINT_MAX : (uInt)n;
            d->z.next_in = (z_const Bytef *)p;
            d->z.avail_in = step;
            d->z.next_out = d->out;
            d->z.avail_out = (uInt)CHUNK;
            int rc = deflate(&d->z, last && step == n ? Z_FINISH : Z_NO_FLUSH);
            if (rc == Z_STREAM_ERROR) return -1;
            p += step - d->z.avail_in;
            n -= step - d->z.avail_in;
            size_t made = CHUNK - d->z.avail_out;
            int failed = made ? d->write(d->out, made, d->payload) : 0;
            if (failed) return failed;
            if (last ? rc == Z_STREAM_END : !n && d->z.avail_out) return 0;
        }
    }
#endif
#ifdef HAVE_ZSTD
    if (d->packing == PACKED_ZSTD) {
        ZSTD_inBuffer in = {buf, n, 0};
        for (;;) {
            ZSTD_outBuffer out = {d->out, CHUNK, 0};
            size_t rc =
                ZSTD_compressStream2(d->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);
            if (ZSTD_isError(rc)) return -1;
            int failed = out.pos ? d->write(d->out, out.pos, d->payload) : 0;
            if (failed) return failed;
            if (last ? !rc : in.pos == in.size) return 0;
        }
    }
#endif
    (void)d, (void)buf, (void)n, (void)last;
    return -1;
}

static int deflate_write(const void *buf, size_t n, void *payload)
{
    return pack(payload, buf, n, false);
}

static void start_packing(sink *s, deflater *d)
{
#ifdef HAVE_ZLIB
    if (d->packing == PACKED_GZIP) {
        d->z.zalloc = get_block;
        d->z.zfree = put_block;
        d->z.opaque = s->mem;
        if (deflateInit2(&d->z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
            guard_fail(s->guard, GUARD_NOMEM, "out of memory (zlib)");
        d->z_open = true;
        return;
    }
#endif
#ifdef HAVE_ZSTD
    if (d->packing == PACKED_ZSTD) {
        d->zstd = ZSTD_createCCtx();
        if (!d->zstd) guard_fail(s->guard, GUARD_NOMEM, "out of memory (zstd)");
        ZSTD_CCtx_setParameter(d->zstd, ZSTD_c_checksumFlag, 1);
        return;
    }
#endif
    guard_fail(s->guard, GUARD_UNSUPPORTED, "this program was built without %s",
               d->packing == PACKED_GZIP ? "zlib" : "libzstd");
}

bool deflate_wrap(sink *s, const char *name)
{
    size_t n = strlen(name);
    bool gz = n > 3 && !strcmp(name + n - 3, ".gz"), zst = n > 4 && !strcmp(name + n - 4, ".zst");
    if (!gz && !zst) return false;
    deflater *d = mem_zeroed(s->mem, sizeof *d);
    d->packing = gz ? PACKED_GZIP : PACKED_ZSTD;
    d->write = s->write;
    d->payload = s->payload;
    s->deflater = d;
    d->out = mem_get(s->mem, CHUNK);
    start_packing(s, d);
    s->write = deflate_write;
    s->payload = d;
    return true;
}

bool deflate_frame(const char *at, size_t n, strbuf *out)
{
    out->n = 0;
#ifdef HAVE_ZSTD
    vec_reserve(out->mem, out,
                ZSTD_compressBound(n)); /* may fail by its guard: nothing is held yet */
    ZSTD_CCtx *c = ZSTD_createCCtx();
    if (!c) return false;
    ZSTD_CCtx_setParameter(c, ZSTD_c_compressionLevel, 1); /* whoever records must not wait */
    ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
    size_t made = ZSTD_compress2(c, out->at, ZSTD_compressBound(n), at, n);
    ZSTD_freeCCtx(c);
    if (ZSTD_isError(made)) return false;
    out->n = made;
    return true;
#else
    (void)at, (void)n;
    return false;
#endif
}

bool deflate_has_frames(void)
{
#ifdef HAVE_ZSTD
    return true;
#else
    return false;
#endif
}

void deflate_finish(sink *s)
{
    sink_flush(s);
    deflater *d = s->deflater;
    if (d && pack(d, "", 0, true)) guard_fail(s->guard, GUARD_IO, "write error");
}

void deflate_close(sink *s)
{
    deflater *d = s->deflater;
    if (!d) return;
#ifdef HAVE_ZLIB
    if (d->z_open) deflateEnd(&d->z);
#endif
#ifdef HAVE_ZSTD
    ZSTD_freeCCtx(d->zstd);
#endif
    if (s->payload == d) {
        s->write = d->write;
        s->payload = d->payload;
    }
    s->deflater = NULL;
    mem_put(s->mem, d->out);
    mem_put(s->mem, d);
}
