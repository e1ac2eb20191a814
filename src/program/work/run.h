/*
 * run.h - drives a program against a database with one thread a session, and records it.
 *
 * Times are nanoseconds of one monotonic clock since the start of the run: the call of begin, the
 * return of the first statement that takes the snapshot, call and return of each operation and of
 * commit.  A transaction that the database refused is recorded as aborted and what the session
 * does next is a new one.  A session whose connection was lost goes on under a new name, because
 * what it left behind may still happen.
 */
#ifndef RATEL_WORK_RUN_H
#define RATEL_WORK_RUN_H

#include "base/replace_file.h"
#include "work/faults.h"
#include "work/program.h"

typedef struct run_counts {
    uint64_t committed, aborted, unknown, ops, lost;
    uint64_t learnt; /* commits whose answer was lost, but not their outcome */
    uint64_t faults;
    uint64_t deleted; /* rows, physically, by transactions of whatever outcome */
    /* Of an engine that was killed: commits with writes that were acknowledged before, keys that
       were read back afterwards, and those of them where such a commit is missing. */
    uint64_t acknowledged, read_back, lost_commits;
    char lost_commit[200]; /* the first */
    /* COMMITs that ended without an answer although nothing was disturbed, or did not end. */
    uint64_t failed_commits, hung_commits;
    char failed_commit[300]; /* the first */
    bool hung;               /* a call never returned: the database must not be closed */
    uint64_t tampered;       /* values that came back as others than were written; with write ids */
    double seconds;
} run_counts;

typedef struct run_options {
    uint32_t sessions;
    uint64_t txns;  /* recorded ones, of whatever outcome; 0: no limit */
    double seconds; /* 0: no limit */
    double rate;    /* transactions a second, all sessions together; 0: as fast as they can */
    uint64_t seed;  /* for the header, and for faults */
    const fault_plan *faults; /* of a temporary server; NULL: none */
    bool mute;                /* drive it all the same, record nothing: what does recording cost? */
    bool stepped;             /* one call at a time, of a session that the seed chooses (turns.h) */
    bool count_calls;         /* then times are numbers of calls, which a seed repeats */
    bool ids;           /* values carry the ids of their writes (ids.h); lists are unique anyhow */
    int output;         /* descriptor to which the history is written */
    replace_file *file; /* output, if it has a name that it gets when the database was reached */
    const char *output_name; /* for messages */
    const char *recorder;    /* for the header: program and version */
    /* Called now and then by the thread that runs; true: end now, cleanly. */
    bool (*poll)(void *ud, const run_counts *c);
    void *ud;
} run_options;

/* False: error says what went wrong; what was recorded until then is complete. */
bool run_program(db *d, const program *p, const run_options *o, run_counts *c, char *error,
                 size_t cap);

#endif
