/*
 * tls_ends.h - TLS at the two ends of the proxy: towards clients with keys of its own, towards the
 * server as its URL asks.
 *
 * Nothing here waits: handshakes, reads and writes of a socket that is not ready say what they want
 * and are called again.  No message names a key or shows what was sent.
 */
#ifndef RATEL_TRACE_TLS_ENDS_H
#define RATEL_TRACE_TLS_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef enum tls_trust { TLS_OFF, TLS_ANYONE, TLS_SIGNED, TLS_NAMED } tls_trust;

typedef struct tls_options {
    const char *cert, *key; /* of the proxy, files in PEM form; NULL: clients get no TLS */
    bool upstream;          /* may the server be spoken to with TLS? */
    tls_trust trust;        /* what its certificate must be */
    const char *root;       /* ... signed by one of these, a file; NULL: the system's own */
    const char *host;       /* ... made out to this name or address */
} tls_options;

typedef struct tls_ends {
    void *client, *server; /* OpenSSL's contexts; NULL: none */
    tls_trust trust;
    const char *host;
} tls_ends;

typedef struct ssl_st tls_link;

typedef enum tls_step { TLS_DONE, TLS_WANTS_IN, TLS_WANTS_OUT, TLS_FAILED } tls_step;

bool tls_available(void);
/* False: `why` says what is wrong; what is to be said all the same is in `why` if it is true. */
bool tls_open(tls_ends *t, const tls_options *o, char *why, size_t cap);
void tls_close(tls_ends *t);

/* A connection over this socket, which stays the caller's; NULL: no memory. */
tls_link *tls_to_client(tls_ends *t, int fd);
tls_link *tls_to_server(tls_ends *t, int fd);
void tls_free(tls_link *l);
/* The handshake goes on; TLS_FAILED: `why` says how. */
tls_step tls_shake(tls_link *l, char *why, size_t cap);
/* As recv and send, with EAGAIN.  A read wants at least 16 KiB of room: then nothing that was
   deciphered is left over, which epoll would not know of. */
ssize_t tls_read(tls_link *l, char *to, size_t n);
ssize_t tls_write(tls_link *l, const char *at, size_t n);
/* Says that nothing more will be written. */
void tls_end(tls_link *l);
/* Does the server have the certificate that the proxy shows to clients? */
bool tls_same_certificate(const tls_ends *t, tls_link *server);

#endif
