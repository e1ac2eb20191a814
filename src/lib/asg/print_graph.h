/*
 * print_graph.h - the semantic graph and its items as text, for --dump.
 */
#ifndef RATEL_ASG_PRINT_GRAPH_H
#define RATEL_ASG_PRINT_GRAPH_H

#include "asg/asg.h"
#include "base/printer.h"

void asg_print(const asg *g, printer *d);

void print_txn(const asg *g, node_id v, strbuf *b);
void print_key(const asg *g, key_id k, strbuf *b);
void print_source(const asg *g, uint32_t w, strbuf *b); /* a node or RF_* */
/* Reader, key, value, operation. */
void print_read(const asg *g, uint32_t ob, strbuf *b);

#endif
