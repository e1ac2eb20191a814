/*
 * certificate_names.c - keys and transactions by name, both ways.
 *
 * Names are compared as texts: certificate_name is one to one, so equal texts are equal names.
 * Transactions that are numbers are compared as numbers.
 */
#include "verify/certificate_names.h"

#include "base/hash.h"

static bool stands_for_itself(unsigned char c)
{
    return c > 0x20 && c != 0x7f && c != '"' && c != '\\';
}

void certificate_name(strbuf *b, const history *h, atom a)
{
    if (a.kind != ATOM_STR) {
        atom_json(h, a, b);
        return;
    }
    const char *s = a.len ? atom_bytes(h, a) : "";
    strbuf_char(b, '"');
    for (uint32_t i = 0; i < a.len; i++) {
        static const char digit[] = "0123456789abcdef";
        unsigned char c = (unsigned char)s[i];
        if (stands_for_itself(c)) {
            strbuf_char(b, (char)c);
        } else {
            strbuf_str(b, "\\x");
            strbuf_char(b, digit[c >> 4]);
            strbuf_char(b, digit[c & 15]);
        }
    }
    strbuf_char(b, '"');
}

size_t name_length(const char *s, size_t n)
{
    if (!n) return 0;
    if (*s == '"') {
        const char *end = memchr(s + 1, '"', n - 1); /* quotes inside are \x22 */
        return end ? (size_t)(end - s) + 1 : 0;
    }
    size_t i = *s == '-';
    while (i < n && s[i] >= '0' && s[i] <= '9') i++;
    return i > (size_t)(*s == '-') ? i : 0;
}

static const char *text_of(names *x, atom a, size_t *n)
{
    x->text.n = 0;
    certificate_name(&x->text, x->h, a);
    *n = x->text.n;
    return x->text.at;
}

static atom atom_of(const names *x, bool key, uint32_t id)
{
    return key ? key_atom(x->h, id) : label_atom(x->h, x->h->txn_label[id]);
}

/* The number that a name is, as a label; false for other names.  (Longer ones are looked up by
   their text.) */
static bool number(const char *s, size_t n, label *l)
{
    *l = 0;
    if (!n || n > 18 || (*s == '0' && n > 1)) return false;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9') return false;
        *l = 10 * *l + (label)(s[i] - '0');
    }
    return true;
}

#define LONGEST ((label)1000000000000000000)

static uint64_t hash_of(names *x, bool key, uint32_t id)
{
    label l = key ? (label)1 << 63 : x->h->txn_label[id];
    size_t n;
    if (l < LONGEST) return hash_u64(l);
    const char *s = text_of(x, atom_of(x, key, id), &n);
    return hash_bytes(s, n, 0);
}

static uint32_t *load(names *x, bool key, size_t count, size_t *mask)
{
    size_t slots = 64;
    while (slots < 2 * count) slots *= 2;
    uint32_t *table = mem_array0(x->m, uint32_t, slots);
    *mask = slots - 1;
    for (size_t i = 0; i < count; i++) {
        size_t at = (size_t)hash_of(x, key, (uint32_t)i) & *mask;
        while (table[at]) at = (at + 1) & *mask;
        table[at] = (uint32_t)i + 1;
        guard_tick(x->m->guard);
    }
    return table;
}

static uint32_t find(names *x, bool key, const uint32_t *table, size_t mask, const char *s,
                     size_t n)
{
    for (size_t at = (size_t)hash_bytes(s, n, 0) & mask; table[at]; at = (at + 1) & mask) {
        size_t k;
        const char *text = text_of(x, atom_of(x, key, table[at] - 1), &k);
        if (k == n && !memcmp(text, s, n)) return table[at] - 1;
    }
    return NO_ID;
}

void names_init(names *x, const history *h, mem *m)
{
    memset(x, 0, sizeof *x);
    x->h = h;
    x->m = m;
    strbuf_init(&x->text, m);
}

txn_id names_txn(names *x, const char *s, size_t n)
{
    const history *h = x->h;
    label l;
    bool plain = number(s, n, &l);
    /* mostly they are numbered as they come */
    size_t guess = plain && h->txns ? (size_t)(l - h->txn_label[0]) : SIZE_MAX;
    if (guess < h->txns && h->txn_label[guess] == l) return (txn_id)guess;
    if (!x->txn) x->txn = load(x, false, h->txns, &x->txn_mask);
    if (!plain) return find(x, false, x->txn, x->txn_mask, s, n);
    for (size_t at = (size_t)hash_u64(l) & x->txn_mask; x->txn[at]; at = (at + 1) & x->txn_mask)
        if (h->txn_label[x->txn[at] - 1] == l) return x->txn[at] - 1;
    return NO_ID;
}

key_id names_key(names *x, const char *s, size_t n)
{
    if (!x->key) x->key = load(x, true, history_keys(x->h), &x->key_mask);
    return find(x, true, x->key, x->key_mask, s, n);
}
