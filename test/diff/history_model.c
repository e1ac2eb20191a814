/*
 * history_model.c - see history_model.h.  A file of its own: the library's private headers and the
 * verifier's use some names for different things.
 */
#include "diff/history_model.h"

#include "ratel.h"

#include "api/api_internal.h"

const history *history_model(const struct ratel_history *h)
{
    return h->model;
}
