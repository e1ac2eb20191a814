/*
 * etcd.c - etcd through its gateway of JSON over HTTP.
 *
 *   etcd://host[:port][,host:port...]     members that are there
 *   etcd:temp[?nodes=N]                   members that Ratel starts (temp.h)
 *
 * The first read of a transaction is linearizable (with reads=serializable, of whatever the member
 * has) and tells the revision at which all others read.  Writes are kept here and sent with the
 * commit, a transaction of etcd which compares.  serializable: every key that was read must still
 * have the revision that it had then, and no key of a range may be newer; read-committed: nothing
 * is compared, and each read is of the newest revision.
 *
 * Traps: an error of a commit leaves its outcome open, unless it says that the request was wrong.
 * Members of the answer that are zero or false are left out.
 */
#include <curl/curl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "driver/adapters.h"

enum { READY_SECONDS = 60, KEY_TEXT = 64, TIMEOUT_MS = 10000, BASE64 = 128 };

enum pending_kind { PUT_VALUE, PUT_TOMB, DELETE_KEY };

typedef struct pending {
    int64_t key, value;
    enum pending_kind kind;
} pending;

typedef struct seen_key {
    int64_t key, to;   /* to: the end of a range, else key */
    char revision[24]; /* "0": it was absent; of a range: it was read at */
} seen_key;

typedef struct etcd_conn {
    CURL *curl;
    strbuf request, answer, list;
    VEC(pending) writes;
    VEC(seen_key) seen;
    char revision[24]; /* of the first read; "": there was none */
    long status;

} etcd_conn;

typedef struct etcd_own {
    bool stale; /* the first read may be of the past */
} etcd_own;

/* --- text ------------------------------------------------------------------------------------- */

static size_t to_base64(const char *from, size_t n, char *to)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t at = 0;
    for (size_t i = 0; i < n; i += 3) {
        uint32_t x = 0;
        for (size_t k = 0; k < 3; k++) x = x << 8 | (i + k < n ? (unsigned char)from[i + k] : 0);
        for (size_t k = 0; k < 4; k++) to[at++] = i + k > n ? '=' : digits[x >> (18 - 6 * k) & 63];
    }
    to[at] = 0;
    return at;
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    if (c >= '0' && c <= '9') return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static void from_base64(const char *from, size_t n, strbuf *to)
{
    uint32_t x = 0;
    int bits = 0;
    to->n = 0;
    for (size_t i = 0; i < n && base64_digit(from[i]) >= 0; i++) {
        x = x << 6 | (uint32_t)base64_digit(from[i]);
        bits += 6;
        if (bits < 8) continue;
        bits -= 8;
        strbuf_char(to, (char)(x >> bits));
    }
}

/* The text of a member of this name within [at, end), which is between quotes. */
static const char *member(const char *at, const char *end, const char *name, size_t *n)
{
    char sign[40];
    size_t len = (size_t)snprintf(sign, sizeof sign, "\"%s\":\"", name);
    const char *p = at ? memmem(at, (size_t)(end - at), sign, len) : NULL;
    const char *q = p ? memchr(p + len, '"', (size_t)(end - p) - len) : NULL;
    if (!q) return NULL;
    *n = (size_t)(q - p) - len;
    return p + len;
}

static void member_text(const char *at, const char *end, const char *name, char *to, size_t cap)
{
    size_t n = 0;
    const char *p = member(at, end, name, &n);
    snprintf(to, cap, "%.*s", p ? (int)n : 1, p ? p : "0");
}

/* Numbers in the order of their digits. */
static void key_text(const db *d, int64_t key, char *base64)
{
    char text[KEY_TEXT];
    int n =
        snprintf(text, sizeof text, "%s/%016llx", d->place, (unsigned long long)key ^ 1ull << 63);
    to_base64(text, (size_t)n, base64);
}

/* --- requests --------------------------------------------------------------------------------- */

static size_t take_answer(char *text, size_t size, size_t n, void *ud)
{
    strbuf_add(ud, text, size * n);
    return size * n;
}

static bool prepare_handle(const db *d, uint32_t node, etcd_conn *c)
{
    const db_node *n = &d->node[node];
    c->curl = curl_easy_init();
    if (!c->curl) return false;
    curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(c->curl, CURLOPT_PROXY, "");
    curl_easy_setopt(c->curl, CURLOPT_TIMEOUT_MS, (long)TIMEOUT_MS);
    curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_answer);
    curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &c->answer);
    if (*n->host == '/') curl_easy_setopt(c->curl, CURLOPT_UNIX_SOCKET_PATH, n->host);
    return true;
}

static void forget_handle(db_session *s, etcd_conn *c)
{
    if (c->curl) curl_easy_cleanup(c->curl);
    strbuf_free(&c->request);
    strbuf_free(&c->answer);
    strbuf_free(&c->list);
    vec_free(s->mem, &c->writes);
    vec_free(s->mem, &c->seen);
}

/* Posts c->request; false: there was no answer, and error says why. */
static bool posted(const db *d, uint32_t node, etcd_conn *c, const char *path, char *error)
{
    const db_node *n = &d->node[node];
    char url[256];
    bool local = *n->host == '/';
    snprintf(url, sizeof url, "http://%s:%s%s", local ? "localhost" : n->host,
             local ? "2379" : n->port, path);
    c->answer.n = 0;
    curl_easy_setopt(c->curl, CURLOPT_URL, url);
    curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, strbuf_cstr(&c->request));
    curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE, (long)c->request.n);
    CURLcode code = curl_easy_perform(c->curl);
    c->status = 0;
    if (code == CURLE_OK) curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &c->status);
    strbuf_cstr(&c->answer);
    if (code != CURLE_OK) db_fail(error, "%s", curl_easy_strerror(code));
    return code == CURLE_OK;
}

typedef struct error_class {
    const char *code;
    enum db_answer statement, commit;
} error_class;

static const error_class error_classes[] = {
#define ETCD_ERROR(code, statement, commit, why) {code, statement, commit},
#include "driver/etcd_errors.def"
#undef ETCD_ERROR
};

/* Errors carry the number of gRPC's status. */
static enum db_answer told(db_session *s, bool answered, bool commit)
{
    const etcd_conn *c = s->own;
    if (!answered) return DB_LOST;
    if (c->status == 200) return DB_OK;
    db_fail(s->error, "etcd: %.*s", (int)(c->answer.n < 300 ? c->answer.n : 300), c->answer.at);
    const char *p = strstr(c->answer.at, "\"code\":");
    char code[8];
    snprintf(code, sizeof code, "%.*s", p ? (int)strspn(p + 7, "0123456789") : 1, p ? p + 7 : "?");
    for (size_t i = 0; i < sizeof error_classes / sizeof *error_classes; i++)
        if (!strcmp(error_classes[i].code, code))
            return commit ? error_classes[i].commit : error_classes[i].statement;
    return commit ? DB_LOST : DB_BROKEN;
}

/* --- opening ---------------------------------------------------------------------------------- */

/* A handle outside of the sessions, for opening and loading. */
static void probe_init(db *d, db_session *s, etcd_conn *c, uint32_t node)
{
    memset(s, 0, sizeof *s);
    memset(c, 0, sizeof *c);
    s->db = d;
    s->mem = d->mem;
    s->own = c;
    s->node = node;
    strbuf_init(&c->request, d->mem);
    strbuf_init(&c->answer, d->mem);
    strbuf_init(&c->list, d->mem);
}

/* A member answers linearizable reads when there is a leader. */
static bool is_ready(db *d, uint32_t node)
{
    db_session s;
    etcd_conn c;
    bool ready = false;
    probe_init(d, &s, &c, node);
    bool there = prepare_handle(d, node, &c);
    strbuf_str(&c.request, "{\"key\":\"cmF0ZWw=\"}");
    for (uint64_t begun = clock_now(); there && !ready;) {
        bool answered = posted(d, node, &c, "/v3/kv/range", d->error);
        ready = answered && c.status == 200;
        if (ready) break;
        if (answered)
            db_fail(d->error, "%.*s", (int)(c.answer.n < 300 ? c.answer.n : 300), c.answer.at);
        if (temp_ended(&d->temp, d->error, sizeof d->error) || !d->temp.running ||
            clock_now() - begun > READY_SECONDS * 1000000000ull)
            break;
        clock_nap(20000000);
    }
    forget_handle(&s, &c);
    return ready;
}

static bool parse_hosts(db *d)
{
    const char *p = d->address;
    size_t n = strncmp(p, "//", 2) ? 0 : strcspn(p + 2, "/?");
    if (!n || memchr(p, '@', n + 2)) {
        db_fail(d->error, "expected etcd://host[:port][,...], without a password, or etcd:temp");
        return false;
    }
    const char *end = p + 2 + n;
    for (p += 2; p < end;) {
        size_t one = strcspn(p, ",/?");
        if (!db_add_node(d, p, one, "2379")) return false;
        p += one + (p[one] == ',');
    }
    return true;
}

enum { PEER_PORT = 23800, OWN_PORT = 24800 }; /* the second if there is a proxy at the first */

/* One member of a new cluster, of which all members are listed. */
static bool member_arguments(db *d, temp_spec *s, unsigned i, const char *all)
{
    static const char *const sockets[TEMP_NODES] = {"s0:0", "s1:0", "s2:0", "s3:0", "s4:0",
                                                    "s5:0", "s6:0", "s7:0", "s8:0"};
    const char **a = s->node[i].serve;
    s->node[i].socket = sockets[i];
    char listen[32], target[32], advertised[8], own[8];
    snprintf(listen, sizeof listen, "%%d/px/s%u", i);
    snprintf(target, sizeof target, "%%d/s%u:0", i);
    snprintf(advertised, sizeof advertised, "%u", PEER_PORT + i);
    snprintf(own, sizeof own, "%u", d->wants & DB_LINKS ? OWN_PORT + i : PEER_PORT + i);
    return db_link(d, s, i, false, listen, target) && db_link(d, s, i, true, advertised, own) &&
           db_argument(d, a, "etcd") && db_argument(d, a, "--name=n%u", i) &&
           db_argument(d, a, "--data-dir=%%d/n%u", i) &&
           db_argument(d, a, "--listen-client-urls=unix://s%u:0", i) &&
           db_argument(d, a, "--advertise-client-urls=http://127.0.0.1:%u", 2379 + i) &&
           db_argument(d, a, "--listen-peer-urls=http://127.0.0.1:%s", own) &&
           db_argument(d, a, "--initial-advertise-peer-urls=http://127.0.0.1:%s", advertised) &&
           db_argument(d, a, "--initial-cluster=%s", all) &&
           db_argument(d, a, "--heartbeat-interval=50") &&
           db_argument(d, a, "--election-timeout=500") && db_argument(d, a, "--unsafe-no-fsync") &&
           db_server_settings(d, a, NULL, "--%s=%s");
}

static bool start_members(db *d)
{
    static const char *const known[] = {"nodes", "bin", "set", "pin", "reads", NULL};
    uint32_t n;
    char all[380] = "";
    temp_spec *s = mem_zeroed(d->mem, sizeof *s);
    s->user = "etcd";
    s->path = "/usr/bin";
    s->restart = SIGTERM;
    s->network = true;
    if (!db_parameters_known(d, known) || !db_programs(d, s) ||
        !db_parameter_number(d, "nodes", 1, DB_NODES, 1, &n))
        return false;
    s->nodes = d->nodes = n;
    for (unsigned i = 0; i < n; i++) {
        size_t at = strlen(all);
        snprintf(all + at, sizeof all - at, "%sn%u=http://127.0.0.1:%u", i ? "," : "", i,
                 PEER_PORT + i);
    }
    for (unsigned i = 0; i < n; i++)
        if (!member_arguments(d, s, i, all)) return false;
    if (!temp_start(&d->temp, s, d->error, sizeof d->error)) return false;
    for (unsigned i = 0; i < n; i++) {
        snprintf(d->node[i].host, sizeof d->node[i].host,
                 d->has & DB_LINKS ? "%s/px/s%u" : "%s/s%u:0", d->temp.dir, i);
        if (i && !temp_start_node(&d->temp, i, d->error, sizeof d->error)) return false;
    }
    return true;
}

static bool etcd_open(db *d)
{
    static const char *const known[] = {"pin", "reads", NULL};
    etcd_own *o = d->own = mem_zeroed(d->mem, sizeof *o);
    char form[32], reads[32] = "linearizable";
    db_parameter(d, "reads", reads, sizeof reads);
    o->stale = !strcmp(reads, "serializable");
    bool wrong = !o->stale && strcmp(reads, "linearizable") != 0;
    if (wrong) db_fail(d->error, "reads=... in the URL is linearizable or serializable");
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (!wrong && db_temporary(d, form, sizeof form)) {
        if (*form) db_fail(d->error, "expected etcd:temp[?nodes=N]");
        d->misuse = *form;
        if (*form || !start_members(d)) return false;
    } else if (wrong || !db_parameters_known(d, known) || !parse_hosts(d)) {
        d->misuse = true;
        return false;
    }
    for (uint32_t i = 0; i < d->nodes; i++) {
        snprintf(d->node[i].role, sizeof d->node[i].role, "member");
        if (!is_ready(d, i)) return false;
    }
    if (d->nodes > 1 && !db_pin(d)) return false;
    if (o->stale) snprintf(d->form, sizeof d->form, "etcd/serializable");
    db_session s;
    etcd_conn c;
    char version[32] = "?";
    probe_init(d, &s, &c, 0);
    strbuf_str(&c.request, "{}");
    if (prepare_handle(d, 0, &c) && posted(d, 0, &c, "/v3/maintenance/status", d->error))
        member_text(c.answer.at, c.answer.at + c.answer.n, "version", version, sizeof version);
    forget_handle(&s, &c);
    snprintf(d->version, sizeof d->version, "etcd %s", version);
    db_setting(d, "reads", reads);
    return true;
}

/* Everything of this run, from its name to the next one. */
static bool clear_keys(db *d, etcd_conn *c)
{
    char name[40], from[BASE64], to[BASE64];
    int n = snprintf(name, sizeof name, "%s/", d->place);
    to_base64(name, (size_t)n, from);
    name[n - 1]++;
    to_base64(name, (size_t)n, to);
    c->request.n = 0;
    strbuf_printf(&c->request, "{\"key\":\"%s\",\"range_end\":\"%s\"}", from, to);
    return posted(d, 0, c, "/v3/kv/deleterange", d->error) && c->status == 200;
}

static void etcd_close(db *d)
{
    db_session s;
    etcd_conn c;
    if (!d->made || d->temp.running) return;
    probe_init(d, &s, &c, 0);
    if (prepare_handle(d, 0, &c)) clear_keys(d, &c);
    forget_handle(&s, &c);
}

static bool etcd_load(db *d, const db_row *rows, size_t n)
{
    db_session s;
    etcd_conn c;
    if (d->lists && db_asks_for(d, "read-committed")) { /* etcd cannot append by itself */
        d->misuse = true;
        db_fail(d->error, "lists need isolation serializable: without compares appends get lost");
        return false;
    }
    probe_init(d, &s, &c, 0);
    bool done = prepare_handle(d, 0, &c) && clear_keys(d, &c);
    d->made = true;
    for (size_t i = 0; done && i < n; i++) {
        char key[BASE64], text[32], value[BASE64];
        key_text(d, rows[i].key, key);
        to_base64(text, (size_t)snprintf(text, sizeof text, "%lld", (long long)rows[i].value),
                  value);
        c.request.n = 0;
        strbuf_printf(&c.request, "{\"key\":\"%s\",\"value\":\"%s\"}", key, value);
        done = posted(d, 0, &c, "/v3/kv/put", d->error) && c.status == 200;
    }
    if (!done && !*d->error) db_fail(d->error, "etcd refused the first rows");
    forget_handle(&s, &c);
    return done;
}

/* --- sessions --------------------------------------------------------------------------------- */

static enum db_answer etcd_connect(db_session *s)
{
    etcd_conn *c = s->own = mem_zeroed(s->mem, sizeof *c);
    strbuf_init(&c->request, s->mem);
    strbuf_init(&c->answer, s->mem);
    strbuf_init(&c->list, s->mem);
    if (!prepare_handle(s->db, s->node, c)) return DB_LOST;
    strbuf_str(&c->request, "{\"key\":\"cmF0ZWw=\",\"serializable\":true}");
    return posted(s->db, s->node, c, "/v3/kv/range", s->error) ? DB_OK : DB_LOST;
}

static void etcd_disconnect(db_session *s)
{
    etcd_conn *c = s->own;
    if (!c) return;
    forget_handle(s, c);
    mem_put(s->mem, c);
    s->own = NULL;
}

static bool validates(const db_session *s)
{
    return !strcmp(s->isolation, "serializable");
}

static unsigned etcd_snapshot(const db *d)
{
    return !strcmp(d->isolation, "serializable") ? DB_READ | DB_LOCKING_READ : 0;
}

static enum db_answer etcd_begin(db_session *s)
{
    etcd_conn *c = s->own;
    c->writes.n = c->seen.n = 0;
    *c->revision = 0;
    return DB_OK;
}

/* Asks for the keys [key, to), or for one if to is NULL. */
static enum db_answer read_keys(db_session *s, const char *key, const char *to, uint32_t limit)
{
    etcd_conn *c = s->own;
    const etcd_own *o = s->db->own;
    c->request.n = 0;
    strbuf_printf(&c->request, "{\"key\":\"%s\"", key);
    if (to) strbuf_printf(&c->request, ",\"range_end\":\"%s\"", to);
    if (limit) strbuf_printf(&c->request, ",\"limit\":\"%u\"", limit);
    if (*c->revision && validates(s))
        strbuf_printf(&c->request, ",\"revision\":\"%s\"", c->revision);
    strbuf_printf(&c->request, "%s}",
                  o->stale || (*c->revision && validates(s)) ? ",\"serializable\":true" : "");
    enum db_answer a = told(s, posted(s->db, s->node, c, "/v3/kv/range", s->error), false);
    if (a == DB_OK && !*c->revision)
        member_text(c->answer.at, c->answer.at + c->answer.n, "revision", c->revision,
                    sizeof c->revision);
    return a;
}

/* The next key and value of an answer, from *at on; its text begins and ends with braces. */
static bool next_pair(const char **at, const char *end, const char **from, const char **to)
{
    const char *p = *at ? memmem(*at, (size_t)(end - *at), "{\"key\":", 7) : NULL;
    const char *q = p ? memchr(p, '}', (size_t)(end - p)) : NULL;
    if (!q) return false;
    *from = p;
    *to = *at = q;
    return true;
}

static void seen_value(db_session *s, strbuf *text)
{
    s->tomb = text->n == 1 && *text->at == '-';
    s->absent = s->tomb;
    s->text.n = 0;
    if (s->absent) return;
    if (s->db->lists)
        strbuf_add(&s->text, text->at, text->n);
    else
        s->value = strtoll(strbuf_cstr(text), NULL, 10);
}

static const pending *last_write(const etcd_conn *c, int64_t key)
{
    for (size_t i = c->writes.n; i--;)
        if (c->writes.at[i].key == key) return &c->writes.at[i];
    return NULL;
}

/* What is stored at a key, remembered for the commit; s->absent, s->value, s->text tell it. */
static enum db_answer stored_value(db_session *s, int64_t key)
{
    etcd_conn *c = s->own;
    char name[BASE64];
    key_text(s->db, key, name);
    enum db_answer a = read_keys(s, name, NULL, 0);
    if (a != DB_OK) return a;
    const char *at = c->answer.at, *end = at + c->answer.n, *from, *to;
    seen_key seen = {key, key, "0"};
    s->absent = true;
    s->tomb = false;
    s->text.n = 0;
    if (next_pair(&at, end, &from, &to)) {
        size_t n = 0;
        const char *value = member(from, to, "value", &n);
        from_base64(value, n, &c->list);
        seen_value(s, &c->list);
        member_text(from, to, "mod_revision", seen.revision, sizeof seen.revision);
    }
    if (validates(s)) vec_push(s->mem, &c->seen, seen);
    return DB_OK;
}

static enum db_answer etcd_get(db_session *s, int64_t key, bool lock)
{
    (void)lock;
    etcd_conn *c = s->own;
    const pending *own = last_write(c, key);
    if (own && !s->db->lists) {
        s->tomb = own->kind == PUT_TOMB;
        s->absent = own->kind != PUT_VALUE;
        s->value = own->value;
        return DB_OK;
    }
    enum db_answer a = stored_value(s, key);
    for (size_t i = 0; a == DB_OK && own && i < c->writes.n; i++)
        if (c->writes.at[i].key == key) {
            if (s->text.n) strbuf_char(&s->text, ',');
            strbuf_i64(&s->text, c->writes.at[i].value);
            s->absent = false;
        }
    return a;
}

static enum db_answer keep(db_session *s, int64_t key, int64_t value, enum pending_kind kind)
{
    etcd_conn *c = s->own;
    pending p = {key, value, kind};
    vec_push(s->mem, &c->writes, p);
    return DB_OK;
}

static enum db_answer etcd_put(db_session *s, int64_t key, int64_t value)
{
    return keep(s, key, value, PUT_VALUE);
}

/* etcd cannot append: the list is read, and put with one more element.  (Where nothing is compared,
   load has refused lists.) */
static enum db_answer etcd_append(db_session *s, int64_t key, int64_t value)
{
    return keep(s, key, value, PUT_VALUE);
}

static enum db_answer etcd_remove(db_session *s, int64_t key)
{
    return keep(s, key, 0, s->db->tombstones ? PUT_TOMB : DELETE_KEY);
}

/* Is there a later row that this transaction has not touched itself?  Own writes are merged in. */
static void merge_rows(db_session *s, int64_t from, int64_t to)
{
    const etcd_conn *c = s->own;
    for (size_t i = 0; i < c->writes.n; i++) {
        const pending *p = &c->writes.at[i];
        if (p->key < from || p->key >= to) continue;
        size_t at = 0;
        while (at < s->rows.n && s->rows.at[at].key < p->key) at++;
        bool there = at < s->rows.n && s->rows.at[at].key == p->key;
        db_row row = {p->key, p->value};
        if (p->kind == PUT_VALUE && !there) {
            vec_push(s->mem, &s->rows, row);
            memmove(&s->rows.at[at + 1], &s->rows.at[at], (s->rows.n - 1 - at) * sizeof row);
        }
        if (p->kind == PUT_VALUE) {
            s->rows.at[at] = row;
        } else if (there) {
            memmove(&s->rows.at[at], &s->rows.at[at + 1], (s->rows.n - 1 - at) * sizeof row);
            s->rows.n--;
        }
    }
}

static int64_t key_number(const strbuf *text)
{
    const char *slash = text->n >= 16 ? text->at + text->n - 16 : NULL;
    return slash ? (int64_t)(strtoull(slash, NULL, 16) ^ 1ull << 63) : 0;
}

static enum db_answer etcd_range(db_session *s, int64_t from, int64_t to, uint32_t limit)
{
    etcd_conn *c = s->own;
    char first[BASE64], last[BASE64];
    s->rows.n = 0;
    if (from >= to) return DB_OK;
    key_text(s->db, from, first);
    key_text(s->db, to, last);
    enum db_answer a = read_keys(s, first, last, 0);
    if (a != DB_OK) return a;
    const char *at = c->answer.at, *end = at + c->answer.n, *begin, *stop;
    seen_key whole = {from, to, ""};
    memcpy(whole.revision, c->revision, sizeof whole.revision);
    if (validates(s)) vec_push(s->mem, &c->seen, whole);
    while (next_pair(&at, end, &begin, &stop)) {
        size_t n = 0;
        const char *key = member(begin, stop, "key", &n);
        from_base64(key, n, &c->list);
        strbuf_cstr(&c->list);
        seen_key one = {key_number(&c->list), 0, ""};
        one.to = one.key;
        member_text(begin, stop, "mod_revision", one.revision, sizeof one.revision);
        if (validates(s)) vec_push(s->mem, &c->seen, one);
        const char *value = member(begin, stop, "value", &n);
        from_base64(value, n, &c->list);
        seen_value(s, &c->list);
        db_row row = {one.key, s->value};
        if (!s->absent) vec_push(s->mem, &s->rows, row);
    }
    merge_rows(s, from, to);
    if (limit && s->rows.n > limit) s->rows.n = limit;
    return DB_OK;
}

static enum db_answer etcd_abort(db_session *s)
{
    (void)s;
    return DB_OK;
}

/* Of a range: no key in it is newer than the read.  One that is gone had its own compare. */
static void add_compare(db_session *s, const seen_key *k, bool first)
{
    etcd_conn *c = s->own;
    char key[BASE64], to[BASE64];
    key_text(s->db, k->key, key);
    strbuf_printf(&c->request, "%s{\"key\":\"%s\",\"target\":\"MOD\",", first ? "" : ",", key);
    if (k->to != k->key) {
        key_text(s->db, k->to, to);
        strbuf_printf(&c->request,
                      "\"range_end\":\"%s\",\"result\":\"LESS\",\"mod_revision\":\"%lld\"}", to,
                      strtoll(k->revision, NULL, 10) + 1);
    } else {
        strbuf_printf(&c->request, "\"result\":\"EQUAL\",\"mod_revision\":\"%s\"}", k->revision);
    }
}

static void add_put(db_session *s, const pending *p, bool first, const char *text, size_t n)
{
    etcd_conn *c = s->own;
    char key[BASE64];
    key_text(s->db, p->key, key);
    strbuf_str(&c->request, first ? "" : ",");
    if (p->kind == DELETE_KEY) {
        strbuf_printf(&c->request, "{\"request_delete_range\":{\"key\":\"%s\"}}", key);
        return;
    }
    strbuf_printf(&c->request, "{\"request_put\":{\"key\":\"%s\",\"value\":\"", key);
    for (size_t i = 0; i < n; i += 48) { /* a multiple of three, so that pieces join */
        char piece[80];
        to_base64(text + i, n - i < 48 ? n - i : 48, piece);
        strbuf_str(&c->request, piece);
    }
    strbuf_str(&c->request, "\"}}");
}

/* Lists are made before the request: that reads. */
static enum db_answer read_lists(db_session *s, strbuf *lists, size_t *ends)
{
    etcd_conn *c = s->own;
    for (size_t i = 0; i < c->writes.n; i++) {
        if (last_write(c, c->writes.at[i].key) == &c->writes.at[i]) {
            enum db_answer a = etcd_get(s, c->writes.at[i].key, false);
            if (a != DB_OK) return a;
            strbuf_add(lists, s->text.at, s->text.n);
        }
        ends[i] = lists->n;
    }
    return DB_OK;
}

/* Only the last write of a key is sent: etcd takes each key once. */
static void add_writes(db_session *s, const strbuf *lists, const size_t *ends)
{
    etcd_conn *c = s->own;
    bool first = true;
    for (size_t i = 0; i < c->writes.n; i++) {
        const pending *p = &c->writes.at[i];
        char text[32];
        if (last_write(c, p->key) != p) continue;
        size_t at = i && lists ? ends[i - 1] : 0;
        int n = snprintf(text, sizeof text, "%lld", (long long)p->value);
        if (lists)
            add_put(s, p, first, lists->at + at, ends[i] - at);
        else
            add_put(s, p, first, p->kind == PUT_TOMB ? "-" : text,
                    p->kind == PUT_TOMB ? 1 : (size_t)n);
        first = false;
    }
}

static enum db_answer send_commit(db_session *s, const strbuf *lists, const size_t *ends)
{
    etcd_conn *c = s->own;
    c->request.n = 0;
    strbuf_str(&c->request, "{\"compare\":[");
    for (size_t i = 0; i < c->seen.n; i++) add_compare(s, &c->seen.at[i], i == 0);
    strbuf_str(&c->request, "],\"success\":[");
    add_writes(s, lists, ends);
    strbuf_str(&c->request, "]}");
    enum db_answer a = told(s, posted(s->db, s->node, c, "/v3/kv/txn", s->error), true);
    if (a != DB_OK) return a;
    if (strstr(c->answer.at, "\"succeeded\":true")) return DB_OK;
    db_fail(s->error, "a key has changed since it was read");
    return DB_REFUSED;
}

static enum db_answer etcd_commit(db_session *s)
{
    etcd_conn *c = s->own;
    if (!c->writes.n) return DB_OK; /* all reads are of one revision */
    if (!s->db->lists) return send_commit(s, NULL, NULL);
    strbuf lists;
    strbuf_init(&lists, s->mem);
    size_t *ends = mem_array(s->mem, size_t, c->writes.n);
    enum db_answer a = read_lists(s, &lists, ends);
    if (a == DB_OK)
        a = send_commit(s, &lists, ends);
    else
        a = DB_REFUSED; /* nothing was sent */
    mem_put(s->mem, ends);
    strbuf_free(&lists);
    return a;
}

const driver driver_etcd = {
    .name = "etcd",
    .isolations = "serializable read-committed",
    .server = true,
    .open = etcd_open,
    .close = etcd_close,
    .load = etcd_load,
    .connect = etcd_connect,
    .disconnect = etcd_disconnect,
    .snapshot = etcd_snapshot,
    .begin = etcd_begin,
    .get = etcd_get,
    .put = etcd_put,
    .append = etcd_append,
    .remove = etcd_remove,
    .range = etcd_range,
    .commit = etcd_commit,
    .abort = etcd_abort,
};
