/*
 * plan_check.h - is a plan one that the interpreter can run?
 *
 * Asserts the shape that bind*.c promise and eval.c, query.c and modify.c rely on: how many
 * arguments each kind of expression has, that every column, parameter and aggregate exists where it
 * is read, and which members each kind of statement has.  Does nothing in a build without
 * assertions.  Takes time linear in the plan.
 */
#ifndef RATEL_SQL_PLAN_CHECK_H
#define RATEL_SQL_PLAN_CHECK_H

#include "sql/plan.h"

void plan_check(const plan *p);
/* Fills join.unread of a query; of other statements it stays 0. */
void plan_note_unread(plan *p);

#endif
