/*
 * render.c - runs a renderer of the library in a region of its own and writes what it made.
 *
 * The rooms that render fill a buffer and fail through a guard when memory is short; this is the
 * border for them on the program's side.
 */
#include "cli/cli.h"

int render(FILE *out, void (*body)(strbuf *b, void *what), void *what)
{
    guard g;
    mem m;
    strbuf b;
    guard_init(&g);
    mem_init(&m, NULL, NULL, &g);
    strbuf_init(&b, &m);
    if (guard_armed(&g)) {
        complain("%s", g.text);
        mem_free_all(&m);
        return EXIT_UNDECIDED;
    }
    body(&b, what);
    if (out && b.n) fwrite(b.at, 1, b.n, out);
    mem_free_all(&m);
    return EXIT_HOLDS;
}
