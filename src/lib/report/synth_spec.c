/*
 * synth_spec.c - a synthesized history as a test of PostgreSQL's isolationtester.
 *
 * Commits follow the order of the first allowed level.  A transaction begins, and does its reads,
 * right after the last commit that it must see: of its session, of whom it reads from, and if that
 * changes no read, of whom it overwrites.  A database that keeps the forbidden level shows other
 * values, waits, or aborts.
 */
#include <string.h>

#include "report/synth_report.h"

/* Position in the order of commits, from 1; the order is the identity if no level is allowed. */
static void positions(const synth_answer *r, bool witness, uint32_t *place)
{
    place[0] = 0;
    for (uint32_t k = 0; k < r->txns; k++) place[witness ? r->witness[0][k] : k + 1] = k + 1;
}

/* Does t, beginning after so many commits, read what it read?  Nobody overwrote it by then. */
static bool reads_same(const synth_answer *r, const uint32_t *place, uint32_t t, uint32_t after)
{
    for (uint32_t x = 0; x < r->keys; x++) {
        uint32_t from = r->from[(size_t)t * r->keys + x];
        for (uint32_t u = 1; from != SYNTH_NONE_READ && u <= r->txns; u++)
            if (r->writes[(size_t)u * r->keys + x] && place[u] > place[from] && place[u] <= after)
                return false;
    }
    return true;
}

/* How many commits come before its begin: those that it must see; and, if that changes no read,
   those that it overwrites, which a database would have it see. */
static uint32_t begin_of(const synth_answer *r, const uint32_t *place, uint32_t t)
{
    uint32_t after = 0;
    for (uint32_t x = 0; x < r->keys; x++) {
        uint32_t from = r->from[(size_t)t * r->keys + x];
        if (from != SYNTH_NONE_READ && place[from] > after) after = place[from];
    }
    for (uint32_t a = 1; a <= r->txns; a++)
        if (r->so[(size_t)a * (r->txns + 1) + t] && place[a] > after) after = place[a];
    uint32_t later = after;
    for (uint32_t a = 1; a <= r->txns; a++)
        for (uint32_t x = 0; x < r->keys; x++)
            if (r->writes[(size_t)a * r->keys + x] && r->writes[(size_t)t * r->keys + x] &&
                place[a] < place[t] && place[a] > later)
                later = place[a];
    return reads_same(r, place, t, later) ? later : after;
}

static void steps_of(strbuf *out, const synth_answer *r, uint32_t t, const char *level)
{
    char key[24];
    strbuf_printf(out, "step t%u_begin { BEGIN ISOLATION LEVEL %s; }\n", (unsigned)t, level);
    for (uint32_t x = 0; x < r->keys; x++) {
        uint32_t from = r->from[(size_t)t * r->keys + x];
        if (from == SYNTH_NONE_READ) continue;
        synth_key_name(x, key, sizeof key);
        strbuf_printf(out,
                      "step t%u_r_%s { SELECT v FROM ratel WHERE k = '%s'; } # %u in the history\n",
                      (unsigned)t, key, key, (unsigned)from);
    }
    for (uint32_t x = 0; x < r->keys; x++) {
        if (!r->writes[(size_t)t * r->keys + x]) continue;
        synth_key_name(x, key, sizeof key);
        strbuf_printf(out, "step t%u_w_%s { UPDATE ratel SET v = %u WHERE k = '%s'; }\n",
                      (unsigned)t, key, (unsigned)t, key);
    }
    strbuf_printf(out, "step t%u_commit { COMMIT; }\n", (unsigned)t);
}

static void run_of(strbuf *out, const synth_answer *r, uint32_t t, bool end)
{
    char key[24];
    if (!end) strbuf_printf(out, " t%u_begin", (unsigned)t);
    for (uint32_t x = 0; x < r->keys; x++) {
        size_t cell = (size_t)t * r->keys + x;
        synth_key_name(x, key, sizeof key);
        if (end ? r->writes[cell] : r->from[cell] != SYNTH_NONE_READ)
            strbuf_printf(out, " t%u_%s_%s", (unsigned)t, end ? "w" : "r", key);
    }
    if (end) strbuf_printf(out, " t%u_commit", (unsigned)t);
}

void report_synth_spec(strbuf *out, const synth_answer *r, bool witness, const char *builtin)
{
    uint32_t *place = mem_array0(out->mem, uint32_t, (size_t)r->txns + 1), sessions = 0;
    char key[24];
    positions(r, witness, place);
    const char *level = strcmp(builtin, "serializable") ? "REPEATABLE READ" : "SERIALIZABLE";
    strbuf_str(out, "setup\n{\n  CREATE TABLE ratel (k text PRIMARY KEY, v int);\n"
                    "  INSERT INTO ratel VALUES");
    for (uint32_t x = 0; x < r->keys; x++) {
        synth_key_name(x, key, sizeof key);
        strbuf_printf(out, "%s ('%s', 0)", x ? "," : "", key);
    }
    strbuf_str(out, ";\n}\nteardown { DROP TABLE ratel; }\n");
    for (uint32_t t = 1; t <= r->txns; t++)
        if (r->session[t] > sessions) sessions = r->session[t];
    for (uint32_t s = 1; s <= sessions; s++) {
        strbuf_printf(out, "\nsession s%u\n", (unsigned)s);
        for (uint32_t t = 1; t <= r->txns; t++)
            if (r->session[t] == s) steps_of(out, r, t, level);
    }
    strbuf_str(out, "\npermutation");
    for (uint32_t k = 0; k <= r->txns; k++) {
        for (uint32_t t = 1; t <= r->txns; t++)
            if (k && place[t] == k) run_of(out, r, t, true);
        for (uint32_t t = 1; t <= r->txns; t++)
            if (begin_of(r, place, t) == k) run_of(out, r, t, false);
    }
    strbuf_char(out, '\n');
    mem_put(out->mem, place);
}
