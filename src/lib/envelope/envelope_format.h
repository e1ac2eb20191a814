/*
 * envelope_format.h - the file of a trace (.rtrace), shared by those who write and read it.
 *
 * A file begins with ENVELOPE_HEAD bytes: this head, then the header's text.  Chunks follow, each a
 * multiple of ENVELOPE_UNIT long and of one session; a unit that begins with zero was claimed and
 * never used.  A record is complete if its size is not zero: the size is stored last.  Numbers are
 * those of the machine, which `magic` shows.
 */
#ifndef RATEL_ENVELOPE_ENVELOPE_FORMAT_H
#define RATEL_ENVELOPE_ENVELOPE_FORMAT_H

#include <stdatomic.h>
#include <stdint.h>

#define ENVELOPE_MAGIC 0x3145434152545452ull /* "RTTRACE1" */
#define ENVELOPE_CHUNK 0x4b4e4843u           /* "CHNK" */
enum { ENVELOPE_HEAD = 65536, ENVELOPE_UNIT = 65536 };

typedef struct envelope_head {
    uint64_t magic;
    uint32_t unit;              /* ENVELOPE_UNIT */
    uint32_t pid;               /* of the process that writes */
    char host[40];              /* the boot of the machine: times of one boot can be compared */
    uint32_t forked;            /* the process is a child of the one that opened the trace */
    uint32_t header;            /* bytes of text after the head */
    _Atomic uint64_t lost;      /* events that could not be recorded */
    _Atomic uint64_t lost_from; /* when the first of them was */
} envelope_head;

typedef struct envelope_chunk {
    uint32_t magic;
    uint32_t session; /* from 1 on, in the file */
    uint32_t number;  /* of the session's chunks, from 0 on */
    uint32_t units;
} envelope_chunk;

typedef enum envelope_kind {
    ENVELOPE_SESSION = 1, /* the name */
    ENVELOPE_BEGIN,
    ENVELOPE_BEGUN,
    ENVELOPE_INPUT,  /* JSON */
    ENVELOPE_OUTPUT, /* JSON, or nothing */
    ENVELOPE_COMMIT,
    ENVELOPE_ROLLBACK,
    ENVELOPE_ENDED,
    ENVELOPE_OP_HINT,  /* name, zero, JSON */
    ENVELOPE_TXN_HINT, /* the same */
    ENVELOPE_CLOSED
} envelope_kind;

typedef struct envelope_record {
    _Atomic uint32_t size; /* of the record without the bytes that align the next; 0: none */
    uint16_t kind;
    uint16_t outcome;
    uint64_t time; /* nanoseconds of CLOCK_MONOTONIC */
} envelope_record;

#endif
