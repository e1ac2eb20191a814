/*
 * module_blob.c - what a module said, as bytes for a pipe.
 *
 * Both ends are one program on one machine, so numbers stand as they are in memory.  The writer is
 * a process in which foreign code ran, so the reader believes nothing: sizes are compared with what
 * is there, and edits_check and additions_check see every number.
 */
#include <string.h>

#include "module/module.h"

#define BLOB_MAGIC 0x52544c4du

typedef struct blob_head {
    uint32_t magic, points;
    uint64_t edits, edit_text, modules, text, additions, sets, edges;
} blob_head;

static void put_array(strbuf *b, const void *at, size_t bytes)
{
    if (bytes) strbuf_add(b, at, bytes);
}

void module_pack(const module_said *said, strbuf *out)
{
    static const additions none;
    const additions *a = said->added ? said->added : &none;
    const char *name = said->edits.module ? said->edits.module : "";
    blob_head head = {.magic = BLOB_MAGIC,
                      .points = a->points,
                      .edits = said->edits.at.n,
                      .edit_text = strlen(name) + 1,
                      .modules = a->modules.n,
                      .text = a->text.n,
                      .additions = a->at.n,
                      .sets = a->set_end.n,
                      .edges = a->edges.n};
    put_array(out, &head, sizeof head);
    put_array(out, said->edits.at.at, said->edits.at.n * sizeof *said->edits.at.at);
    put_array(out, name, strlen(name) + 1);
    put_array(out, a->modules.at, a->modules.n * sizeof *a->modules.at);
    put_array(out, a->text.at, a->text.n);
    put_array(out, a->at.at, a->at.n * sizeof *a->at.at);
    put_array(out, a->set_end.at, a->set_end.n * sizeof *a->set_end.at);
    put_array(out, a->edges.at, a->edges.n * sizeof *a->edges.at);
}

typedef struct blob_reader {
    const char *at;
    size_t left;
    mem *m;
} blob_reader;

/* A copy of the next n items of that size. */
static void *get_array(blob_reader *r, uint64_t n, size_t size)
{
    if (n > r->left / size) guard_fail(r->m->guard, GUARD_PARSE, "what a module said is cut off");
    void *to = mem_get(r->m, (size_t)n * size + 1);
    memcpy(to, r->at, (size_t)n * size);
    r->at += (size_t)n * size;
    r->left -= (size_t)n * size;
    return to;
}

#define GET_VEC(r, v, count)                                                                       \
    do {                                                                                           \
        (v).at = get_array(r, count, sizeof *(v).at);                                              \
        (v).n = (v).cap = (size_t)(count);                                                         \
    } while (0)

void module_unpack(module_said *said, const char *bytes, size_t n, const history *h, mem *m)
{
    blob_reader r = {bytes, n, m};
    memset(said, 0, sizeof *said);
    blob_head *head = get_array(&r, 1, sizeof *head);
    if (head->magic != BLOB_MAGIC)
        guard_fail(m->guard, GUARD_PARSE, "what a module said is not of this program");
    GET_VEC(&r, said->edits.at, head->edits);
    char *name = get_array(&r, head->edit_text, 1);
    additions *a = additions_new(m);
    a->points = head->points;
    GET_VEC(&r, a->modules, head->modules);
    GET_VEC(&r, a->text, head->text);
    GET_VEC(&r, a->at, head->additions);
    GET_VEC(&r, a->set_end, head->sets);
    GET_VEC(&r, a->edges, head->edges);
    if (r.left || !head->edit_text || name[head->edit_text - 1])
        guard_fail(m->guard, GUARD_PARSE, "what a module said has a part too much");
    said->edits.module = *name ? name : NULL;
    const char *wrong = edits_check(&said->edits, h);
    if (!wrong && said->edits.at.n && !said->edits.module) wrong = "changes of no module";
    if (wrong) guard_fail(m->guard, GUARD_PARSE, "a module made %s", wrong);
    if (a->at.n) said->added = a;
}
