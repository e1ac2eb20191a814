/*
 * ci_baseline.c - anomalies that are known and accepted: level, anomaly and shape, a line each.
 *
 * Ids, keys and values are different in every run, so none of them is in the file; what stays is
 * the level, the name of the anomaly and the kinds of steps of its cycle.  The file is text, for
 * people to read, to comment on and to compare in a review.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/ci.h"
#include "cli/timed_input.h"
#include "opt/level.h"

/* --- shapes ----------------------------------------------------------------------------------- */

enum { SHAPE_RW = 0, SHAPE_SO = 1, SHAPE_WR = 2, SHAPE_WW = 4, SHAPE_RT = 8, SHAPE_MOST = 16 };

static unsigned step_bit(const char *edge)
{
    return !strcmp(edge, "rw")   ? SHAPE_RW
           : !strcmp(edge, "so") ? SHAPE_SO
           : !strcmp(edge, "wr") ? SHAPE_WR
           : !strcmp(edge, "rt") ? SHAPE_RT
                                 : SHAPE_WW;
}

static void put_word(char *buf, size_t n, size_t *at, const char *word)
{
    int more = snprintf(buf + *at, n - *at, "%s", word);
    if (more > 0) *at = *at + (size_t)more < n ? *at + (size_t)more : n - 1;
}

static void put_steps(char *buf, size_t n, size_t *at, unsigned steps)
{
    static const char *const names[] = {"so", "wr", "ww", "rt"};
    if (!steps) {
        put_word(buf, n, at, "rw");
        return;
    }
    for (unsigned i = 0, any = 0; i < 4; i++) {
        if (!(steps >> i & 1)) continue;
        if (any) put_word(buf, n, at, "+");
        put_word(buf, n, at, names[i]);
        any = 1;
    }
}

void ci_shape(const ratel_result *r, char *buf, size_t n)
{
    unsigned part[SHAPE_MOST];
    size_t parts = 0, at = 0, first = 0;
    ratel_step s;
    bool longer = false;
    for (size_t i = 0; !ratel_result_step_at(r, i, &s); i++) {
        unsigned bit = step_bit(s.edge);
        if (parts && bit && part[parts - 1])
            part[parts - 1] |= bit;
        else if (parts < SHAPE_MOST)
            part[parts++] = bit;
        else
            longer = true;
    }
    buf[0] = 0;
    if (!parts || longer) {
        put_word(buf, n, &at, parts ? "long" : "-");
        return;
    }
    if (parts > 1 && part[0] && part[parts - 1]) part[0] |= part[--parts]; /* it is a circle */
    for (size_t from = 1; from < parts; from++)
        for (size_t i = 0; i < parts; i++) {
            unsigned a = part[(from + i) % parts], b = part[(first + i) % parts];
            if (a < b) first = from;
            if (a != b) break;
        }
    for (size_t i = 0; i < parts; i++) {
        if (i) put_word(buf, n, &at, ",");
        put_steps(buf, n, &at, part[(first + i) % parts]);
    }
}

/* --- the file --------------------------------------------------------------------------------- */

static char *next_word(char **p)
{
    *p += strspn(*p, " \t\r\n");
    char *word = *p;
    *p += strcspn(*p, " \t\r\n");
    if (**p) *(*p)++ = 0;
    return *word ? word : NULL;
}

static int accept_line(ci_report *ci, const char *path, size_t number, char *line)
{
    char *hash = strchr(line, '#');
    if (hash) *hash = 0;
    char *p = line, *level = next_word(&p);
    if (!level) return EXIT_HOLDS;
    char *anomaly = next_word(&p), *shape = next_word(&p);
    if (!anomaly || !shape || next_word(&p)) {
        complain("%s:%zu: expected a level, an anomaly and a shape", path, number);
        return EXIT_INPUT;
    }
    level_ref known;
    if (!level_named(&known, level)) {
        complain("%s:%zu: no level \"%s\" (ratel levels lists them)", path, number, level);
        return EXIT_INPUT;
    }
    const char *name = known.name;
    ci_accepted *more = realloc(ci->accepted, (ci->n_accepted + 1) * sizeof *more);
    if (more) ci->accepted = more;
    size_t n = strlen(name), an = strlen(anomaly), sn = strlen(shape);
    char *all = more ? malloc(n + an + sn + 3) : NULL;
    if (!all) {
        complain("out of memory");
        return EXIT_UNDECIDED;
    }
    memcpy(all, name, n + 1);
    memcpy(all + n + 1, anomaly, an + 1);
    memcpy(all + n + an + 2, shape, sn + 1);
    ci->accepted[ci->n_accepted++] = (ci_accepted){all, all + n + 1, all + n + an + 2};
    return EXIT_HOLDS;
}

/* The file as it is read, within --time. */
typedef struct line_input {
    FILE *f;
    char bytes[4096];
    size_t at, n;
    bool failed;
} line_input;

/* The next byte, or EOF. */
static int next_byte(line_input *in)
{
    if (in->at == in->n) {
        ptrdiff_t got = in->failed ? -1 : timed_read(in->bytes, sizeof in->bytes, in->f);
        in->failed = got < 0;
        in->at = 0;
        in->n = got > 0 ? (size_t)got : 0;
        if (!in->n) return EOF;
    }
    return (unsigned char)in->bytes[in->at++];
}

/* The next line without its end; false at the end of the file.  *wrong: why it is none. fgets would
   hide what follows a NUL. */
static bool next_line(line_input *in, char *line, size_t cap, const char **wrong)
{
    size_t n = 0;
    int c;
    while ((c = next_byte(in)) != EOF && c != '\n' && !*wrong) {
        if (!c)
            *wrong = "a NUL character";
        else if (n == cap - 1)
            *wrong = "a line of more than 1000 characters";
        else
            line[n++] = (char)c;
    }
    line[n] = 0;
    return (c != EOF || n || *wrong) && !in->failed;
}

int baseline_read(ci_report *ci, const char *path)
{
    line_input in = {.f = timed_open(path)};
    if (!in.f) return timed_failure(path);
    char line[1001];
    const char *wrong = NULL;
    int status = EXIT_HOLDS;
    for (size_t number = 1; status == EXIT_HOLDS && next_line(&in, line, sizeof line, &wrong);
         number++) {
        if (wrong) {
            complain("%s:%zu: %s", path, number, wrong);
            status = EXIT_INPUT;
        } else {
            status = accept_line(ci, path, number, line);
        }
    }
    if (status == EXIT_HOLDS && in.failed) status = timed_failure(path);
    fclose(in.f);
    return status;
}

bool baseline_accepts(const ci_report *ci, const ci_case *k)
{
    for (size_t i = 0; i < ci->n_accepted; i++) {
        const ci_accepted *x = &ci->accepted[i];
        if (!strcmp(x->level, k->level) && !strcmp(x->anomaly, k->anomaly) &&
            (!strcmp(x->shape, "*") || !strcmp(x->shape, k->shape)))
            return true;
    }
    return false;
}

static int compare_cases(const void *x, const void *y)
{
    const ci_case *a = *(const ci_case *const *)x, *b = *(const ci_case *const *)y;
    int d = strcmp(a->level, b->level);
    if (!d) d = strcmp(a->anomaly, b->anomaly);
    return d ? d : strcmp(a->shape, b->shape);
}

bool baseline_write(const ci_report *ci, FILE *f)
{
    const ci_case **found = malloc((ci->n + 1) * sizeof *found);
    size_t n = 0;
    if (!found) {
        complain("out of memory");
        return false;
    }
    for (size_t i = 0; i < ci->n; i++)
        if (ci->cases[i]->outcome == EXIT_VIOLATED && ci->cases[i]->shape)
            found[n++] = ci->cases[i];
    qsort(found, n, sizeof *found, compare_cases);
    fputs("# Anomalies that are known and accepted: with --baseline, only others fail.\n"
          "# Each line: level, anomaly, shape of its cycle (* accepts every shape).\n",
          f);
    for (size_t i = 0; i < n; i++)
        if (!i || compare_cases(&found[i - 1], &found[i]))
            fprintf(f, "%s %s %s\n", found[i]->level, found[i]->anomaly, found[i]->shape);
    free(found);
    return true;
}
