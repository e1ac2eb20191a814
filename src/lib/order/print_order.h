/*
 * print_order.h - the order problem as text, for --dump.
 */
#ifndef RATEL_ORDER_PRINT_ORDER_H
#define RATEL_ORDER_PRINT_ORDER_H

#include "asg/print_graph.h"
#include "order/order_problem.h"

void strong_print(strong *p, printer *d);
void print_event(const strong *p, uint32_t event, strbuf *b);

#endif
