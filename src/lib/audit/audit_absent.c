/*
 * audit_absent.c - the border of the room in a build without libpg_query: says so by name.
 */
#include "audit/audit_schedule.h"

#include <string.h>

#include "opt/level.h"

bool audit_available(void)
{
    return false;
}

bool audit_level_at(size_t i, const char **name, const char **alias, const char **about)
{
    const level_info *l = level_of_logs(i);
    if (!l) return false;
    *name = l->name;
    *alias = l->aliases;
    *about = l->log.about;
    return true;
}

const char *audit_level_named(const char *name)
{
    return name;
}

bool audit_pass_at(size_t i, const char **name, const char **about)
{
    (void)i, (void)name, (void)about;
    return false;
}

int audit_run(audit **out, const audit_options *o, audit_read read, void *payload,
              audit_answer *answer)
{
    (void)o, (void)read, (void)payload;
    *out = NULL;
    memset(answer, 0, sizeof *answer);
    return -6; /* RATEL_EUNSUPPORTED */
}

int audit_again(audit *a, const audit_options *o, audit_answer *answer)
{
    (void)a, (void)o, (void)answer;
    return -6;
}

int audit_read_log(audit **out, const audit_options *o, audit_read read, void *payload)
{
    (void)o, (void)read, (void)payload;
    *out = NULL;
    return -6;
}

int audit_schedule_of(audit *a, const audit_options *o, audit_schedule *out)
{
    (void)a, (void)o;
    memset(out, 0, sizeof *out);
    return -6;
}

int audit_shrink(audit *a, const audit_options *o, const audit_answer *answer, audit_shrunk *out)
{
    (void)a, (void)o, (void)answer, (void)out;
    return -6;
}

int audit_show(audit *a, const audit_answer *r, const audit_shown_txn **at, size_t *n)
{
    (void)a, (void)r;
    *at = NULL;
    *n = 0;
    return -6;
}

int audit_changes(audit *a, const audit_answer *r, const audit_change **at, size_t *n)
{
    (void)a, (void)r;
    *at = NULL;
    *n = 0;
    return -6;
}

int audit_keys(audit *a, const audit_options *o, const char *keys, audit_key_view *out)
{
    (void)a, (void)o, (void)keys, (void)out;
    return -6;
}

bool audit_finding_at(size_t i, audit_finding *out)
{
    (void)i, (void)out;
    return false;
}

int audit_sniff(audit_read read, void *payload)
{
    (void)read, (void)payload;
    return 0;
}

int audit_lint(audit **out, const audit_options *o, audit_read read, void *payload,
               audit_counts *counts, const audit_finding **at, size_t *n)
{
    (void)o, (void)read, (void)payload, (void)counts, (void)at, (void)n;
    *out = NULL;
    return -6;
}

const char *audit_error(const audit *a, uint64_t *line, uint64_t *column)
{
    (void)a;
    *line = *column = 0;
    return "this build has no libpg_query, which audit needs (Debian: libpg-query-dev, "
           "libprotobuf-c-dev)";
}

void audit_free(audit *a)
{
    (void)a;
}
