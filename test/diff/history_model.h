/*
 * history_model.h - what the library keeps behind a handle, for tests that look inside.
 */
#ifndef RATEL_TEST_HISTORY_MODEL_H
#define RATEL_TEST_HISTORY_MODEL_H

#include "history/history.h"

struct ratel_history;
const history *history_model(const struct ratel_history *h);

#endif
