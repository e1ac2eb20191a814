/*
 * print_order.h - the order problem as text, for --dump.
 */
#ifndef RATEL_ORDER_PRINT_ORDER_H
#define RATEL_ORDER_PRINT_ORDER_H

#include "asg/print_graph.h"
#include "order/order_problem.h"

void problem_print(order_problem *p, printer *d);
void print_event(const order_problem *p, uint32_t event, strbuf *b);

#endif
