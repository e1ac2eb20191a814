/*
 * Why is a level violated? The argument as text, and the same as a picture (SVG).
 * Compiles as C11 and as C++17.
 */
#define RATEL_EXPERIMENTAL
#include <ratel.h>
#include <stdio.h>

static int print(const void *bytes, size_t n, void *payload)
{
    return fwrite(bytes, 1, n, (FILE *)payload) != n;
}

static int count(const void *bytes, size_t n, void *payload)
{
    (void)bytes;
    *(size_t *)payload += n;
    return 0;
}

int main(void)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    ratel_result *a = NULL;
    ratel_explanation *e = NULL;
    size_t txns = 0, picture = 0;
    int bad = 1;
    if (ratel_open(&r, NULL)) return 70;
    if (ratel_history_read_path(&h, r, NULL, "doc/examples/doctors.jsonl") ||
        ratel_check(&a, r, h, "serializable") || ratel_explain(&e, r, h, a) ||
        ratel_explanation_write(e, r, "text", NULL, print, stdout) ||
        ratel_explanation_write(e, r, "svg", NULL, count, &picture))
        fprintf(stderr, "%s\n", ratel_errmsg(r));
    else
        bad = !ratel_explanation_shown(e, &txns) || !txns || !picture;
    ratel_explanation_free(e); /* before its result */
    ratel_result_free(a);
    ratel_history_free(h);
    ratel_close(r);
    return bad;
}
