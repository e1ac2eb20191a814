/*
 * printer.h - text for people who look into the pipeline, line by line: a buffer that is handed on
 * whenever it is full, so that printing a large stage takes no memory of its size.
 */
#ifndef RATEL_BASE_PRINTER_H
#define RATEL_BASE_PRINTER_H

#include "base/strbuf.h"

typedef struct printer {
    strbuf text;
    int (*write)(const void *bytes, size_t n, void *payload); /* 0, or an error */
    void *payload;
} printer;

/* The line in d->text is complete.  Fails with GUARD_IO if it cannot be written. */
void printer_line(printer *d);
void printer_flush(printer *d);

#endif
