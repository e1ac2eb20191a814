/*
 * matched_rows.h - which row of the engine's answer belongs to which row of the log's, where some
 * values are marks that are still to be bound.
 */
#ifndef RATEL_REFERENCE_MATCHED_ROWS_H
#define RATEL_REFERENCE_MATCHED_ROWS_H

#include "reference/reference_engine.h"

/* Can row i of the log be row `row` of the engine, whatever its marks are?  `bind`: they get the
   values that the log has. */
typedef bool row_fits_fn(reference_engine *e, const log_stmt *l, uint32_t i, const db_session *s,
                         uint32_t row, bool bind);

/* Binds the marks of every row that has a partner.  Answers of many rows, or of another shape, are
   left alone. */
void bind_matched_rows(reference_engine *e, const log_stmt *l, const db_session *s,
                       row_fits_fn *fits);

#endif
