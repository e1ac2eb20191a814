/*
 * cmd_repro.c - ratel repro: from a violated recording to a script that shows the violation again.
 *
 * The recording is shrunk, turned into statements, and run step by step in the order of its times.
 * Whether the violation is back is decided by the checker, on what this run returned.  What is not
 * needed is then removed by running without it.  Nothing here trusts the recording: only a run that
 * was just made and judged counts as shown.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/child.h"
#include "cli/litmus.h"
#include "cli/log_script.h"
#include "cli/recording_script.h"
#include "cli/sql_log.h"
#include "cli/timed_input.h"

enum { TRIES = 20, SEARCHED = 200, DRAWN = 20000, HOLDERS = 10 };

typedef struct repro {
    args *a;
    guard guard;
    mem mem;
    live live;
    case_bench bench;
    bool open;
    ratel_history *whole, *part; /* the recording, and the shrunk one */
    char level[96], anomaly[64];
    script s;
    /* the last run that showed it */
    const char *spec, *signs, *story;
    ratel_result *answer;
    ratel_history *seen;
    bool log;                            /* the recording is a log of SQL: audit judges */
    const char *reason;                  /* then: what it said of the last run that showed it */
    uint64_t tries, shown, runs, unsure; /* (runs that are undecided) */
    uint64_t start;                      /* of the command: --time counts from here */
    int status;
} repro;

/* --- the recording ---------------------------------------------------------------------------- */

static bool shrink_recording(repro *r, const char *path)
{
    ratel *c = r->a->context;
    ratel_history *h = NULL;
    ratel_result *a = NULL;
    ratel_shrunk shrunk;
    const char *level = r->a->value[O_LEVEL] ? r->a->value[O_LEVEL] : "serializable";
    int code = read_history(r->a, path, &h);
    if (!code) code = ratel_check(&a, c, h, level);
    if (code) {
        r->status = complain_about(c, path, code);
    } else if (ratel_result_verdict(a) != RATEL_VIOLATED) {
        complain("%s: %s %s, so there is nothing to show again", path, ratel_result_level(a),
                 verdict_name(ratel_result_verdict(a)));
        r->status = EXIT_UNDECIDED;
    } else {
        snprintf(r->level, sizeof r->level, "%s", ratel_result_level(a));
        snprintf(r->anomaly, sizeof r->anomaly, "%s", ratel_result_anomaly(a));
        code = ratel_shrink(&r->part, c, h, a, &shrunk);
        if (code) r->status = complain_about(c, path, code);
    }
    ratel_result_free(a);
    r->whole = h;
    return r->part;
}

/* The log, shrunk by audit; kept until the end of the command. */
static bool shrink_log(repro *r, const char *path)
{
    audit *a = NULL, *small = NULL;
    audit_answer answer;
    audit_shrunk shrunk;
    audit_schedule plan;
    audit_options o = {.level = r->a->value[O_LEVEL], .interrupt = &interrupt_flag};
    FILE *f = timed_open(path);
    if (!f) {
        r->status = timed_failure(path);
        return false;
    }
    int code = audit_run(&a, &o, read_sql_log, f, &answer);
    fclose(f);
    const char *why = NULL;
    if (!code && answer.verdict == AUDIT_UNDECIDED) {
        complain("%s: %s is undecided: %s", path, answer.level, answer.reason);
        r->status = EXIT_UNDECIDED;
    } else if (!code && answer.verdict != AUDIT_VIOLATED) {
        complain("%s: %s is not violated, so there is nothing to show again", path, answer.level);
        r->status = EXIT_UNDECIDED;
    } else if (!code) {
        snprintf(r->level, sizeof r->level, "%s", answer.level);
        snprintf(r->anomaly, sizeof r->anomaly, "violation of %s", answer.level);
        code = audit_shrink(a, &o, &answer, &shrunk);
        text_left left = {shrunk.text, shrunk.n};
        if (!code) code = audit_read_log(&small, &o, read_left, &left);
        if (!code) code = audit_schedule_of(small, &o, &plan);
        if (!code) why = log_script(&r->s, &r->mem, plan.log);
        if (why) {
            complain("repro: %s", why);
            r->status = EXIT_UNDECIDED;
        }
    }
    if (code) {
        uint64_t line, column;
        complain("%s: %s", path, audit_error(small ? small : a, &line, &column));
        r->status = exit_of(code);
    }
    audit_free(small);
    audit_free(a);
    return r->status == EXIT_HOLDS;
}

/* --- one run ---------------------------------------------------------------------------------- */

/* Does what was just returned violate the level?  Then the answer is kept. */
static bool is_violated(repro *r, const char *text)
{
    ratel *c = r->a->context;
    text_left left = {text, strlen(text)};
    ratel_history *h = NULL;
    ratel_result *a = NULL;
    int code = ratel_history_read(&h, c, "ratel", read_left, &left);
    if (!code) code = ratel_check(&a, c, h, r->level);
    if (code) r->status = complain_about(c, "what the database returned", code);
    bool bad = !code && ratel_result_verdict(a) == RATEL_VIOLATED;
    if (!code && ratel_result_verdict(a) == RATEL_UNDECIDED) r->unsure++;
    if (bad) {
        ratel_result_free(r->answer);
        ratel_history_free(r->seen);
        r->answer = a;
        r->seen = h;
    } else {
        ratel_result_free(a);
        ratel_history_free(h);
    }
    return bad;
}

static bool is_log_violated(repro *r, const char *text)
{
    audit *a = NULL;
    audit_answer answer;
    text_left left = {text, strlen(text)};
    audit_options o = {.level = r->level, .seconds = 10, .interrupt = &interrupt_flag};
    int code = audit_run(&a, &o, read_left, &left, &answer);
    bool bad = !code && answer.verdict == AUDIT_VIOLATED;
    if (!code && answer.verdict == AUDIT_UNDECIDED) r->unsure++;
    if (code) {
        uint64_t line, column;
        complain("repro: %s", audit_error(a, &line, &column));
        r->status = exit_of(code);
    }
    if (bad) {
        strbuf b;
        strbuf_init(&b, &r->mem);
        strbuf_str(&b, answer.reason);
        r->reason = strbuf_cstr(&b);
    }
    audit_free(a);
    return bad;
}

/* Does the run violate the level?  Then what it is judged by is kept. */
static bool is_shown(repro *r, const spec *s, const case_run *run)
{
    strbuf text;
    strbuf_init(&text, &r->mem);
    if (!r->log)
        return case_history(&r->bench, s, run, &text) && is_violated(r, strbuf_cstr(&text));
    case_log(&r->bench, s, run, &text);
    return is_log_violated(r, strbuf_cstr(&text));
}

/* One row as text; false: `happens` has no form for it. */
static bool put_row(const step_result *p, uint32_t row, strbuf *out)
{
    for (uint32_t k = 0; k < p->n_cols; k++) {
        const db_cell *c = &p->cells[(size_t)row * p->n_cols + k];
        const char *value = c->at == UINT32_MAX ? "" : p->text + c->at;
        if (strpbrk(value, ",|}\n")) return false;
        strbuf_printf(out, "%s%s", k ? "|" : "", value);
    }
    return true;
}

static const char *signs_of(repro *r, const spec *s, const case_run *run)
{
    strbuf b;
    strbuf_init(&b, &r->mem);
    for (uint32_t i = 0; i < run->n; i++) {
        const step_result *p = &run->results[i];
        size_t before = b.n;
        bool good = p->has_rows;
        strbuf_printf(&b, "    %s: ", s->steps.at[p->step].name);
        for (uint32_t k = 0; k < p->n_rows && good; k++) {
            if (k) strbuf_str(&b, ", ");
            good = put_row(p, k, &b);
        }
        strbuf_str(&b, p->n_rows ? "\n" : "none\n");
        if (!good) b.n = before;
    }
    return strbuf_cstr(&b);
}

/* Runs the script as it is now; true: the violation is back, and the texts are those of this run.
 */
static bool shows_again(repro *r)
{
    strbuf text, story;
    spec s;
    case_run run;
    strbuf_init(&text, &r->mem);
    strbuf_init(&story, &r->mem);
    script_write(&r->s, r->anomaly, r->level, NULL, NULL, &text);
    spec_read(&s, &r->mem, "repro", text.at, text.n);
    case_run_all(&r->bench, &s, &run);
    r->runs++;
    if (run.outcome == CASE_ERROR || run.outcome == CASE_NOT_APPLICABLE) {
        complain("repro: %s", run.why && *run.why ? run.why : "the script cannot be run");
        r->status = EXIT_IO;
        return false;
    }
    if (!is_shown(r, &s, &run)) return false;
    case_story(&s, r->bench.dialect, &run, &story);
    r->signs = signs_of(r, &s, &run);
    r->story = strbuf_cstr(&story);
    return true;
}

/* --- the search ------------------------------------------------------------------------------- */

static bool goes_on(const repro *r)
{
    const char *limit = r->a->value[O_TIME];
    bool over = limit && seconds_since(r->start) > strtod(limit, NULL);
    return r->status == EXIT_HOLDS && !over && !interrupted();
}

static bool find_order(repro *r, uint64_t seed, uint64_t searched)
{
    script_order_by_time(&r->s, &r->mem);
    if (shows_again(r)) return true;
    for (uint64_t i = 0; i < searched && goes_on(r); i++) {
        script_order_by_chance(&r->s, &r->mem, seed + i);
        if (shows_again(r)) return true;
    }
    return false;
}

/* The sessions that write on the primary, whose commits can be held. */
static uint32_t holding_sessions(const repro *r, uint32_t *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < r->s.places.n && n < HOLDERS && r->live.db.holds; i++) {
        bool writes = false;
        for (size_t t = 0; t < r->s.txns.n; t++) {
            const script_txn *x = &r->s.txns.at[t];
            for (uint32_t k = 0; k < x->n && x->session == i && !x->aborts; k++)
                writes = writes || !strchr("rs", r->s.ops.at[x->first + k].kind);
        }
        if (writes && !r->s.places.at[i].node) out[n++] = i;
    }
    return n;
}

/* Of a cluster: which commits the primary showed late was not recorded, so all choices are tried,
   each with orders in which reads would return what the recording says. */
static bool find_held(repro *r, uint64_t seed)
{
    uint32_t holders[HOLDERS], n = holding_sessions(r, holders);
    uint64_t first = r->runs;
    for (uint64_t i = 0; n && i < DRAWN && r->runs - first < SEARCHED && goes_on(r); i++) {
        for (uint32_t k = 0; k < n; k++) r->s.places.at[holders[k]].held = i >> k & 1;
        if (i < 1u << n)
            script_order_by_time(&r->s, &r->mem);
        else
            script_order_by_chance(&r->s, &r->mem, seed + i);
        if (script_order_promises(&r->s, false) && shows_again(r)) return true;
    }
    for (uint32_t k = 0; k < n; k++) r->s.places.at[holders[k]].held = false;
    return false;
}

/* The shrunk part, then its transactions as they were. */
static bool find_script(repro *r, uint64_t seed)
{
    if (!r->log && r->live.db.nodes > 1) {
        recording_places(&r->s, &r->mem, r->whole, r->part, r->a->files[0]);
        if (find_held(r, seed)) return true;
    }
    if (find_order(r, seed, SEARCHED)) return true;
    if (r->log || !goes_on(r) || !recording_script_whole(&r->s, &r->mem, r->whole, r->part))
        return false;
    return find_order(r, seed, SEARCHED);
}

/* Removes the turns of what is left out. */
static void drop_turns(script *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->order.n; i++) {
        script_turn t = s->order.at[i];
        const script_txn *x = &s->txns.at[t.txn];
        if (x->out || (t.op < x->n && s->ops.at[x->first + t.op].out)) continue;
        s->order.at[n++] = t;
    }
    s->order.n = n;
}

/* Leaves something out, or turns something else over, and takes it back if the violation does not
   show without it. */
static bool try_without(repro *r, bool *out)
{
    VEC(script_turn) before = {0};
    for (size_t i = 0; i < r->s.order.n; i++) vec_push(&r->mem, &before, r->s.order.at[i]);
    *out = !*out;
    drop_turns(&r->s);
    bool shown = r->s.order.n && shows_again(r);
    if (!shown) {
        *out = !*out;
        memcpy(r->s.order.at, before.at, before.n * sizeof *before.at);
        r->s.order.n = before.n;
    }
    vec_free(&r->mem, &before);
    return shown;
}

static void remove_needless(repro *r)
{
    for (bool again = true; again && goes_on(r);) {
        again = false;
        for (size_t i = 0; i < r->s.places.n && goes_on(r); i++)
            if (r->s.places.at[i].held && try_without(r, &r->s.places.at[i].held)) again = true;
        for (size_t t = 0; t < r->s.txns.n && goes_on(r); t++)
            if (!r->s.txns.at[t].out && try_without(r, &r->s.txns.at[t].out)) again = true;
        for (size_t t = 0; t < r->s.txns.n; t++) {
            const script_txn *x = &r->s.txns.at[t];
            for (uint32_t k = 0; k < x->n && !x->out && goes_on(r); k++)
                if (!r->s.ops.at[x->first + k].out &&
                    try_without(r, &r->s.ops.at[x->first + k].out))
                    again = true;
        }
    }
}

static void count_tries(repro *r)
{
    uint64_t done = 0;
    for (; done < r->tries && goes_on(r); done++) r->shown += shows_again(r);
    r->tries = done; /* --time may have ended them */
}

/* --- what is written -------------------------------------------------------------------------- */

static bool write_text(repro *r, const char *suffix, const char *text)
{
    const char *prefix = r->a->value[O_OUTPUT] ? r->a->value[O_OUTPUT] : "repro";
    strbuf path;
    output to;
    strbuf_init(&path, &r->mem);
    strbuf_printf(&path, "%s%s", prefix, suffix);
    if (!output_open(r->a, &to, strbuf_cstr(&path))) return false;
    fputs(text, to.f);
    if (!output_close(r->a, &to)) return false;
    if (!r->a->value[O_QUIET] && !r->a->value[O_JSON]) printf("wrote %s\n", strbuf_cstr(&path));
    return true;
}

/* For two terminals: whose turn it is, and what the statement returned here. */
static const char *plain_sql(repro *r, const spec *s)
{
    strbuf b;
    strbuf_init(&b, &r->mem);
    strbuf_printf(&b, "-- %s at %s: %s\n-- Each session is a terminal of its own.\n\n",
                  r->live.db.version, r->live.db.isolation, r->anomaly);
    for (size_t i = 0; i < s->sessions.n; i++) {
        const spec_session *p = &s->sessions.at[i];
        if (p->node) strbuf_printf(&b, "-- %s is connected to the %s.\n", p->name, p->node);
        if (p->held)
            strbuf_printf(&b,
                          "-- %s has synchronous_commit=on, all others local, and the primary "
                          "synchronous_standby_names=nobody:\n-- its COMMIT waits until "
                          "pg_cancel_backend at the end.\n",
                          p->name);
    }
    for (size_t i = 0; i < s->setups.n; i++)
        strbuf_printf(&b, "-- before\n%s\n", spec_sql(s, s->setups.at[i], r->bench.dialect));
    bool *begun = mem_array0(&r->mem, bool, s->sessions.n);
    for (size_t i = 0; i < s->permutations.at[0].n; i++) {
        const spec_step *p = &s->steps.at[s->turns.at[i].step];
        const char *sql = spec_sql(s, p->text, r->bench.dialect);
        const char *who = s->sessions.at[p->session].name;
        if (!begun[p->session])
            strbuf_printf(&b, "/* %s */ BEGIN; -- at %s\n", who, r->live.db.isolation);
        begun[p->session] = !strstr(sql, "COMMIT;") && !strstr(sql, "ROLLBACK;");
        strbuf_printf(&b, "/* %s */%s\n", who, sql);
    }
    return strbuf_cstr(&b);
}

static int keep_explanation(const void *bytes, size_t n, void *to)
{
    strbuf_add(to, bytes, n);
    return 0;
}

static const char *report(repro *r, const char *script_text)
{
    strbuf b;
    strbuf_init(&b, &r->mem);
    const db *d = &r->live.db;
    const contract *c = contract_of(d);
    strbuf_printf(&b, "# %s: %s at %s\n\n", d->version, r->anomaly, d->isolation);
    strbuf_printf(&b, "- Database: %s; settings: {%s}\n- Isolation level: %s\n", d->version,
                  d->settings, d->isolation);
    if (c) strbuf_printf(&b, "- Documented for it: %s (%s)\n", c->level, c->source);
    strbuf_printf(&b, "- Shown again: %llu of %llu tries, one statement at a time\n\n",
                  (unsigned long long)r->shown, (unsigned long long)r->tries);
    strbuf_printf(&b, "## What happened\n```\n%s```\n\n## Why %s does not allow it\n", r->story,
                  r->level);
    ratel_explanation *e = NULL;
    ratel_telling telling = {.session_order = r->log ? 0 : ratel_result_session_order(r->answer)};
    if (r->log)
        strbuf_printf(&b, "%s\n", r->reason);
    else if (ratel_explain(&e, r->a->context, r->seen, r->answer) ||
             ratel_explanation_write(e, r->a->context, "markdown", &telling, keep_explanation, &b))
        strbuf_printf(&b, "%s\n", ratel_result_reason(r->answer));
    ratel_explanation_free(e);
    strbuf_printf(
        &b,
        "\n## Script\n`ratel litmus --db URL --isolation %s FILE.spec` runs it.\n\n```\n%s```\n",
        d->isolation, script_text);
    return strbuf_cstr(&b);
}

static void print_json(const repro *r)
{
    json_writer to = json_file(stdout), *w = &to;
    jw_object(w);
    jw_member_u64(w, "schema", 1);
    jw_member_text(w, "database", r->live.db.version);
    jw_member_text(w, "isolation", r->live.db.isolation);
    jw_member_text(w, "level", r->level);
    jw_member_text(w, "anomaly", r->anomaly);
    jw_member_u64(w, "runs", r->runs);
    jw_member_u64(w, "tries", r->shown || r->signs ? r->tries : 0);
    jw_member_u64(w, "shown", r->shown);
    jw_member_u64(w, "statements", r->signs ? r->s.order.n : 0);
    jw_end_object(w);
    jw_end_line(w);
}

static void write_all(repro *r)
{
    strbuf text;
    spec s;
    strbuf_init(&text, &r->mem);
    script_write(&r->s, r->anomaly, r->level, NULL, r->signs, &text);
    const char *script_text = strbuf_cstr(&text);
    spec_read(&s, &r->mem, "repro", text.at, text.n);
    if (r->a->value[O_JSON])
        print_json(r);
    else if (!r->a->value[O_QUIET])
        printf("%s, %s: %s, shown again in %llu of %llu tries; %zu statements\n%s",
               r->live.db.version, r->live.db.isolation, r->anomaly, (unsigned long long)r->shown,
               (unsigned long long)r->tries, r->s.order.n, r->story);
    if (!write_text(r, ".spec", script_text) || !write_text(r, ".sql", plain_sql(r, &s)) ||
        !write_text(r, ".md", report(r, script_text)))
        r->status = EXIT_IO;
}

/* --- the command ------------------------------------------------------------------------------ */

static void run_repro(repro *r)
{
    uint64_t seed = 1;
    if (!args_u64(r->a, O_SEED, &seed) || !args_u64(r->a, O_TRIES, &r->tries)) {
        r->status = EXIT_USAGE;
        return;
    }
    r->log = is_sql_log(r->a->files[0], &r->status);
    if (r->status) return;
    if (r->log ? !shrink_log(r, r->a->files[0]) : !shrink_recording(r, r->a->files[0])) return;
    if (!r->log && !recording_script(&r->s, &r->mem, r->part)) {
        complain("repro: writes and deletes of lists are not turned into statements");
        r->status = EXIT_UNDECIDED;
        return;
    }
    r->status = live_open(&r->live, r->a);
    r->open = true;
    if (r->status != EXIT_HOLDS) return;
    live_fails_to(&r->live, &r->guard);
    bench_open(&r->bench, &r->live.db, &r->mem);
    if (find_script(r, seed)) {
        remove_needless(r);
        count_tries(r);
        if (r->status == EXIT_HOLDS) write_all(r);
    } else if (r->status == EXIT_HOLDS && r->unsure) {
        complain(
            "repro: %s was not shown again, but what the database returned in %llu of %llu runs "
            "is undecided",
            r->anomaly, (unsigned long long)r->unsure, (unsigned long long)r->runs);
        r->status = EXIT_UNDECIDED;
    } else if (r->status == EXIT_HOLDS) {
        if (r->a->value[O_JSON])
            print_json(r);
        else
            printf("%s, %s: %s was not shown again in %llu orders of its steps\n",
                   r->live.db.version, r->live.db.isolation, r->anomaly,
                   (unsigned long long)r->runs);
        r->status = EXIT_VIOLATED;
    }
}

static int show_again(void *ud)
{
    args *a = ud;
    repro r = {.a = a, .tries = TRIES, .start = now()};
    guard_init(&r.guard);
    mem_init(&r.mem, mem_libc, NULL, &r.guard);
    if (!guard_armed(&r.guard)) {
        run_repro(&r);
    } else {
        complain("repro: %s", r.guard.text);
        r.status = exit_of(r.guard.code);
    }
    if (r.bench.db) bench_close(&r.bench);
    if (r.open) live_close(&r.live);
    ratel_result_free(r.answer);
    ratel_history_free(r.seen);
    ratel_history_free(r.part);
    ratel_history_free(r.whole);
    mem_free_all(&r.mem);
    return r.status;
}

/* Logs of SQL in a child: without memory, the parser may end the process with status 1, which says
   here that nothing was shown. */
int cmd_repro(args *a)
{
    if (a->n_files != 1 || !a->value[O_DB] || !a->value[O_ISOLATION]) {
        complain("repro: give one history, --db URL, and --isolation L, the level at which it was "
                 "recorded");
        return EXIT_USAGE;
    }
    bool failed;
    int status;
    if (!is_sql_log(a->files[0], &status)) return status ? status : show_again(a);
    return run_in_child(a, stdout, "repro", show_again, a, &failed);
}
