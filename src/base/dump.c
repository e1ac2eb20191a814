/*
 * dump.c - see dump.h.
 */
#include "base/dump.h"

#include "base/guard.h"

#define FULL 65536u /* bytes */

void dump_flush(dump *d)
{
    /* The callback has returned before we jump: no guard crosses it (MEM-4). */
    if (d->text.n && d->write(d->text.at, d->text.n, d->payload))
        guard_fail(d->text.mem->guard, GUARD_IO, "write error");
    d->text.n = 0;
}

void dump_line(dump *d)
{
    strbuf_char(&d->text, '\n');
    guard_tick(d->text.mem->guard);
    if (d->text.n >= FULL) dump_flush(d);
}
