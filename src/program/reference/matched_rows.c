/*
 * matched_rows.c - see matched_rows.h.
 *
 * Each row of the log takes the first row of the engine that fits and is free, beginning at its own
 * place, so that rows in the same order are paired as they stand.  In the worst case every pair is
 * looked at, hence the limit.
 */
#include "reference/matched_rows.h"

enum { MATCHED_ROWS = 300 };

void bind_matched_rows(reference_engine *e, const log_stmt *l, const db_session *s,
                       row_fits_fn *fits)
{
    if (!l->has_rows || !s->has_rows || l->n_cols != s->n_cols || l->n_rows != s->n_rows ||
        l->n_rows > MATCHED_ROWS)
        return;
    bool *taken = mem_array0(e->mem, bool, s->n_rows + 1);
    for (uint32_t i = 0; i < l->n_rows; i++) {
        uint32_t row = i; /* its own place first */
        for (uint32_t n = 0; n < s->n_rows; n++, row = (row + 1) % s->n_rows)
            if (!taken[row] && fits(e, l, i, s, row, false)) {
                taken[row] = fits(e, l, i, s, row, true);
                break;
            }
    }
    mem_put(e->mem, taken);
}
