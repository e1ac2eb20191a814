/*
 * A history at a level that is written as text, with a certificate that contains the text; the
 * verifier says which definition it proved. Compiles as C11 and as C++17.
 */
#include <ratel.h>
#include <stdio.h>
#include <string.h>

static const char mine[] = "level mine over co { commit(so | wr); }\n";

typedef struct {
    char at[1 << 16];
    size_t n, read;
} buffer;

static int keep(const void *bytes, size_t n, void *payload)
{
    buffer *b = (buffer *)payload;
    if (n > sizeof b->at - b->n) return 1;
    memcpy(b->at + b->n, bytes, n);
    b->n += n;
    return 0;
}

static ptrdiff_t give(void *bytes, size_t cap, void *payload)
{
    buffer *b = (buffer *)payload;
    size_t n = b->n - b->read < cap ? b->n - b->read : cap;
    memcpy(bytes, b->at + b->read, n);
    b->read += n;
    return (ptrdiff_t)n;
}

int main(void)
{
    static buffer certificate;
    ratel *r = NULL;
    ratel_history *h = NULL;
    ratel_verdict v = RATEL_UNDECIDED;
    ratel_definition found;
    ratel_proof proof;
    int bad = 1;
    if (ratel_open(&r, NULL)) return 70;
    if (ratel_history_read_path(&h, r, NULL, "doc/examples/doctors.jsonl") ||
        ratel_check_definition(&found, r, h, mine, strlen(mine), NULL) ||
        ratel_certify_definition(&v, r, h, mine, strlen(mine), NULL, keep, &certificate) ||
        ratel_verify(&proof, r, h, give, &certificate))
        fprintf(stderr, "%s\n", ratel_errmsg(r));
    else {
        bad = found.verdict != v || !proof.proved ||
              proof.definition != ratel_definition_hash(mine, strlen(mine));
        printf("%s: %s\n", proof.level, v == RATEL_HOLDS ? "holds" : "violated");
    }
    ratel_history_free(h);
    ratel_close(r);
    return bad;
}
