/*
 * What makes a verdict on this history weak? Compiles as C11 and as C++17.
 */
#include <ratel.h>
#include <stdio.h>

int main(void)
{
    ratel *r = NULL;
    ratel_history *h = NULL;
    ratel_lint *l = NULL;
    ratel_finding f;
    size_t n = 0;
    if (ratel_open(&r, NULL)) return 70;
    if (ratel_history_read_path(&h, r, NULL, "doc/examples/doctors.jsonl") ||
        ratel_lint_run(&l, r, h))
        fprintf(stderr, "%s\n", ratel_errmsg(r));
    else
        for (; !ratel_lint_at(l, n, &f); n++) printf("%s: %s\n", f.id, f.text);
    ratel_lint_free(l);
    ratel_history_free(h);
    ratel_close(r);
    return n ? 0 : 1;
}
