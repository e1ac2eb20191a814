/*
 * Checks a level, writes the answer with its proof, and lets the independent verifier prove it on
 * the history once more. Compiles as C11 and as C++17.
 */
#include <ratel.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    char at[1 << 16];
    size_t n, read;
} buffer;

static int keep(const void *bytes, size_t n, void *payload)
{
    buffer *b = (buffer *)payload;
    if (n > sizeof b->at - b->n) return 1; /* becomes RATEL_EIO */
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
    ratel_result *a = NULL;
    ratel_proof proof;
    int bad = 1;
    if (ratel_open(&r, NULL)) return 70;
    if (ratel_history_read_path(&h, r, NULL, "doc/examples/doctors.jsonl") ||
        ratel_check(&a, r, h, "serializable") ||
        ratel_result_certificate(a, r, h, keep, &certificate) ||
        ratel_verify(&proof, r, h, give, &certificate))
        fprintf(stderr, "%s\n", ratel_errmsg(r));
    else if (!proof.proved)
        printf("refused: %s\n", proof.reason);
    else {
        printf("%s is %s: proved\n", proof.level,
               proof.verdict == RATEL_HOLDS ? "kept" : "violated");
        bad = 0;
    }
    ratel_result_free(a);
    ratel_history_free(h);
    ratel_close(r);
    return bad;
}
