/*
 * tls_ends_absent.c - tls_ends.h in a build without OpenSSL: everything is refused by name.
 */
#include <errno.h>
#include <stdio.h>

#include "trace/tls_ends.h"

bool tls_available(void)
{
    return false;
}

bool tls_open(tls_ends *t, const tls_options *o, char *why, size_t cap)
{
    *t = (tls_ends){.trust = o->trust};
    snprintf(why, cap,
             "this build has no OpenSSL, which TLS needs (meson setup -Dopenssl=enabled)");
    return false;
}

void tls_close(tls_ends *t)
{
    (void)t;
}

tls_link *tls_to_client(tls_ends *t, int fd)
{
    (void)t, (void)fd;
    return NULL;
}

tls_link *tls_to_server(tls_ends *t, int fd)
{
    (void)t, (void)fd;
    return NULL;
}

void tls_free(tls_link *l)
{
    (void)l;
}

tls_step tls_shake(tls_link *l, char *why, size_t cap)
{
    (void)l;
    snprintf(why, cap, "this build has no OpenSSL");
    return TLS_FAILED;
}

ssize_t tls_read(tls_link *l, char *to, size_t n)
{
    (void)l, (void)to, (void)n;
    errno = EPIPE;
    return -1;
}

ssize_t tls_write(tls_link *l, const char *at, size_t n)
{
    (void)l, (void)at, (void)n;
    errno = EPIPE;
    return -1;
}

void tls_end(tls_link *l)
{
    (void)l;
}

bool tls_same_certificate(const tls_ends *t, tls_link *server)
{
    (void)t, (void)server;
    return false;
}
