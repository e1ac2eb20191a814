/*
 * other_solver.h - a level decided by a solver from outside, on the formula of the room emit.
 */
#ifndef RATEL_VERDICT_OTHER_SOLVER_H
#define RATEL_VERDICT_OTHER_SOLVER_H

#include "emit/emit.h"
#include "verdict/verdict.h"

typedef struct other_solver {
    const char *name;
    enum emit_format format;
    enum emit_encoding encoding;
    /* 10 satisfiable, 20 not, 0 gave up; asks stop(stop_ud) now and then, and ends if it must. */
    int (*solve)(void *ud, const char *problem, size_t n, int (*stop)(void *stop_ud),
                 void *stop_ud);
    int64_t (*value)(void *ud, const char *name); /* after 10 */
    void *ud;
} other_solver;

/* As judge(), by the other solver alone.  An order that it finds is replayed by the room verify
   before it counts; that there is none rests on the solver and on the encoding. */
void judge_by(verdict *v, const history *h, const question *q, const other_solver *s, mem *work);
/* The formula as text. */
void judge_emit(const level_ref *level, const history *h, const question *q,
                enum emit_format format, enum emit_encoding encoding, printer *out, mem *work);

#endif
