/*
 * mixed_row.c - see mixed_row.h.
 */
#include "opt/mixed_row.h"

#include <string.h>

enum mixed_row mixed_row_of(const char *json, size_t n)
{
    char name[64];
    level_ref level;
    if (n < 3 || n - 2 >= sizeof name || json[0] != '"' || json[n - 1] != '"') return ROW_NONE;
    memcpy(name, json + 1, n - 2);
    name[n - 2] = 0;
    if (strlen(name) != n - 2 || !level_named(&level, name)) return ROW_NONE;
    /* A name that settles more than the level, such as realtime-si, is no level of one transaction;
       those of Adya settle session order, which here is a matter of all transactions. */
    if (strcmp(level.name, level_at(level.id)->name) != 0) return ROW_NONE;
    switch (level.id) {
    case LEVEL_RU: return ROW_RU;
    case LEVEL_RC: return ROW_RC;
    case LEVEL_RR: return ROW_RR;
    case LEVEL_SI: return ROW_SI;
    case LEVEL_SER: return ROW_SER;
    default: return ROW_NONE;
    }
}

enum mixed_row mixed_row_of_postgres(enum mixed_row row)
{
    switch (row) {
    case ROW_RU:
    case ROW_RC: return ROW_RC;
    case ROW_SI:
    case ROW_SER: return ROW_SI;
    case ROW_RR:
    case ROW_NONE: break;
    }
    return ROW_NONE;
}
