/*
 * A level of one's own, written as text: what does it allow that snapshot isolation forbids, and is
 * it implied by causal consistency? Compiles as C11 and as C++17.
 */
#define RATEL_EXPERIMENTAL
#include <ratel.h>
#include <stdio.h>
#include <string.h>

static const char mine[] = "level mine over co { commit(so | wr); }\n";

static int print(const void *bytes, size_t n, void *payload)
{
    return fwrite(bytes, 1, n, (FILE *)payload) != n;
}

int main(void)
{
    ratel *r = NULL;
    ratel_synth *s = NULL;
    ratel_history *h = NULL;
    ratel_synth_question q;
    ratel_synth_answer found;
    int weak = 0, strong = 0, causal = 0, bad = 1;
    memset(&q, 0, sizeof q);
    q.allow = &weak;
    q.forbid = &strong;
    q.n_allow = q.n_forbid = 1;
    if (ratel_open(&r, NULL)) return 70;
    if (ratel_synth_open(&s, r) || ratel_synth_defined(s, mine, sizeof mine - 1, NULL, &weak) ||
        ratel_synth_named(s, "snapshot-isolation", &strong) ||
        ratel_synth_named(s, "causal", &causal) || ratel_synth_search(&h, s, &q, &found))
        fprintf(stderr, "%s\n", ratel_errmsg(r));
    else if (found.result == RATEL_SYNTH_HISTORY &&
             !ratel_history_write(h, r, "ratel", print, stdout))
        bad = ratel_synth_proves(s, causal, weak) != 1;
    if (!bad) puts("causal implies mine");
    ratel_history_free(h);
    ratel_synth_close(s); /* before its context */
    ratel_close(r);
    return bad;
}
