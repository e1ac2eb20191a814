/*
 * Could a serializable database have answered this log of SQL so? Compiles as C11 and as C++17.
 */
#include <ratel-audit.h>
#include <stdio.h>

static ptrdiff_t read_file(void *bytes, size_t cap, void *payload)
{
    size_t n = fread(bytes, 1, cap, (FILE *)payload);
    return n || !ferror((FILE *)payload) ? (ptrdiff_t)n : -1;
}

static int print(const void *bytes, size_t n, void *payload)
{
    return fwrite(bytes, 1, n, (FILE *)payload) != n;
}

int main(void)
{
    ratel_audit *a = NULL;
    ratel_audit_answer found;
    const char *txn;
    int bad = 1;
    FILE *f = fopen("doc/examples/bank-sql.jsonl", "rb");
    if (!f || ratel_audit_open(&a, NULL)) return 70;
    if (!ratel_audit_available())
        bad = 0; /* a build without SQL: nothing to show */
    else if (ratel_audit_run(a, NULL, read_file, f, &found) ||
             ratel_audit_write(a, "text", "bank-sql.jsonl", print, stdout))
        fprintf(stderr, "%s\n", ratel_audit_errmsg(a));
    else {
        for (size_t i = 0; !ratel_audit_order_at(a, i, &txn); i++) printf("%s ", txn);
        printf("explains the log\n");
        bad = found.verdict != RATEL_HOLDS;
    }
    ratel_audit_close(a);
    fclose(f);
    return bad;
}
