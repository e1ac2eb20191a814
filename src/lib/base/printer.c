/*
 * printer.c - hands finished lines to a callback, 64 KiB at a time.
 *
 * A line is put together in a buffer; printer_line ends it and, when the buffer is full, passes
 * all of it on.  Between two lines the guard is polled, so that printing a large stage can be
 * interrupted.
 *
 * Invariant: the callback has returned before a failure jumps, so no jump crosses a foreign
 * frame.
 */
#include "base/printer.h"

#include "base/guard.h"

#define FULL 65536u /* bytes */

void printer_flush(printer *d)
{
    /* The callback has returned before we jump: no guard crosses it (MEM-4). */
    if (d->text.n && d->write(d->text.at, d->text.n, d->payload))
        guard_fail(d->text.mem->guard, GUARD_IO, "write error");
    d->text.n = 0;
}

void printer_line(printer *d)
{
    strbuf_char(&d->text, '\n');
    guard_tick(d->text.mem->guard);
    if (d->text.n >= FULL) printer_flush(d);
}
