/*
 * live.c - what `run` and `test` share: opening a database, running a workload of gen against it,
 * and checking the history for the level that the product documents.
 *
 * The workloads of gen make programs of operations; here they become the programs that the runner
 * of src/program/work executes.  Levels and their sources come from driver/contracts.def.
 */
#include "cli/live.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen/workload.h"
#include "opt/level.h"
#include "work/inflict.h"
#include "work/sql_run.h"

/* --- gen's workloads as a program ------------------------------------------------------------ */

typedef struct live_session {
    rng rng;
    plan plan;
    step *steps;
    uint32_t at;
    bool over;       /* the workload has no further step */
    bool nested;     /* a savepoint is set */
    bool rolls_back; /* instead of its commit */
    bool single;     /* one statement without BEGIN and COMMIT */
    bool repeats;    /* what is sent now was sent before */
    uint64_t tries;
    VEC(act) sent; /* where transactions are tried again: by this one so far */
    size_t resent;
} live_session;

typedef struct live_program {
    workload work;
    live_session *sessions;
    bool adds;  /* additions are one statement */
    bool early; /* savepoints also before the first operation */
    /* Limits of draws: a read that locks, a savepoint, a voluntary rollback, one statement alone, a
       range from its end; 0: there is none. */
    uint64_t locking, savepoints, rollbacks, singles, reverse;
    uint64_t retries;
    mem *mem;
} live_program;

/* A workload that reckons with what it reads makes a refused transaction anew; of the others it is
   sent again as it was. */
static bool plan_again(live_program *p, live_session *s)
{
    if (s->tries >= p->retries) return false;
    s->tries++;
    if (!(p->work.class->flags & WORK_MEANING)) return true;
    s->sent.n = 0;
    s->at = 0;
    s->over = false;
    workload_plan(&p->work, &s->rng, &s->plan, s->steps, true);
    return true;
}

static bool program_plan(void *state, uint32_t session, bool again)
{
    live_program *p = state;
    live_session *s = &p->sessions[session];
    s->nested = s->repeats = false;
    s->resent = 0;
    if (again && plan_again(p, s)) return s->single;
    s->tries = s->sent.n = 0;
    s->at = 0;
    s->over = false;
    workload_plan(&p->work, &s->rng, &s->plan, s->steps, false);
    s->rolls_back = p->rollbacks && draw_below(&s->rng, p->rollbacks);
    s->single = p->singles && draw_below(&s->rng, p->singles);
    return s->single;
}

/* Is there something to do with a savepoint before the next step, or at the end? */
static bool nesting_next(const live_program *p, live_session *s, act *a)
{
    if (!p->savepoints || s->single) return false;
    bool changes = s->nested
                       ? s->over || rng_below(&s->rng, 5) < 2
                       : !s->over && (s->at || p->early) && draw_below(&s->rng, p->savepoints);
    if (!changes) return false;
    enum act_kind end = s->nested && rng_below(&s->rng, 2) ? ACT_UNDO : ACT_KEEP;
    *a = (act){.kind = s->nested ? end : ACT_SAVEPOINT};
    s->nested = !s->nested;
    return true;
}

static bool step_next(live_program *p, live_session *s, act *a)
{
    static const uint8_t kinds[] = {[STEP_READ] = ACT_READ,
                                    [STEP_WRITE] = ACT_WRITE,
                                    [STEP_APPEND] = ACT_APPEND,
                                    [STEP_SCAN] = ACT_SCAN,
                                    [STEP_ITER] = ACT_ITER};
    if (s->over || s->at == s->plan.n || (s->single && s->at) ||
        !workload_step(&p->work, &s->rng, &s->plan, s->steps, s->at))
        return false;
    const step *t = &s->steps[s->at++];
    *a = (act){.kind = (enum act_kind)kinds[t->kind],
               .limit = t->limit,
               .key = t->key,
               .to = t->to,
               .value = t->value};
    if (t->kind == STEP_WRITE && t->value == VALUE_NULL) a->kind = ACT_DELETE;
    if (t->kind == STEP_READ && p->locking) a->lock = draw_below(&s->rng, p->locking);
    if (t->kind > STEP_APPEND && p->reverse) a->reverse = draw_below(&s->rng, p->reverse);
    if (t->flags & STEP_SUM && p->adds && !s->single) {
        const step *sum = &s->steps[s->at++];
        a->kind = ACT_ADD;
        a->lock = false;
        a->value = sum->to ? sum->to : sum->value;
        a->upsert = p->work.class->flags & WORK_ROTATING; /* such a key is absent at first */
    }
    return true;
}

static bool program_next(void *state, uint32_t session, act *a)
{
    live_program *p = state;
    live_session *s = &p->sessions[session];
    s->repeats = s->resent < s->sent.n;
    if (s->repeats) {
        *a = s->sent.at[s->resent++];
        if (a->kind >= ACT_SAVEPOINT) s->nested = a->kind == ACT_SAVEPOINT;
        return true;
    }
    bool more = nesting_next(p, s, a);
    if (!more) {
        more = step_next(p, s, a);
        s->over = !more;
        more = more || nesting_next(p, s, a);
    }
    if (!more && s->rolls_back && !s->single) {
        s->rolls_back = false;
        *a = (act){.kind = ACT_ROLLBACK};
        return true;
    }
    if (more && p->retries) {
        vec_push(p->mem, &s->sent, *a);
        s->resent++;
    }
    return more;
}

static void program_seen(void *state, uint32_t session, bool absent, int64_t value)
{
    live_program *p = state;
    live_session *s = &p->sessions[session];
    if (s->repeats) return;
    step *t = &s->steps[s->at - 1];
    /* Workloads reckon with small numbers; what else a database answers is recorded, not used. */
    bool strange = value < 0 || value >= VALUE_TABLE;
    t->value = absent || strange || workload_lists(&p->work) ? p->work.initial : (uint32_t)value;
}

/* Workloads of gen with the operations that a simulated store does not have. */
static const struct live_variant {
    const char *name, *of;
    const char *knobs[4];
    bool strict; /* a database that lacks one of these is refused; else it is left out */
    const char *about;
} variants[] = {
    {"savepoints",
     "rw-register",
     {"savepoints=0.3", "rollbacks=0.1", NULL},
     true,
     "rw-register with savepoints, half of them rolled back to, and voluntary rollbacks"},
    {"mixed",
     "random-bench",
     {"savepoints=0.1", "autocommit=0.2", "reverse=0.5", "retries=3"},
     false,
     "random-bench with savepoints, autocommit, ranges from their end, and retries"},
};
enum { VARIANTS = sizeof variants / sizeof *variants, VARIANT_KNOBS = 4 };

static const struct live_variant *variant_of(const char *name)
{
    for (size_t i = 0; i < VARIANTS; i++)
        if (!strcmp(variants[i].name, name)) return &variants[i];
    return NULL;
}

static const workload_info *workload_of(const char *name, enum workload_kind *kind)
{
    const struct live_variant *v = variant_of(name);
    if (v) name = v->of;
    for (size_t i = 0; workload_at(i); i++)
        if (!strcmp(workload_at(i)->name, name)) {
            *kind = (enum workload_kind)i;
            return workload_at(i);
        }
    return NULL;
}

const char *live_workload_at(size_t i)
{
    if (i < WORKLOADS) return workload_at(i)->name;
    return i - WORKLOADS < VARIANTS ? variants[i - WORKLOADS].name : NULL;
}

/* Keys that are all there at first are; those that come later are absent until written. */
static void load_rows(live_program *lp, program *p, mem *m)
{
    const workload *w = &lp->work;
    if (w->class->flags & (WORK_ABSENT | WORK_EXPLICIT | WORK_ROTATING | WORK_LISTS)) return;
    db_row *rows = mem_array(m, db_row, w->keys);
    for (uint32_t i = 0; i < w->keys; i++) rows[i] = (db_row){i, w->initial};
    p->rows = rows;
    p->n_rows = w->keys;
}

/* What is asked for has to make sense, and the database has to have it. */
static void take_operations(live *l, live_program *lp, const knob_set *k, bool given)
{
    guard *failed = &l->work_guard;
    const driver *d = db_inner(&l->db)->driver;
    bool dirty = db_asks_for(&l->db, "read-uncommitted");
    lp->savepoints = share_limit(knob_real(k, KNOB_SAVEPOINTS, 0));
    lp->rollbacks = share_limit(knob_real(k, KNOB_ROLLBACKS, 0));
    lp->singles = share_limit(knob_real(k, KNOB_AUTOCOMMIT, 0));
    lp->reverse = share_limit(knob_real(k, KNOB_REVERSE, 0));
    lp->retries = knob_count(k, KNOB_RETRIES, 0);
    lp->early = knob_count(k, KNOB_EARLY_SAVEPOINTS, 0) != 0;
    /* What a sum will be is not known before others can see it. */
    lp->adds = d->add && !dirty;
    if (lp->savepoints && lp->work.class->flags & WORK_MEANING)
        guard_fail(failed, GUARD_INVAL,
                   "savepoints cannot be used in a workload whose writes depend on its reads");
    if (lp->savepoints && dirty && given)
        guard_fail(
            failed, GUARD_INVAL,
            "at read-uncommitted, others may see what a savepoint undoes, and a history cannot "
            "express that");
    if (lp->savepoints && !d->nest && given)
        guard_fail(failed, GUARD_INVAL, "%s has no savepoints here", l->db.version);
    if (lp->singles && !d->alone && given)
        guard_fail(failed, GUARD_INVAL, "%s has no statements outside of transactions here",
                   l->db.version);
    if (lp->reverse && !d->reverses && given)
        guard_fail(failed, GUARD_INVAL, "ranges of %s cannot be read from their end here",
                   l->db.version);
    if (!d->nest || dirty) lp->savepoints = 0;
    if (!d->alone) lp->singles = 0;
    if (!d->reverses) lp->reverse = 0;
}

static void make_program(live *l, const live_options *o, const workload_info *info,
                         enum workload_kind kind, program *p)
{
    mem *m = &l->work_mem;
    guard *failed = &l->work_guard;
    gen_options g = {.keys = o->keys ? o->keys : info->keys, .ops = o->ops ? o->ops : info->ops};
    if (g.keys >= 0x7fffffffu || g.ops >= 0xffffffu)
        guard_fail(failed, GUARD_INVAL, "too many keys or operations");
    const struct live_variant *v = variant_of(o->workload);
    for (size_t i = 0; v && i < VARIANT_KNOBS && v->knobs[i]; i++)
        knob_parse(&g.knobs, failed, v->knobs[i]);
    for (size_t i = 0; i < o->n_knobs; i++) knob_parse(&g.knobs, failed, o->knobs[i]);
    knob_give(&g.knobs, KNOB_NAMES, 0); /* keys are numbers in the database, so in the history */
    live_program *lp = mem_zeroed(m, sizeof *lp);
    workload_init(&lp->work, m, kind, &g);
    lp->locking = share_limit(o->locking);
    lp->mem = m;
    take_operations(l, lp, &g.knobs, !v || v->strict);
    if (o->ids) lp->adds = false; /* values are no sums */
    lp->sessions = mem_array0(m, live_session, o->sessions);
    uint32_t longest = workload_longest(&lp->work);
    for (uint32_t i = 0; i < o->sessions; i++) {
        lp->sessions[i].steps = mem_array0(m, step, longest);
        rng_seed(&lp->sessions[i].rng, o->seed * 0x9e3779b97f4a7c15u + i);
    }
    *p = (program){.state = lp,
                   .guard = failed,
                   .name = v ? v->name : info->name,
                   .singles = lp->singles > 0,
                   .lists = workload_lists(&lp->work),
                   .unique = workload_unique(&lp->work) && !lp->retries,
                   .plan = program_plan,
                   .next = program_next,
                   .seen = program_seen};
    load_rows(lp, p, m);
}

/* --- a run ------------------------------------------------------------------------------------ */

typedef struct live_view {
    bool shown;
    double last;
    run_counts before;
} live_view;

/* A line on the terminal, twice a second. */
static bool poll_run(void *ud, const run_counts *c)
{
    live_view *v = ud;
    if (v->shown && c->seconds - v->last >= 0.5) {
        double rate = (double)(c->committed - v->before.committed) / (c->seconds - v->last);
        fprintf(stderr, "\r%6.1f s  %9.0f/s  %llu committed  %llu aborted  %llu unknown\033[K",
                c->seconds, rate, (unsigned long long)c->committed, (unsigned long long)c->aborted,
                (unsigned long long)c->unknown);
        v->last = c->seconds;
        v->before = *c;
    }
    return interrupted();
}

/* About a database, by its URL, of which no password is shown. */
static void complain_of_db(const args *a, const char *what)
{
    const char *url = a->value[O_DB];
    char shown[DB_ADDRESS + 64], text[2 * DB_ERROR];
    db_hide(url, url, shown, sizeof shown);
    db_hide(url, what, text, sizeof text);
    complain("%s: %s", shown, text);
}

int live_open(live *l, const args *a)
{
    memset(l, 0, sizeof *l);
    guard_init(&l->guard);
    mem_init(&l->mem, mem_libc, NULL, &l->guard);
    const char *url = a->value[O_DB], *isolation = a->value[O_ISOLATION];
    if (!url) {
        complain("%s: no database given (use --db URL)", a->command->name);
        return EXIT_USAGE;
    }
    if (guard_armed(&l->guard)) {
        complain("%s", l->guard.text);
        return exit_of(l->guard.code);
    }
    /* (What is wrong with --faults was told when the options were read.) */
    fault_plan faults;
    char unused[8];
    bool known = faults_parse(&faults, a->value[O_FAULTS], unused, sizeof unused);
    l->open = db_open_for(&l->db, &l->mem, url, isolation, known ? faults_need(&faults) : 0);
    if (l->open) return EXIT_HOLDS;
    complain_of_db(a, l->db.error);
    return l->db.misuse ? EXIT_USAGE : EXIT_IO;
}

void live_fails_to(live *l, guard *g)
{
    l->mem.guard = g;
}

void live_close(live *l)
{
    if (l->open) db_close(&l->db);
    l->open = false;
    mem_free_all(&l->mem);
}

bool live_can_disturb(const live *l, const live_options *o)
{
    char why[256];
    if (!faults_fit(&o->faults, l->db.nodes, why, sizeof why) ||
        !inflict_possible(&l->db, &o->faults, why, sizeof why)) {
        complain("--faults: %s", why);
        return false;
    }
    if (!o->faults.n || !l->db.driver->process || !o->stepped) return true;
    complain("--faults: with --schedule step, an engine cannot be killed");
    return false;
}

int live_run(live *l, const args *a, const live_options *o, run_counts *c)
{
    enum workload_kind kind;
    const workload_info *info = workload_of(o->workload, &kind);
    if (!info) {
        complain_no_name("workload", o->workload, strlen(o->workload), live_workload_at,
                         "ratel run --list lists them");
        return EXIT_USAGE;
    }
    if (!o->sessions || o->sessions > 100000) {
        complain("--sessions: %llu is out of range (1 to 100000)", (unsigned long long)o->sessions);
        return EXIT_USAGE;
    }
    if (!live_can_disturb(l, o)) return EXIT_USAGE;
    program p;
    guard_init(&l->work_guard);
    mem_init(&l->work_mem, mem_libc, NULL, &l->work_guard);
    if (guard_armed(&l->work_guard)) {
        complain("%s: %s", a->command->name, l->work_guard.text);
        mem_free_all(&l->work_mem);
        return exit_of(l->work_guard.code);
    }
    make_program(l, o, info, kind, &p);
    if (guard_armed(&l->guard)) {
        complain("%s: %s", a->command->name, l->guard.text);
        return exit_of(l->guard.code);
    }
    l->db.tombstones = o->tombstones;
    char recorder[64];
    snprintf(recorder, sizeof recorder, "ratel %s", ratel_version());
    live_view v = {.shown = isatty(STDERR_FILENO) && !a->value[O_QUIET]};
    run_options r = {.sessions = (uint32_t)o->sessions,
                     .txns = o->txns,
                     .seconds = o->seconds,
                     .rate = o->rate,
                     .seed = o->seed,
                     .faults = o->faults.n ? &o->faults : NULL,
                     .stepped = o->stepped,
                     .count_calls = o->count_calls,
                     .mute = o->mute,
                     .ids = o->ids,
                     .output = o->output,
                     .file = o->output_name ? (replace_file *)&o->file : NULL,
                     .output_name = o->output_name ? o->output_name : "the history's file",
                     .recorder = recorder,
                     .poll = poll_run,
                     .ud = &v};
    char error[DB_ERROR];
    bool done = run_program(&l->db, &p, &r, c, error, sizeof error);
    if (v.shown) fputs("\r\033[K", stderr);
    mem_free_all(&l->work_mem);
    if (done && !c->committed) {
        complain("%s: nothing committed (%llu transactions aborted, %llu have an unknown outcome), "
                 "so this run says nothing about the database",
                 a->command->name, (unsigned long long)c->aborted, (unsigned long long)c->unknown);
        return EXIT_UNDECIDED;
    }
    if (done) return interrupted() ? EXIT_UNDECIDED : EXIT_HOLDS;
    if (*error) complain_of_db(a, error);
    return l->db.misuse ? EXIT_USAGE : EXIT_IO;
}

void live_findings(const args *a, const run_counts *c)
{
    if (c->hung_commits)
        complain("%s: finding: %s", a->command->name, c->failed_commit);
    else if (c->failed_commits)
        complain(
            "%s: finding: %llu COMMIT%s ended without an answer, and nobody knows whether they "
            "took effect; the first was that of %s",
            a->command->name, (unsigned long long)c->failed_commits,
            c->failed_commits > 1 ? "s" : "", c->failed_commit);
    if (c->lost_commits)
        complain(
            "%s: finding: after kill -9, commits that were acknowledged are missing at %llu of "
            "%llu keys: %s",
            a->command->name, (unsigned long long)c->lost_commits, (unsigned long long)c->read_back,
            c->lost_commit);
    else if (c->read_back && !a->value[O_QUIET])
        fprintf(stderr,
                "killed %llu time%s: %llu commits had been acknowledged, %llu keys were read back, "
                "and none is missing\n",
                (unsigned long long)c->faults, c->faults == 1 ? "" : "s",
                (unsigned long long)c->acknowledged, (unsigned long long)c->read_back);
}

/* --- deciding --------------------------------------------------------------------------------- */

const contract *live_contract(const live *l, const args *a)
{
    const contract *c = contract_of(&l->db);
    if (!c) return NULL;
    if (!a->value[O_SESSION_ORDER])
        ratel_set(a->context, "session_order", !strcmp(c->session_order, "on"));
    for (int i = 0; i < RYOWS && !a->value[O_RYOW]; i++)
        if (!strcmp(ryow_name((enum ryow)i), c->ryow)) ratel_set(a->context, "ryow", i);
    return c;
}

static bool decided(const char *level)
{
    ratel_level l;
    for (size_t i = 0; ratel_level_at(&l, i) == RATEL_OK; i++)
        if (!strcmp(l.name, level)) return l.decided;
    return true; /* prefixed names: check will tell */
}

const char *live_level(live *l, const args *a, const contract *c, const run_counts *n)
{
    bool quiet = a->value[O_QUIET] != NULL;
    if (n->deleted && *c->deleted) {
        if (!quiet && l->told != c->deleted)
            fprintf(
                stderr,
                "rows were deleted, so the level checked is %s: for conflicts, %s looks at rows "
                "instead of keys (with --deletes tombstone the level is %s)\n",
                c->deleted, c->driver, c->level);
        return l->told = c->deleted;
    }
    if (*c->implied && !decided(c->level)) {
        if (!quiet && l->told != c->implied)
            fprintf(stderr,
                    "this version does not decide %s; the weaker level %s is checked instead\n",
                    c->level, c->implied);
        return l->told = c->implied;
    }
    return c->level;
}

int live_check(const args *a, const char *path, const char *shown, const char *level)
{
    args b = *a;
    b.files = &path;
    b.n_files = 1;
    b.shown = shown;
    b.value[O_LEVEL] = level;
    b.value[O_OUTPUT] = NULL;
    b.value[O_FORMAT] = "ratel";
    int status = cmd_check(&b);
    fflush(stdout); /* the next run tells about itself on standard error */
    return status;
}

/* --- small things ----------------------------------------------------------------------------- */

bool live_seconds(const args *a, enum option_id o, double *out)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"", 1}, {"ms", 0.001}, {"s", 1}, {"m", 60}, {"h", 3600}};
    const char *s = a->value[o];
    if (!s) return true;
    char *end;
    double v = strtod(s, &end);
    for (size_t i = 0; end != s && i < sizeof units / sizeof *units; i++)
        if (!strcmp(end, units[i].name) && v > 0 && v * units[i].seconds < 1e7) {
            *out = v * units[i].seconds;
            return true;
        }
    complain("--%s: \"%s\" is not a time such as 500ms, 10s, 2m", option_table[o].name, s);
    return false;
}

bool live_manner(const args *a, live_options *o)
{
    const char *deletes = a->value[O_DELETES];
    const char *schedule = a->value[O_SCHEDULE];
    o->stepped = schedule && !strcmp(schedule, "step");
    if (schedule && !o->stepped && strcmp(schedule, "threads") != 0) {
        complain("--schedule: \"%s\" is not one of threads, step", schedule);
        return false;
    }
    o->count_calls = a->value[O_DETERMINISTIC] != NULL;
    o->ids = a->value[O_WRITE_IDS] != NULL;
    o->tombstones = deletes && !strcmp(deletes, "tombstone");
    if (deletes && !o->tombstones && strcmp(deletes, "physical") != 0) {
        complain("--deletes: \"%s\" is not one of physical, tombstone", deletes);
        return false;
    }
    char error[320];
    if (faults_parse(&o->faults, a->value[O_FAULTS], error, sizeof error)) return true;
    complain("--faults: %s", error);
    return false;
}

bool live_record(const args *a, live_options *o, const char *path)
{
    int error = replace_open(&o->file, path);
    o->output = o->file.fd;
    o->output_name = error ? NULL : path;
    if (!error) return true;
    char text[128];
    a->outputs->lost = true;
    visible_to(stderr, path);
    fprintf(stderr, ": %s\n", replace_error(error, text, sizeof text));
    return false;
}

void live_recorded(live_options *o)
{
    if (o->output_name)
        replace_abandon(&o->file); /* what has its name keeps it */
    else if (o->output > STDERR_FILENO)
        close(o->output);
    o->output = -1;
    o->output_name = NULL;
}

int live_scratch(void)
{
    char name[] = "/tmp/ratel-history-XXXXXX";
    int fd = mkstemp(name);
    if (fd < 0) {
        perror("/tmp");
        return -1;
    }
    unlink(name); /* nothing to leave behind, whatever happens */
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    return fd;
}

void adapters_json(json_writer *w)
{
    bool there;
    const char *name;
    jw_member_object(w, "databases");
    for (size_t i = 0; (name = driver_at(i, &there)) != NULL; i++) jw_member_bool(w, name, there);
    jw_end_object(w);
}

void live_list(void)
{
    bool there;
    const char *name;
    puts("databases:");
    for (size_t i = 0; (name = driver_at(i, &there)) != NULL; i++)
        printf("  %-10s %s\n", name, there ? "yes" : "not in this build");
    puts("isolation levels, and the levels that products document for them:");
    for (size_t i = 0; contract_at(i); i++) {
        const contract *c = contract_at(i);
        printf("  %-9s %-19s %s, session order %s, ryow %s\n            %s%s\n", c->driver,
               c->isolation, c->level, c->session_order, c->ryow, c->source,
               *c->read ? "" : " (source not verified)");
        if (*c->deleted) printf("            %s if rows are deleted\n", c->deleted);
    }
    puts("workloads:");
    for (size_t i = 0; workload_at(i); i++)
        printf("  %-18s %s\n", workload_at(i)->name, workload_at(i)->about);
    for (size_t i = 0; i < VARIANTS; i++)
        printf("  %-18s %s\n", variants[i].name, variants[i].about);
    puts("SQL workloads, for audit:");
    for (const sql_workload *w = sql_workloads; w->name; w++)
        printf("  %-18s %s\n", w->name, w->about);
    puts("knobs (--set NAME=VALUE):");
    const char *about;
    for (size_t i = 0; (name = knob_at(i, &about)) != NULL; i++)
        printf("  %-18s %s\n", name, about);
    puts("faults of :temp servers (--faults F[=AMOUNT][:NODES][@TIME[+TIME]],...):");
    for (int k = 0; k < FAULT_KINDS; k++)
        printf("  %-18s %s\n", fault_name((enum fault_kind)k), fault_about((enum fault_kind)k));
}
