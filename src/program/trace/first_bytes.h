/*
 * first_bytes.h - the few bytes that the proxy writes or alters itself, all before a client is let
 * in: refusals, and the list of ways to log in.
 */
#ifndef RATEL_TRACE_FIRST_BYTES_H
#define RATEL_TRACE_FIRST_BYTES_H

#include <stdbool.h>
#include <stddef.h>

/* A refusal that clients show to their users; how many bytes it has. */
size_t pg_refusal(char *to, size_t cap, const char *text);
size_t my_refusal(char *to, size_t cap, unsigned char number, const char *text);

typedef enum sasl_found { SASL_MORE, SASL_NONE, SASL_ALTERED } sasl_found;

/* What PostgreSQL's server says first.  If it offers SCRAM with channel binding, that offer is
   taken out and the number of bytes reduced: it can only be true of one TLS connection from end to
   end.  SASL_MORE: the message is not whole yet. */
sasl_found sasl_without_binding(char *at, size_t *n);

/* Is this MySQL's first packet of a client, head and all, a request for TLS? */
bool my_asks_for_tls(const char *at, size_t n);

#endif
