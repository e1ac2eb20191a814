/*
 * test_oom.c - running out of memory is an error code, whichever allocation fails.
 *
 * Each scenario is run with an allocator that refuses the n-th request (and every later one, or
 * only that one), for n = 1, 2, ... until it gets through. Every refused run must end with
 * RATEL_ENOMEM and give back every byte that it took. zlib and zstd have memory of their own, which
 * the allocator does not see; that is only a buffer of fixed size.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define RATEL_EXPERIMENTAL
#include "ratel.h"
#include "test.h"

typedef struct ration {
    long count;  /* requests so far */
    long refuse; /* the number of the request that fails; 0: none */
    int only;    /* later ones succeed again */
    size_t live; /* bytes out */
    int torn;    /* a block came back with a size that it never had */
} ration;

static void *ration_alloc(void *ud, void *p, size_t osize, size_t nsize)
{
    ration *r = ud;
    if (nsize == 0) {
        if (p != NULL && osize > r->live) r->torn = 1;
        if (p != NULL) r->live -= osize;
        free(p);
        return NULL;
    }
    r->count++;
    if (r->refuse && (r->only ? r->count == r->refuse : r->count >= r->refuse)) return NULL;
    void *q = realloc(p, nsize);
    if (q == NULL) return NULL;
    r->live += nsize - (p != NULL ? osize : 0);
    return q;
}

typedef struct bytes {
    const char *at;
    size_t n, done;
} bytes;

static ptrdiff_t give(void *buf, size_t cap, void *payload)
{
    bytes *b = payload;
    size_t n = b->n - b->done < cap ? b->n - b->done : cap;
    if (n > 97) n = 97; /* in pieces: growing happens in the middle */
    if (n) memcpy(buf, b->at + b->done, n);
    b->done += n;
    return (ptrdiff_t)n;
}

typedef struct sink {
    char *at;
    size_t n, cap;
} sink;

static int take(const void *buf, size_t len, void *payload)
{
    sink *s = payload;
    if (s->n + len > s->cap) {
        s->cap = 2 * (s->n + len);
        s->at = realloc(s->at, s->cap);
        if (s->at == NULL) return 1;
    }
    memcpy(s->at + s->n, buf, len);
    s->n += len;
    return 0;
}

static int drop(const void *buf, size_t len, void *payload)
{
    (void)buf;
    *(size_t *)payload += len;
    return 0;
}

/* --- the frame -------------------------------------------------------------------------------- */

typedef struct job {
    const char *format, *level, *what;
    const char *path;
    const ratel_beside *beside;
    const ratel_history *h;
    const ratel_result *a;
    bytes in;
    int session_order;
    int strategy;
} job;

typedef int (*scenario)(ratel *r, const job *j);
static int build_it(ratel *r, const job *j); /* tells its errors through the history */

/* Runs it with the n-th request refused, for all n; true if each refusal was told and left nothing
   behind. The last run, which gets all it wants, must end well. */
static void refuse_each(const char *name, scenario run, const job *j)
{
    const char *sparse =
        getenv("RATEL_OOM_STEP"); /* valgrind: not each request, but every so many */
    long step = sparse ? strtol(sparse, NULL, 10) : 1;
    if (step < 1) step = 1;
    for (int only = 0; only < 2; only++) {
        for (long n = 1; n < 100000; n += step) {
            ration m = {.refuse = n, .only = only};
            ratel_alloc alloc = {ration_alloc, &m};
            ratel *r = NULL;
            int code = ratel_open(&r, &alloc);
            if (code == RATEL_OK) {
                ratel_set(r, "session_order", j->session_order);
                code = run(r, j);
                if (code && ratel_errmsg(r)[0] == '\0' && run != build_it)
                    test_fail(__FILE__, __LINE__, "%s, request %ld: an error without text", name,
                              n);
            } else if (r != NULL) {
                test_fail(__FILE__, __LINE__, "ratel_open failed and left a context");
            }
            int refused = m.count >= n;
            ratel_close(r);
            if (m.live != 0 || m.torn)
                test_fail(__FILE__, __LINE__, "%s %s %s, request %ld%s: %zu bytes not given back",
                          name, j->what, j->level ? j->level : j->format, n, only ? " only" : "",
                          m.live);
            if (code != (refused ? RATEL_ENOMEM : RATEL_OK))
                test_fail(__FILE__, __LINE__, "%s %s %s, request %ld%s: code %d", name, j->what,
                          j->level ? j->level : j->format, n, only ? " only" : "", code);
            if (test_all.failures > 10) return;
            if (!refused) break;
        }
    }
}

/* --- small inputs ----------------------------------------------------------------------------- */

static const char registers[] =
    "{\"ratel\":1,\"init\":{\"x\":0,\"y\":0},\"other\":[1,2]}\n"
    "{\"session\":1,\"id\":\"a\",\"begin\":1,\"end\":4,\"ops\":[[\"r\",\"x\",0],[\"w\",\"x\",1]]}\n"
    "{\"session\":2,\"id\":\"b\",\"status\":\"aborted\",\"ops\":[[\"w\",\"x\",2],"
    "[\"w\",\"z\",9]]}\n"
    "{\"mark\":\"fault\",\"at\":3}\n"
    "{\"session\":2,\"id\":\"c\",\"note\":\"n\",\"ops\":[[\"r\",\"x\",1],"
    "[\"w\",\"y\",\"long text\"]]}\n"
    "{\"session\":3,\"id\":\"d\",\"times\":[1,2,3,4],\"ops\":[[\"r\",\"y\",\"long text\"],"
    "[\"r\",\"x\",1,{\"from\":\"a\",\"ver\":1,\"odd\":{}}]]}\n";
static const char skewed[] =
    "{\"session\":1,\"id\":\"a\",\"ops\":[[\"w\",\"x\",1],[\"w\",\"y\",1]]}\n"
    "{\"session\":2,\"id\":\"b\",\"ops\":[[\"r\",\"x\",1],[\"w\",\"z\",1]]}\n"
    "{\"session\":3,\"id\":\"c\",\"ops\":[[\"r\",\"z\",1],[\"r\",\"y\",null]]}\n";
static const char cyclic[] =
    "{\"session\":1,\"id\":\"a\",\"ops\":[[\"w\",\"x\",1],[\"r\",\"y\",1]]}\n"
    "{\"session\":2,\"id\":\"b\",\"ops\":[[\"w\",\"y\",1],[\"r\",\"x\",1]]}\n";
static const char doubled[] =
    "{\"session\":1,\"id\":1,\"ops\":[[\"w\",\"x\",1],[\"w\",\"y\",1]]}\n"
    "{\"session\":2,\"id\":2,\"ops\":[[\"w\",\"x\",1],[\"d\",\"y\"]]}\n"
    "{\"session\":3,\"id\":3,\"status\":\"unknown\",\"ops\":[[\"w\",\"y\",1],[\"r\",\"x\",1]]}\n"
    "{\"session\":4,\"id\":4,\"ops\":[[\"r\",\"x\",1],[\"r\",\"y\",1],[\"r\",\"y\",null]]}\n";
static const char lists[] =
    "{\"session\":1,\"id\":1,\"ops\":[[\"append\",\"l\",1],[\"append\",\"m\",5]]}\n"
    "{\"session\":2,\"id\":2,\"ops\":[[\"append\",\"l\",2],[\"r\",\"m\",[]]]}\n"
    "{\"session\":3,\"id\":3,\"ops\":[[\"append\",\"l\",3],[\"r\",\"l\",[1,2,3]]]}\n"
    "{\"session\":3,\"id\":4,\"status\":\"unknown\",\"ops\":[[\"append\",\"m\",6]]}\n"
    "{\"session\":2,\"id\":5,\"ops\":[[\"r\",\"l\",[1,2]],[\"r\",\"m\",[5]]]}\n";
static const char ranges[] =
    "{\"session\":1,\"id\":1,\"ops\":[[\"w\",\"b\",1],[\"w\",\"c\",7]]}\n"
    "{\"session\":2,\"id\":2,\"ops\":[[\"scan\",\"a\",\"m\",[[\"b\",1],[\"c\",7]]],"
    "[\"d\",\"b\"]]}\n"
    "{\"session\":3,\"id\":3,\"ops\":[[\"iter\",\"a\",null,[[\"b\",1]],false],"
    "[\"iter\",null,\"z\",[[\"c\",7]],true,{\"reverse\":true}]]}\n";

/* Much to find and to repair. */
static const char weak[] =
    "{\"ratel\":1,\"init\":0,\"sessions\":9}\n"
    "{\"session\":1,\"id\":\"a\",\"begin\":1,\"end\":9,\"level\":\"rc\",\"ops\":[[\"w\",\"x\",1],"
    "[\"r\",\"y\",7,{\"ok\":false}],[\"w\",\"y\",8,{\"ok\":false}]]}\n"
    "{\"session\":1,\"id\":\"b\",\"begin\":2,\"end\":8,\"level\":\"si\",\"ops\":[[\"r\",\"x\",0],"
    "[\"r\",\"y\",\"8\"]]}\n"
    "{\"mark\":\"fault\"}\n"
    "{\"session\":2,\"id\":\"c\",\"begin\":9,\"end\":3,\"ops\":[]}\n"
    "{\"session\":2,\"id\":\"d\",\"status\":\"unknown\",\"ops\":[[\"w\",\"x\",1]]}\n"
    "{\"session\":3,\"id\":\"e\",\"begin\":9,\"end\":12,\"ops\":[[\"w\",\"x\",1],[\"r\",\"y\"]]}\n"
    "{\"session\":3,\"id\":\"f\",\"begin\":4,\"end\":5,\"ops\":[[\"w\",\"y\",0]]}\n";

static const struct {
    const char *name, *text;
} inputs[] = {{"registers", registers}, {"skewed", skewed}, {"cyclic", cyclic}, {"weak", weak},
              {"doubled", doubled},     {"lists", lists},   {"ranges", ranges}};
enum { INPUTS = sizeof inputs / sizeof *inputs };

/* With libc's memory, for what a scenario takes as given. */
static ratel *plain;
static ratel_history *history_of(const char *format, const char *text, size_t n)
{
    bytes b = {text, n, 0};
    ratel_history *h = NULL;
    if (plain == NULL && ratel_open(&plain, NULL)) return NULL;
    if (ratel_history_read(&h, plain, format, give, &b))
        test_fail(__FILE__, __LINE__, "reading %s: %s", format, ratel_errmsg(plain));
    return h;
}

/* --- scenarios -------------------------------------------------------------------------------- */

static int read_it(ratel *r, const job *j)
{
    ratel_history *h = NULL;
    bytes b = j->in;
    int code = j->path ? ratel_history_read_with(&h, r, j->format, j->path, j->beside)
                       : ratel_history_read(&h, r, j->format, give, &b);
    if (code && h) test_fail(__FILE__, __LINE__, "an error came with a history");
    ratel_history_free(h);
    return code;
}

static int check_it(ratel *r, const job *j)
{
    ratel_result *a = NULL;
    ratel_set(r, "strategy", j->strategy);
    int code = ratel_check(&a, r, j->h, j->level);
    if (code && a) test_fail(__FILE__, __LINE__, "an error came with a result");
    ratel_result_free(a);
    return code;
}

static int tell_it(ratel *r, const job *j)
{
    size_t n = 0;
    ratel_report report = {.history = "h", .total_seconds = 1, .peak_rss_kib = 1, .colour = 1};
    int code = ratel_result_write(j->a, r, j->format, &report, drop, &n);
    if (!code && !n) test_fail(__FILE__, __LINE__, "nothing told");
    return code;
}

static int shrink_it(ratel *r, const job *j)
{
    ratel_history *part = NULL;
    int code = ratel_shrink(&part, r, j->h, j->a, NULL);
    if (code && part) test_fail(__FILE__, __LINE__, "an error came with a history");
    ratel_history_free(part);
    return code;
}

static int recheck_it(ratel *r, const job *j)
{
    return ratel_result_recheck(j->a, r, j->h);
}

static int certify_it(ratel *r, const job *j)
{
    size_t n = 0;
    return ratel_result_certificate(j->a, r, j->h, drop, &n);
}

static int explain_it(ratel *r, const job *j)
{
    size_t n = 0;
    ratel_explanation *e;
    int code = ratel_explain(&e, r, j->h, j->a);
    static const char *const forms[] = {"text", "markdown", "json",      "dot",
                                        "svg",  "tikz",     "page-entry"};
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !code; i++)
        code = ratel_explanation_write(e, r, forms[i], NULL, drop, &n);
    ratel_explanation_free(e);
    return code;
}

static int survey_it(ratel *r, const job *j)
{
    ratel_survey *s;
    int code = ratel_survey_run(&s, r, j->h, NULL);
    ratel_survey_free(s);
    return code;
}

static int dump_it(ratel *r, const job *j)
{
    size_t n = 0;
    return ratel_dump(j->h, r, j->level, j->format, drop, &n);
}

static int verify_it(ratel *r, const job *j)
{
    ratel_proof p;
    bytes b = j->in;
    int code = ratel_verify(&p, r, j->h, give, &b);
    if (!code && !p.proved) test_fail(__FILE__, __LINE__, "refused: %s", p.reason);
    return code;
}

static int write_it(ratel *r, const job *j)
{
    size_t n = 0;
    return j->path ? ratel_history_write_path(j->h, r, j->format, j->path)
                   : ratel_history_write(j->h, r, j->format, drop, &n);
}

static int stat_it(ratel *r, const job *j)
{
    ratel_stat s;
    return ratel_history_stat(&s, r, j->h);
}

static int lint_it(ratel *r, const job *j)
{
    ratel_lint *l = NULL;
    int code = ratel_lint_run(&l, r, j->h);
    if (code && l) test_fail(__FILE__, __LINE__, "an error came with findings");
    ratel_lint_free(l);
    return code;
}

static int fix_it(ratel *r, const job *j)
{
    ratel_lint *l = NULL;
    ratel_history *h = NULL;
    int code = ratel_history_fix(&h, &l, r, j->h, NULL, NULL);
    if (code && (l || h)) test_fail(__FILE__, __LINE__, "an error came with a repair");
    ratel_lint_free(l);
    ratel_history_free(h);
    return code;
}

static int shape_it(ratel *r, const job *j)
{
    ratel_stat s;
    ratel_shape p;
    int code = ratel_history_stat(&s, r, j->h);
    return code ? code : ratel_history_shape(&p, r, j->h, &s);
}

static int gen_it(ratel *r, const job *j)
{
    ratel_gen_options o = {.workload = j->format,
                           .isolation = "snapshot-isolation",
                           .txns = 30,
                           .sessions = 4,
                           .keys = 6,
                           .ops = 4,
                           .seed = 7,
                           .aborted = 0.1,
                           .unknown = 0.1,
                           .anomalies = "lost-update,long-fork:2"};
    ratel_history *h = NULL;
    const char *truth = NULL;
    int code = ratel_gen(&h, r, &o, &truth);
    ratel_history_free(h);
    return code;
}

static int emit_it(ratel *r, const job *j)
{
    size_t n = 0;
    return ratel_emit(j->h, r, j->level, j->format, NULL, drop, &n);
}

/* A solver that has looked at nothing: its "order" is refused by the replay, or is one. */
static int guess_solution(void *payload, const char *problem, size_t n, int (*stop)(void *),
                          void *stop_payload)
{
    (void)payload, (void)problem, (void)n;
    return stop(stop_payload) ? 0 : 10;
}

static int64_t guess_value(void *payload, const char *name)
{
    (void)payload;
    return (int64_t)strlen(name);
}

static int by_another(ratel *r, const job *j)
{
    ratel_backend b = {"guess", j->format, guess_solution, guess_value, NULL};
    ratel_result *a = NULL;
    int code = ratel_check_by(&a, r, j->h, j->level, NULL, &b);
    if (code && a) test_fail(__FILE__, __LINE__, "an error came with a result");
    ratel_result_free(a);
    return code;
}

static const char mine[] = "level mine over co { commit(so | wr); }\n";

static int synth_it(ratel *r, const job *j)
{
    ratel_synth *s = NULL;
    ratel_history *h = NULL;
    int mine_level = 0, strong = 0;
    ratel_synth_question q = {.allow = &mine_level, .n_allow = 1, .forbid = &strong, .n_forbid = 1};
    ratel_synth_answer a;
    int code = ratel_synth_open(&s, r);
    if (!code) code = ratel_synth_defined(s, mine, sizeof mine - 1, NULL, &mine_level);
    if (!code) code = ratel_synth_named(s, j->level, &strong);
    if (!code) code = ratel_synth_search(&h, s, &q, &a);
    if (code && h) test_fail(__FILE__, __LINE__, "an error came with a history");
    if (!code && !h) test_fail(__FILE__, __LINE__, "nothing found");
    if (!code) {
        int proved = ratel_synth_proves(s, strong, mine_level);
        if (proved < 0) code = proved;
        if (proved == 0) test_fail(__FILE__, __LINE__, "not proved");
    }
    ratel_history_free(h);
    ratel_synth_close(s);
    return code;
}

static int define_it(ratel *r, const job *j)
{
    size_t n = 0;
    ratel_verdict v;
    return ratel_certify_definition(&v, r, j->h, mine, sizeof mine - 1, NULL, drop, &n);
}

#define TRY(call)                                                                                  \
    do {                                                                                           \
        if (code == RATEL_OK) code = (call);                                                       \
    } while (0)

static ratel_value text_value(const char *s)
{
    return (ratel_value){.type = RATEL_STR, .as.str = {s, strlen(s)}};
}

static ratel_value int_value(int64_t i)
{
    return (ratel_value){.type = RATEL_INT, .as.i = i};
}

static int build_it(ratel *r, const job *j)
{
    ratel_history *h = NULL;
    ratel_value list[3] = {int_value(1), text_value("two"), int_value(3)};
    ratel_row rows[2] = {{text_value("a"), int_value(1)}, {text_value("b"), int_value(2)}};
    ratel_value none = {.type = RATEL_NULL};
    int64_t times[4] = {1, 2, 3, 4};
    (void)j;
    int code = ratel_history_new(&h, r);
    TRY(ratel_history_init(h, int_value(0)));
    TRY(ratel_history_init_key(h, text_value("k"), text_value("first")));
    for (int i = 0; i < 40; i++) {
        TRY(ratel_history_begin(h, text_value(i % 2 ? "one" : "two")));
        TRY(ratel_history_id(h, int_value(1000 - i)));
        if (i % 3) TRY(ratel_history_instants(h, i, i + 1));
        if (i % 3 == 0) TRY(ratel_history_intervals(h, times));
        TRY(ratel_history_put(h, text_value("a"), int_value(i), 0));
        TRY(ratel_history_ver(h, i));
        TRY(ratel_history_get(h, int_value(i), none, RATEL_OP_LOCK));
        TRY(ratel_history_from(h, i % 2 ? none : text_value("writer")));
        TRY(ratel_history_called(h, i, i + 1));
        TRY(ratel_history_attribute(h, "node", "{\"at\": [1, 2]}", 14));
        TRY(ratel_history_start_ts(h, i));
        TRY(ratel_history_commit_ts(h, i + 1));
        TRY(ratel_history_member(h, "note", "\"n\"", 3));
        TRY(ratel_history_get_unknown(h, int_value(-i), 0));
        TRY(ratel_history_append(h, text_value("list"), int_value(i), 0));
        TRY(ratel_history_get_list(h, text_value("list"), list, 3, 0));
        TRY(ratel_history_delete(h, text_value("b"), RATEL_OP_FAILED));
        TRY(ratel_history_scan(h, none, text_value("c"), rows, 2, 0));
        TRY(ratel_history_from_rows(h, list, 2));
        TRY(ratel_history_vset(h, text_value("q"), none));
        TRY(ratel_history_iterate(h, none, none, rows, 1, 0, 1, 0));
        TRY(ratel_history_end(h, (ratel_status)(i % 3)));
    }
    for (int i = 0; i < 40; i++) {
        ratel_txn a = 0, b = 0;
        TRY(ratel_history_open(h, int_value(i), &a));
        TRY(ratel_history_put(h, text_value("a"), int_value(100 + i), 0));
        TRY(ratel_history_open(h, int_value(i + 1000), &b));
        TRY(ratel_history_instants(h, i, i));
        TRY(ratel_history_scan(h, none, text_value("c"), rows, 2, 0));
        TRY(ratel_history_vset(h, text_value("a"), int_value(i)));
        TRY(ratel_history_member(h, "note", "1", 1));
        TRY(ratel_history_select(h, a));
        TRY(ratel_history_member(h, "note", "2", 1));
        TRY(ratel_history_get_list(h, text_value("list"), list, 3, 0));
        if (i % 2) TRY(ratel_history_end(h, RATEL_COMMITTED));
    }
    TRY(ratel_history_end_open(h, RATEL_STATUS_UNKNOWN));
    TRY(ratel_history_freeze(h));
    if (code && h && ratel_history_errmsg(h)[0] == '\0')
        test_fail(__FILE__, __LINE__, "a builder call failed without text");
    ratel_history_free(h);
    return code;
}

/* --- tests ------------------------------------------------------------------------------------ */

TEST(opening)
{
    ration m = {.refuse = 1};
    ratel_alloc alloc = {ration_alloc, &m};
    ratel *r = (ratel *)&m;
    EXPECT_EQ_INT(ratel_open(&r, &alloc), RATEL_ENOMEM);
    EXPECT(r == NULL);
    EXPECT_EQ_UINT(m.live, 0);
}

static void put_file(const char *path, const char *content)
{
    FILE *f = fopen(path, "w");
    if (!f || fputs(content, f) < 0 || fclose(f)) test_fail(__FILE__, __LINE__, "%s", path);
}

TEST(shrinking)
{
    ratel_history *h = history_of("ratel", cyclic, strlen(cyclic));
    ratel_result *a = NULL;
    REQUIRE(h != NULL);
    REQUIRE(ratel_check(&a, plain, h, "rc") == RATEL_OK);
    job j = {.what = "cyclic", .level = "rc", .h = h, .a = a, .session_order = 1};
    refuse_each("shrink", shrink_it, &j);
    ratel_result_free(a);
    ratel_history_free(h);
}

TEST(reading_with_files_beside)
{
    char dir[] = "/tmp/ratel-oom-XXXXXX", path[3][64];
    static const char *const names[] = {"log", "init", "cdc"};
    REQUIRE(mkdtemp(dir) != NULL);
    for (int i = 0; i < 3; i++) snprintf(path[i], sizeof path[i], "%s/%s", dir, names[i]);
    put_file(path[0], "[{\"tid\":1,\"sid\":1,\"ops\":[{\"t\":\"w\",\"k\":1,\"v\":5},"
                      "{\"t\":\"r\",\"k\":2,\"v\":[1,\"x\"]}],\"rtts\":[1, 2]}]");
    put_file(path[1], "{\"ops\":[{\"t\":\"w\",\"k\":7,\"v\":\"seven\"}]}");
    put_file(path[2], "{\"{'k': 1, 'v': 5}\": {\"start_ts\": 1, \"commit_ts\": 2, \"pre_write\": "
                      "{\"k\": 1, \"v\": 3}}}");
    ratel_beside beside = {path[1], path[2]};
    job j = {.path = path[0], .beside = &beside, .what = "beside", .session_order = 1};
    refuse_each("read with", read_it, &j);
    for (int i = 0; i < 3; i++) unlink(path[i]);
    rmdir(dir);
}

TEST(reading_and_writing_every_format)
{
    const char *id;
    char dir[] = "/tmp/ratel-oom-XXXXXX";
    REQUIRE(mkdtemp(dir) != NULL);
    for (size_t i = 0; !ratel_format_at(&id, NULL, i); i++)
        for (int k = 0; k < INPUTS; k++) {
            ratel_history *h = history_of("ratel", inputs[k].text, strlen(inputs[k].text));
            REQUIRE(h != NULL);
            sink s = {NULL, 0, 0};
            char path[64];
            snprintf(path, sizeof path, "%s/%s-%d", dir, id, k);
            int directory = !strcmp(id, "cobra") || !strcmp(id, "viper");
            int code = directory ? ratel_history_write_path(h, plain, id, path)
                                 : ratel_history_write(h, plain, id, take, &s);
            if (code == RATEL_OK) {
                job w = {.format = id, .what = inputs[k].name, .h = h};
                job in = {.format = id, .what = inputs[k].name, .in = {s.at, s.n, 0}};
                if (directory) {
                    in.path = path;
                    refuse_each("read", read_it, &in);
                } else {
                    refuse_each("write", write_it, &w);
                    refuse_each("read", read_it, &in);
                }
            } else {
                EXPECT(code == RATEL_EUNSUPPORTED || code == RATEL_EHISTORY);
            }
            free(s.at);
            ratel_history_free(h);
            char command[128];
            snprintf(command, sizeof command, "rm -rf '%s'", path);
            EXPECT_EQ_INT(system(command), 0);
        }
    rmdir(dir);
}

/* What our writers never write: scattered lines, unknown members, other styles. */
TEST(reading_foreign_shapes)
{
    static const struct {
        const char *format, *text;
    } foreign[] = {
        {"dbcop-json", "{\"odd\":[1, 2],\"params\":{\"id\":1},\"data\":[[{\"x\":{},\"events\":["
                       "{\"Write\":{\"variable\":9,\"version\":0}},[\"r\",8,0]],"
                       "\"committed\":true}]],\"e\\n\":\"\\u00e9\"}"},
        {"dbcop-hist", "// c\n[x==0 x:=1][long_name:=18446744073709551615]!\n---\n[y==?]"},
        {"dbcop-yaml",
         "- - success: true\n    events:\n    - {write: true, variable: 1, value: 2,\n"
         "success: false}\n"},
        {"awdit-test", "w 1 18446744073709551615\n=\nr 1 0\n--\n"},
        {"elle-json", "{\"type\":\"invoke\",\"process\":\"p\\/\",\"value\":[[\"r\",\"x\",null]]}"
                      "{\"type\":\"info\",\"process\":\"nemesis\",\"f\":\"cut\"}"
                      "{\"type\":\"ok\",\"process\":\"p\\/\",\"value\":[[\"r\",\"x\",[1,\"\\n\"]]],"
                      "\"error\":[null]}"},
        {"veristrong-la", "4 1 1 A 5 1 2 2 R 5 1 1 1 1 A 5 -2 2 2 R 5 2 1 -2"},
    };
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        job j = {.what = "foreign", .format = foreign[i].format, .in = {foreign[i].text, 0, 0}};
        j.in.n = strlen(foreign[i].text);
        refuse_each("read", read_it, &j);
    }
}

TEST(reading_what_detection_must_find)
{
    for (int k = 0; k < INPUTS; k++) {
        job j = {.what = inputs[k].name, .format = NULL, .in = {inputs[k].text, 0, 0}};
        j.in.n = strlen(inputs[k].text);
        refuse_each("detect", read_it, &j);
    }
}

TEST(writing_to_a_path)
{
    char path[] = "/tmp/ratel-oom-XXXXXX";
    int fd = mkstemp(path);
    REQUIRE(fd >= 0);
    close(fd);
    ratel_history *h = history_of("ratel", skewed, sizeof skewed - 1);
    job j = {.format = "ratel", .what = "skewed", .h = h, .path = path};
    refuse_each("write to a path", write_it, &j);
    ratel_history_free(h);
    unlink(path);
}

TEST(deciding_every_level_and_telling_the_answer)
{
    ratel_level l;
    for (int k = 0; k < INPUTS; k++) {
        ratel_history *h = history_of("ratel", inputs[k].text, strlen(inputs[k].text));
        REQUIRE(h != NULL);
        for (size_t i = 0; !ratel_level_at(&l, i); i++) {
            ratel_result *a = NULL;
            if (!l.decided) continue;
            int so = (int)(i + (size_t)k) % 2;
            job j = {.h = h, .what = inputs[k].name, .level = l.name, .session_order = so};
            refuse_each("check", check_it, &j);
            j.strategy = 1;
            if (!strcmp(l.name, "serializable") || !strcmp(l.name, "snapshot-isolation"))
                refuse_each("check by polygraph", check_it, &j);
            j.strategy = 0;
            ratel_set(plain, "session_order", so);
            EXPECT_EQ_INT(ratel_check(&a, plain, h, l.name), RATEL_OK);
            static const char *const stages[] = {"asg", "ir", "clauses"};
            for (int s = i ? 1 : 0; s < 3; s++) {
                sink text = {NULL, 0, 0};
                j.format = stages[s];
                if (ratel_dump(h, plain, l.name, stages[s], take, &text) == RATEL_OK)
                    refuse_each("dump", dump_it, &j);
                free(text.at);
            }
            j.format = NULL;
            j.a = a;
            if (ratel_result_recheck(a, plain, h) == RATEL_OK) /* else not a matter of memory */
                refuse_each("recheck", recheck_it, &j);
            sink s = {NULL, 0, 0};
            if (ratel_result_certificate(a, plain, h, take, &s) == RATEL_OK) {
                refuse_each("certify", certify_it, &j);
                j.in = (bytes){s.at, s.n, 0};
                refuse_each("verify", verify_it, &j);
            }
            free(s.at);
            if (!strcmp(l.name, "serializable") && ratel_result_verdict(a) == RATEL_VIOLATED)
                refuse_each("explain", explain_it, &j);
            j.level = NULL;
            j.format = "json";
            refuse_each("tell", tell_it, &j);
            j.format = "text";
            refuse_each("tell", tell_it, &j);
            ratel_result_free(a);
            if (test_all.failures > 10) break;
        }
        job j = {.h = h, .what = inputs[k].name, .format = "stat"};
        refuse_each("stat", stat_it, &j);
        if (k == 0) refuse_each("survey", survey_it, &j);
        refuse_each("lint", lint_it, &j);
        refuse_each("fix", fix_it, &j);
        refuse_each("shape", shape_it, &j);
        ratel_history_free(h);
    }
}

TEST(generating)
{
    const char *name;
    for (size_t i = 0; !ratel_gen_workload_at(&name, NULL, i); i++) {
        job j = {.format = name, .what = "gen"};
        refuse_each("generate", gen_it, &j);
    }
}

TEST(building)
{
    job j = {.format = "builder", .what = "calls"};
    refuse_each("build", build_it, &j);
}

TEST(other_solvers)
{
    static const char *const formats[] = {"smt2", "dimacs", "gnf"};
    static const char *const levels[] = {"si", "update-serializable", "nlu", "monotonic-view"};
    ratel_history *h = history_of("ratel", doubled, sizeof doubled - 1);
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < 4; k++) {
            job j = {.format = formats[i], .level = levels[k], .what = "doubled", .h = h};
            refuse_each("emit", emit_it, &j);
            if (i < 2) refuse_each("check by another solver", by_another, &j);
        }
    ratel_history_free(h);
}

TEST(levels_as_text)
{
    job j = {.level = "snapshot-isolation", .what = "synth", .session_order = 1};
    refuse_each("synth", synth_it, &j);
    ratel_history *h = history_of("ratel", skewed, sizeof skewed - 1);
    job d = {.level = "mine", .what = "skewed", .h = h, .session_order = 1};
    refuse_each("certify a definition", define_it, &d);
    ratel_history_free(h);
}

/* A limit that the user sets is an error while reading and an answer while deciding. */
TEST(memory_limits)
{
    ratel *r = NULL;
    ratel_history *h = NULL, *small = NULL;
    ratel_result *a = NULL;
    const char *truth;
    ratel_gen_options o = {.workload = "blindw-rw",
                           .isolation = "serializable",
                           .txns = 20000,
                           .sessions = 8,
                           .keys = 1000,
                           .ops = 8,
                           .seed = 1};
    REQUIRE(ratel_open(&r, NULL) == RATEL_OK);
    EXPECT_EQ_INT(ratel_set(r, "memory", -1), RATEL_EINVAL);
    EXPECT_EQ_INT(ratel_set(r, "memory", 1), RATEL_OK);
    EXPECT_EQ_INT(ratel_gen(&small, r, &o, &truth), RATEL_ENOMEM);
    EXPECT(small == NULL);
    EXPECT_EQ_INT(ratel_set(r, "memory", 0), RATEL_OK);
    REQUIRE(ratel_gen(&h, r, &o, &truth) == RATEL_OK);
    EXPECT_EQ_INT(ratel_set(r, "memory", 2), RATEL_OK);
    EXPECT_EQ_INT(ratel_check(&a, r, h, "causal"), RATEL_OK);
    EXPECT_EQ_INT(ratel_result_verdict(a), RATEL_UNDECIDED);
    EXPECT(a && strstr(ratel_result_reason(a), "memory limit reached (2 MiB)") != NULL);
    ratel_result_free(a);
    EXPECT_EQ_INT(ratel_set(r, "memory", 1000), RATEL_OK);
    EXPECT_EQ_INT(ratel_check(&a, r, h, "causal"), RATEL_OK);
    EXPECT_EQ_INT(ratel_result_verdict(a), RATEL_HOLDS);
    ratel_result_free(a);
    ratel_history_free(h);
    ratel_close(r);
}

TEST(closing_what_the_tests_shared)
{
    ratel_close(plain);
    plain = NULL;
}

TEST_MAIN
