/*
 * print.h - the order problem as text, for --dump.
 */
#ifndef RATEL_IR_PRINT_H
#define RATEL_IR_PRINT_H

#include "asg/print.h"
#include "ir/strong.h"

void strong_print(strong *p, printer *d);
void print_event(const strong *p, uint32_t event, strbuf *b);

#endif
