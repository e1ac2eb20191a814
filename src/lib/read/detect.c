/*
 * detect.c - the table of formats, telling formats apart by content, and the sink.
 *
 * The rules of doc/formats/others.md: a few first bytes, and for JSON the member
 * names of the first object, whatever their order.  A format that we know but cannot read is
 * refused by name, so that a user is not told "not a history" about a history.  What fits no rule
 * is NULL: a guess would turn a wrong file into a confusing error inside some reader.
 */
#include "read/formats.h"

#define LOOK ((size_t)1 << 20) /* no format needs more to show itself */

/* --- the table ----------------------------------------------------------------------------- */

#define DIR_true(name)                                                                             \
    .read_dir = name##_read_dir, .write_member = name##_write_member, .members = name##_members,   \
    .member_letter = name##_letter, .member = name##_member
#define DIR_false(name) .write = name##_write
#define FORMAT(id_, name, binary_, directory_, about_)                                             \
    {.id = id_,                                                                                    \
     .about = about_,                                                                              \
     .binary = binary_,                                                                            \
     .directory = directory_,                                                                      \
     .read = name##_read,                                                                          \
     DIR_##directory_(name)},
static const read_format table[] = {
#include "read/formats.def"
};
#undef FORMAT

static const struct {
    const char *id, *about, *but;
} unreadable[] = {
    {"polyg", "a Cobra polygraph file", "which this version cannot read"},
    {"ratel-sql", "a log of SQL transactions", "which ratel audit decides"},
};

const read_format *read_format_at(size_t i)
{
    return i < sizeof table / sizeof *table ? &table[i] : NULL;
}

const read_format *read_format_named(const char *id)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].id, id)) return &table[i];
    return NULL;
}

const char *read_format_unreadable(const char *id)
{
    for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; i++)
        if (!strcmp(unreadable[i].id, id)) return unreadable[i].about;
    return NULL;
}

/* --- content ------------------------------------------------------------------------------- */

/* Bytes from p to end; `all`: nothing will follow them that we are willing to look at. */
typedef struct look {
    const char *p, *end;
    bool all;
} look;

static const char more[] = "more"; /* the answer "cannot say yet" */

static const char *or_more(const look *l, const char *id)
{
    return l->all ? id : more;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}
static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}
static bool is_word(char c)
{
    return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static const char *skip_blank(const char *p, const char *end)
{
    while (p < end && is_blank(*p)) p++;
    return p;
}
static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && is_digit(*p)) p++;
    return p;
}

static bool starts(const char *p, const char *end, const char *word)
{
    size_t n = strlen(word);
    return (size_t)(end - p) >= n && !memcmp(p, word, n);
}

static bool contains(const char *p, const char *end, const char *word)
{
    for (; p < end && (p = memchr(p, *word, (size_t)(end - p))); p++)
        if (starts(p, end, word)) return true;
    return false;
}

static uint64_t little64(const char *p)
{
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--) v = v << 8 | (unsigned char)p[i];
    return v;
}

static bool looks_like_dbcop(const char *p, size_t n)
{
    if (n < 48 || little64(p) >> 32) return false;
    uint64_t info = little64(p + 40);
    if (info > 4096) return false;
    for (size_t i = 48; i < n && i < 48 + info; i++)
        if ((unsigned char)p[i] < 0x20 || p[i] == 0x7f) return false;
    return n < 56 + info || little64(p + 48 + info) <= 4096;
}

/* Member names of the first object, as bits. */
#define NAMES(X)                                                                                   \
    X(ratel)                                                                                       \
    X(ratel_sql)                                                                                   \
    X(ops)                                                                                         \
    X(mark)                                                                                        \
    X(value)                                                                                       \
    X(preBeginTS)                                                                                  \
    X(isInitial)                                                                                   \
    X(params)                                                                                      \
    X(data)                                                                                        \
    X(events)                                                                                      \
    X(committed)                                                                                   \
    X(type)                                                                                        \
    X(tid)                                                                                         \
    X(sts)                                                                                         \
    X(cts)
enum name_bit {
#define X(name) BIT_##name,
    NAMES(X)
#undef X
};
#define HAS(name) (names >> BIT_##name & 1u)

static unsigned name_of(const char *p, size_t n)
{
#define X(name)                                                                                    \
    if (n == sizeof #name - 1 && !memcmp(p, #name, n)) return 1u << BIT_##name;
    NAMES(X)
#undef X
    return 0;
}

/* The names of the first object at or after l->p; *closed if its end was seen. */
static unsigned first_object(const look *l, bool *closed)
{
    const char *p = l->p;
    unsigned depth = 0, home = 0, names = 0;
    *closed = false;
    for (; p < l->end; p++) {
        if (*p == '{' || *p == '[') {
            depth++;
            if (*p == '{' && !home) home = depth;
        } else if (*p == '}' || *p == ']') {
            if (depth == home || !depth--) {
                *closed = true;
                break;
            }
        } else if (*p == '"') {
            const char *start = ++p;
            while (p < l->end && *p != '"') p += *p == '\\' && p + 1 < l->end ? 2 : 1;
            if (p >= l->end) break;
            const char *next = skip_blank(p + 1, l->end);
            if (depth == home && next < l->end && *next == ':')
                names |= name_of(start, (size_t)(p - start));
        }
    }
    return names;
}

static const char *json_object(const look *l)
{
    bool closed;
    unsigned names = first_object(l, &closed);
    if (HAS(ratel)) return "ratel";
    if (HAS(ratel_sql)) return "ratel-sql";
    if (HAS(sts) || HAS(cts)) return "timekiller";
    if (HAS(params) && HAS(data) && !HAS(ops)) return "dbcop-json"; /* before its end, far away */
    if (!closed && !l->all) return more; /* a later member may say more than these */
    /* Members that we do not know are the user's, whatever the names: `type`, `params`, ... */
    if (HAS(ops) || HAS(mark)) return "ratel";
    if (HAS(type)) return "elle-json";
    if (HAS(params) || HAS(data)) return "dbcop-json";
    if (HAS(value) || HAS(preBeginTS) || HAS(isInitial)) return "viper";
    return NULL;
}

static const char *json_array(const look *l)
{
    bool closed;
    unsigned names = first_object(l, &closed);
    if (HAS(sts) || HAS(cts)) return "timekiller";
    if (HAS(tid) && HAS(ops)) return "timekiller"; /* no transaction has a timestamp */
    if (HAS(events) || HAS(committed)) return "dbcop-json";
    if (HAS(type)) return "elle-json";
    if (!closed && !l->all) return more;
    const char *p = skip_blank(l->p + 1, l->end);
    return p < l->end && *p == '[' ? "dbcop-json" : NULL; /* sessions, none with a transaction */
}

/* `:r key [` or `"r" key [`: a read that returned a list. */
static bool has_list_read(const char *p, const char *end, const char *name)
{
    for (; p < end && (p = memchr(p, *name, (size_t)(end - p))); p++) {
        if (!starts(p, end, name)) continue;
        const char *q = skip_blank(p + strlen(name), end);
        while (q < end && !is_blank(*q) && *q != ',' && *q != ']') q++;
        while (q < end && (is_blank(*q) || *q == ',')) q++;
        if (q < end && *q == '[') return true;
    }
    return false;
}

static const char *edn(const look *l)
{
    if (contains(l->p, l->end, ":append") || contains(l->p, l->end, "\"append\" ")) return "edn-la";
    if (has_list_read(l->p, l->end, ":r ") || has_list_read(l->p, l->end, "\"r\" "))
        return "edn-la";
    static const char *const writes[] = {"[:w ", "[ :w ", "[\"w\" "};
    for (size_t i = 0; i < sizeof writes / sizeof *writes; i++)
        if (contains(l->p, l->end, writes[i])) return "edn-rw";
    return or_more(l, "edn-rw"); /* reads only: a register history as good as any */
}

/* `[x:=1` or `[x==1` */
static bool looks_like_hist(const char *p, const char *end)
{
    if (p == end || *p++ != '[') return false;
    const char *name = p;
    while (p < end && is_word(*p)) p++;
    return p > name && (starts(p, end, ":=") || starts(p, end, "=="));
}

static bool looks_like_awdit(const char *p, const char *end)
{
    if (end - p < 3 || (*p != 'r' && *p != 'w') || (p[1] != ' ' && p[1] != '\t')) return false;
    for (p++; p < end && (*p == ' ' || *p == '\t');) p++;
    return p < end && is_digit(*p);
}

/* What may follow lines of - and =, which several formats use as separators. */
static const char *behind_rules(const look *l)
{
    const char *p = l->p;
    while (p < l->end && (*p == '-' || *p == '=' || is_blank(*p))) p++;
    if (l->end - p < 16 && !l->all) return more;
    if (looks_like_awdit(p, l->end)) return "awdit-test";
    if (looks_like_hist(p, l->end) || starts(p, l->end, "//")) return "dbcop-hist";
    if (starts(p, l->end, "events") || starts(p, l->end, "success") || starts(p, l->end, "write"))
        return "dbcop-yaml";
    return starts(l->p, l->end, "- ") ? "dbcop-yaml" : NULL;
}

/* A count, then `session txn R|A` */
static const char *counted_lines(const look *l)
{
    const char *p = l->p;
    for (int i = 0; i < 3; i++) {
        const char *start = p += i && p < l->end && *p == '-';
        p = skip_digits(p, l->end);
        if (p == start && p < l->end) return NULL;
        if (p < l->end && !is_blank(*p)) return NULL;
        p = skip_blank(p, l->end);
        if (!i && p == l->end && l->all && *l->p == '0') return "veristrong-la"; /* no lines */
    }
    if (p >= l->end) return or_more(l, NULL);
    return *p == 'R' || *p == 'A' ? "veristrong-la" : NULL;
}

/* What a map is whose first key, a string, begins at p: in JSON a colon and a value follow, in EDN
   a value, which may be a keyword. */
static const char *string_key(const look *l, const char *p, const char *(*json)(const look *))
{
    static const char *const literals[] = {"true", "false", "null"};
    for (p++; p < l->end && *p != '"'; p++)
        if (*p == '\\') p++;
    p = p < l->end ? skip_blank(p + 1, l->end) : l->end;
    if (l->end - p < 8 && !l->all) return more;
    if (p >= l->end) return NULL;
    if (*p != ':') return "edn";
    if (l->end - p < 2 || !is_word(p[1]) || is_digit(p[1])) return json(l);
    for (size_t i = 0; i < sizeof literals / sizeof *literals; i++)
        if (starts(p + 1, l->end, literals[i])) return json(l);
    return "edn";
}

/* The opening of a map, after its brace. */
static const char *open_map(const look *l, const char *p, const char *(*json)(const look *))
{
    p = skip_blank(p, l->end);
    if (p >= l->end) return or_more(l, NULL);
    if (*p == ':' || *p == ',' || *p == ';' || *p == '#') return "edn";
    if (*p == '"') return string_key(l, p, json);
    return *p == '}' ? json(l) : NULL;
}

static const char *open_bracket(const look *l)
{
    const char *p = skip_blank(l->p + 1, l->end);
    if (p == l->end) return or_more(l, NULL);
    if (*p == '#' || *p == ';') return "edn";
    if (*p == '[') return json_array(l);
    if (*p == ',') return "edn";
    if (*p == '{') return open_map(l, p + 1, json_array);
    return looks_like_hist(l->p, l->end) ? "dbcop-hist" : NULL;
}

static const char *open_brace(const look *l)
{
    const char *p = skip_blank(l->p + 1, l->end);
    if (l->end - p < 3 && !l->all) return more;
    if (starts(p, l->end, "\"{'")) return "timekiller-cdc";
    return open_map(l, p, json_object);
}

/* The id of the format, NULL if none fits, or `more`. */
static const char *guess(look l)
{
    size_t n = (size_t)(l.end - l.p);
    if (n < 64 && !l.all) return more; /* the binary headers fit into these */
    if (starts(l.p, l.end, "RATELBIN")) return "ratel-bin";
    if (cobra_variant(l.p, n) >= 0) return "cobra";
    if (looks_like_dbcop(l.p, n)) return "dbcop";
    if (starts(l.p, l.end, "\xef\xbb\xbf")) l.p += 3;
    l.p = skip_blank(l.p, l.end);
    if (l.p == l.end) return or_more(&l, NULL);
    const char *id = NULL;
    char next = l.end - l.p > 1 ? l.p[1] : 0;
    switch (*l.p) {
    case '{': id = open_brace(&l); break;
    case '[': id = open_bracket(&l); break;
    case ';':
    case '#':
    case '(': id = "edn"; break;
    case '/': id = next == '/' ? "dbcop-hist" : NULL; break;
    case '-':
    case '=': id = behind_rules(&l); break;
    case 'n': id = next == ':' ? "polyg" : NULL; break;
    case 'r':
    case 'w': id = next == '(' ? "text" : looks_like_awdit(l.p, l.end) ? "awdit-test" : NULL; break;
    default: id = is_digit(*l.p) ? counted_lines(&l) : NULL; break;
    }
    return id && !strcmp(id, "edn") ? edn(&l) : id;
}

const read_format *read_detect(source *s)
{
    look l = {.p = NULL};
    const char *id;
    do {
        l.p = s->at + s->pos;
        l.end = s->at + s->n;
        l.all = s->eof || s->n - s->pos >= LOOK;
        id = guess(l);
    } while (id == more && (source_more(s) || s->eof));
    if (!id) return NULL;
    for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; i++)
        if (!strcmp(unreadable[i].id, id))
            guard_fail(s->guard, GUARD_UNSUPPORTED, "this is %s (%s), %s", unreadable[i].about, id,
                       unreadable[i].but);
    return read_format_named(id);
}

/* --- directories --------------------------------------------------------------------------- */

bool read_dir_has(const read_format *f, size_t members, const char *const *names)
{
    uint64_t number;
    for (size_t i = 0; i < members && f->member; i++)
        if (f->member(names[i], &number)) return true;
    return false;
}

const read_format *read_detect_dir(size_t members, const char *const *names)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (read_dir_has(&table[i], members, names)) return &table[i];
    return NULL;
}

uint32_t read_dir_single(size_t members, const char *const *names)
{
    static const char *const known[] = {"history.bincode", "history.edn"};
    static const char *const tails[] = {"", ".gz", ".zst"};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        for (size_t i = 0; i < members && i < NO_ID; i++) {
            size_t n = strlen(known[k]);
            if (strncmp(names[i], known[k], n) != 0) continue;
            for (size_t t = 0; t < sizeof tails / sizeof *tails; t++)
                if (!strcmp(names[i] + n, tails[t])) return (uint32_t)i;
        }
    return NO_ID;
}

/* --- the sink ------------------------------------------------------------------------------ */

void sink_init(sink *s, mem *m, guard *g, int (*write)(const void *, size_t, void *), void *payload)
{
    memset(s, 0, sizeof *s);
    s->mem = m;
    s->guard = g;
    s->write = write;
    s->payload = payload;
    strbuf_init(&s->buf, m);
}

void sink_flush(sink *s)
{
    s->flushed += s->buf.n;
    guard_poll_at(s->guard, s->flushed);
    if (s->buf.n && s->write(s->buf.at, s->buf.n, s->payload))
        guard_fail(s->guard, GUARD_IO, "write error");
    s->buf.n = 0;
}

void sink_lose_op(sink *s, enum lost_bit b)
{
    sink_lose(s, b);
    if (!s->lost_ops) s->lost_ops = mem_array0(s->mem, uint64_t, LOST_COUNT);
    s->lost_ops[b]++;
}

void sink_lose_txn(sink *s, const history *h, txn_id t, enum lost_bit b)
{
    sink_lose(s, b);
    if (h->txn_op[t] < h->txn_op[t + 1]) sink_lose_op(s, b);
}

void sink_keep_ops(sink *s, enum lost_bit b)
{
    if (s->lost_ops) s->lost_ops[b] = 0;
}

void sink_refuse_loss(const sink *s, const char *format)
{
    strbuf text;
    strbuf_init(&text, s->mem);
    for (unsigned b = 0; b < LOST_COUNT && s->lost_ops; b++) {
        if (!s->lost_ops[b]) continue;
        strbuf_printf(&text, "%s%s (%llu)", text.n ? ", " : "", lost_text((enum lost_bit)b),
                      (unsigned long long)s->lost_ops[b]);
    }
    if (text.n)
        guard_fail(s->guard, GUARD_UNSUPPORTED, "the format %s cannot hold these operations: %s",
                   format, strbuf_cstr(&text));
}

const char *lost_text(enum lost_bit b)
{
    static const char *const texts[] = {
#define X(name, text) text,
        LOST_LIST(X)
#undef X
    };
    return texts[b];
}
