/*
 * sparse_suspects.h - few transactions of a violation where most reads are ambiguous.
 *
 * A read of a value that hundreds of transactions wrote can be kept only with all of them, and a
 * proof that uses it names them all.  Mostly the reads that few can explain are contradiction
 * enough: the history without the others is decided again, and the proof of that names few.
 */
#ifndef RATEL_VERDICT_SPARSE_SUSPECTS_H
#define RATEL_VERDICT_SPARSE_SUSPECTS_H

#include "verdict/subhistory.h"
#include "verdict/verdict.h"

typedef VEC(part *) parts;

/* Suspects of the violation that p is of, a set for each number of candidates that was enough; in
   the region of v's answer.  Takes at most half of the time that is left. */
void sparse_suspects(const verdict *v, const problem *p, parts *out);
/* impossible_reads.c: the same where session order and the reads that are certain rule out every
   possible writer of one read. */
void impossible_reads(const verdict *v, const problem *p, parts *out);

#endif
