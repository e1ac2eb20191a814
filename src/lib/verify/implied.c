/*
 * implied.c - which level follows from which, as the verifier knows it: doc/levels.md 7, read off
 * once more.  A certificate may show an answer through another level (`through`).
 */
#include "verify/certificate.h"

/* A level without session order, with it, or with real time too. */
enum form { OFF, ON, REAL, FORMS };

/* Row by row as in the lattice: left holds, so right holds.  That a level follows from itself with
   more order is not said here. */
static const struct {
    enum level_id from;
    enum form from_form;
    enum level_id to;
    enum form to_form;
} rows[] = {
    {LEVEL_SER, OFF, LEVEL_SI, OFF},
    {LEVEL_SI, OFF, LEVEL_CV, OFF},
    {LEVEL_CV, OFF, LEVEL_MV, OFF},
    {LEVEL_MV, OFF, LEVEL_MAV, OFF},
    {LEVEL_CV, OFF, LEVEL_CS, OFF},
    {LEVEL_MAV, OFF, LEVEL_RC, OFF},
    {LEVEL_CS, OFF, LEVEL_RC, OFF},
    {LEVEL_RC, OFF, LEVEL_RU, OFF},
    {LEVEL_SER, OFF, LEVEL_RR, OFF},
    {LEVEL_RR, OFF, LEVEL_CS, OFF},
    {LEVEL_SER, OFF, LEVEL_US, OFF},
    {LEVEL_US, OFF, LEVEL_CV, OFF},
    {LEVEL_RR, OFF, LEVEL_INNODB_RR_TIGHT, OFF},
    {LEVEL_INNODB_RR_TIGHT, OFF, LEVEL_INNODB_RR, OFF},
    {LEVEL_INNODB_RR, OFF, LEVEL_RC, OFF},
    {LEVEL_CV, OFF, LEVEL_CC, OFF},
    {LEVEL_CV, OFF, LEVEL_UA, OFF},
    {LEVEL_SI, OFF, LEVEL_PC, OFF},
    {LEVEL_PC, OFF, LEVEL_CC, OFF},
    {LEVEL_CC, OFF, LEVEL_RA, OFF},
    {LEVEL_RA, OFF, LEVEL_MAV, OFF},
    {LEVEL_UA, OFF, LEVEL_NLU, OFF},
    {LEVEL_NLU, OFF, LEVEL_RA, OFF},
    {LEVEL_NLU, OFF, LEVEL_CS, OFF},
    {LEVEL_SER, ON, LEVEL_SI, ON},
    {LEVEL_SI, ON, LEVEL_PC, ON},
    {LEVEL_SI, ON, LEVEL_PSI, ON},
    {LEVEL_PC, ON, LEVEL_CC, ON},
    {LEVEL_PSI, ON, LEVEL_CC, ON},
    {LEVEL_CC, ON, LEVEL_RA, ON},
    {LEVEL_RA, ON, LEVEL_MAV, ON},
    {LEVEL_MAV, ON, LEVEL_RC, ON},
    {LEVEL_PSI, ON, LEVEL_UA, ON},
    {LEVEL_UA, ON, LEVEL_NLU, ON},
    {LEVEL_NLU, ON, LEVEL_RA, ON},
    {LEVEL_NLU, ON, LEVEL_CS, ON},
    {LEVEL_PSI, ON, LEVEL_CV, ON},
    {LEVEL_CV, ON, LEVEL_PSI, ON},
    {LEVEL_PSI, ON, LEVEL_MV, ON},
    {LEVEL_MV, ON, LEVEL_MAV, ON},
    {LEVEL_CS, ON, LEVEL_RC, ON},
    {LEVEL_RC, ON, LEVEL_RU, ON},
    {LEVEL_RR, ON, LEVEL_CS, ON},
    {LEVEL_US, ON, LEVEL_UA, ON},
    {LEVEL_SER, ON, LEVEL_RR, ON},
    {LEVEL_SER, ON, LEVEL_US, ON},
    {LEVEL_SSER, ON, LEVEL_SER, ON},
    {LEVEL_SSER, ON, LEVEL_SI, REAL},
    {LEVEL_STRONG_SI, ON, LEVEL_SI, REAL},
    {LEVEL_STRONG_SI, ON, LEVEL_PCSI, ON},
    {LEVEL_PCSI, ON, LEVEL_GSI, OFF},
    {LEVEL_PCSI, ON, LEVEL_SI, ON},
    {LEVEL_GSI, OFF, LEVEL_SI, OFF},
    {LEVEL_SI, REAL, LEVEL_FCV, ON},
    {LEVEL_FCV, ON, LEVEL_PSI, ON},
    {LEVEL_FCV, ON, LEVEL_RC, REAL},
    {LEVEL_SSER, ON, LEVEL_LIN, ON},
    {LEVEL_LIN, ON, LEVEL_SER, OFF},
    {LEVEL_SER, OFF, LEVEL_MIXED, OFF},
    {LEVEL_SER, ON, LEVEL_MIXED, ON},
    {LEVEL_SSER, ON, LEVEL_MIXED, REAL},
    {LEVEL_MIXED, OFF, LEVEL_RU, OFF},
    {LEVEL_MIXED, ON, LEVEL_RU, ON},
    {LEVEL_SER, OFF, LEVEL_MIXED_PG, OFF},
    {LEVEL_SER, ON, LEVEL_MIXED_PG, ON},
    {LEVEL_SSER, ON, LEVEL_MIXED_PG, REAL},
    {LEVEL_MIXED_PG, OFF, LEVEL_RC, OFF},
    {LEVEL_MIXED_PG, ON, LEVEL_RC, ON},
};

static enum form form_of(const claim *c)
{
    return c->level.realtime ? REAL : c->session_order ? ON : OFF;
}

bool claim_implies(const claim *a, const claim *b)
{
    bool holds[LEVELS][FORMS] = {{false}};
    holds[a->level.id][form_of(a)] = true;
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < LEVELS; i++)
            for (int f = REAL; f > OFF; f--)
                if (holds[i][f] && !holds[i][f - 1] && level_at(i)->session_order == LEVEL_OPTION)
                    holds[i][f - 1] = more = true;
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
            bool *to = &holds[rows[i].to][rows[i].to_form];
            if (!holds[rows[i].from][rows[i].from_form] || *to) continue;
            *to = more = true;
        }
    }
    return holds[b->level.id][form_of(b)];
}
