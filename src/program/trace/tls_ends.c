/*
 * tls_ends.c - TLS with OpenSSL, without waiting.
 *
 * A record of TLS has at most 16 KiB, and OpenSSL reads no further than to the end of one: a read
 * with that much room leaves nothing deciphered behind.  Partial writes are allowed, so that what
 * is kept of a write can be offered again from another place in memory.
 */
#include "trace/tls_ends.h"

#include <errno.h>
#include <limits.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

bool tls_available(void)
{
    return true;
}

/* The first reason that OpenSSL has noted, in its words; the others are forgotten. */
static const char *first_reason(void)
{
    unsigned long code = ERR_get_error();
    const char *text = code ? ERR_reason_error_string(code) : NULL;
    ERR_clear_error();
    return text ? text : "the connection ended";
}

static bool wrong_file(char *why, size_t cap, const char *file, const char *what)
{
    snprintf(why, cap, "%.200s: %s (%.200s)", file, what, first_reason());
    return false;
}

/* A key with a passphrase: nobody is asked for it, least of all in the middle of a service. */
static int no_passphrase(char *to, int cap, int writing, void *ud)
{
    (void)to, (void)cap, (void)writing, (void)ud;
    return -1;
}

static SSL_CTX *new_context(const SSL_METHOD *method)
{
    SSL_CTX *c = SSL_CTX_new(method);
    if (!c) return NULL;
    SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
    SSL_CTX_set_mode(c, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                               SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_default_passwd_cb(c, no_passphrase);
    return c;
}

static bool key_is_private(const char *file, char *why, size_t cap)
{
    struct stat s;
    if (stat(file, &s)) {
        snprintf(why, cap, "%.200s: the key cannot be read: %s", file, strerror(errno));
        return false;
    }
    if (!(s.st_mode & 07)) return true;
    snprintf(why, cap,
             "%.200s: every user of this machine can read this key; chmod 600 makes it "
             "private",
             file);
    return false;
}

/* The proxy's own certificate and key. */
static bool load_own(tls_ends *t, const tls_options *o, char *why, size_t cap)
{
    if (!o->cert) return true;
    SSL_CTX *c = t->client = new_context(TLS_server_method());
    if (!c) return wrong_file(why, cap, "TLS", "it cannot be set up");
    SSL_CTX_set_num_tickets(c, 0); /* no client takes a session up again */
    SSL_CTX_set_options(c, SSL_OP_NO_TICKET);
    if (!key_is_private(o->key, why, cap)) return false;
    if (SSL_CTX_use_certificate_chain_file(c, o->cert) != 1)
        return wrong_file(why, cap, o->cert, "this is not a certificate in PEM form");
    int code = SSL_CTX_use_PrivateKey_file(c, o->key, SSL_FILETYPE_PEM);
    if (code != 1 && ERR_GET_REASON(ERR_peek_error()) == X509_R_KEY_VALUES_MISMATCH)
        return wrong_file(why, cap, o->key, "the key does not belong to the certificate");
    if (code != 1)
        return wrong_file(why, cap, o->key,
                          "this is not a private key in PEM form without a passphrase");
    if (SSL_CTX_check_private_key(c) != 1)
        return wrong_file(why, cap, o->key, "the key does not belong to the certificate");
    const X509 *cert = SSL_CTX_get0_certificate(c);
    if (X509_cmp_current_time(X509_get0_notAfter(cert)) < 0)
        snprintf(why, cap,
                 "%.200s: the certificate has expired; clients that check it will not "
                 "connect",
                 o->cert);
    else if (X509_cmp_current_time(X509_get0_notBefore(cert)) > 0)
        snprintf(why, cap,
                 "%.200s: the certificate is not valid yet; clients that check it will "
                 "not connect",
                 o->cert);
    return true;
}

static bool load_trusted(tls_ends *t, const tls_options *o, char *why, size_t cap)
{
    if (!o->upstream) return true;
    SSL_CTX *c = t->server = new_context(TLS_client_method());
    if (!c) return wrong_file(why, cap, "TLS", "it cannot be set up");
    if (o->trust < TLS_SIGNED) return true;
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
    if (o->root && SSL_CTX_load_verify_locations(c, o->root, NULL) != 1)
        return wrong_file(why, cap, o->root, "these are not certificates in PEM form");
    if (!o->root && SSL_CTX_set_default_verify_paths(c) != 1)
        return wrong_file(why, cap, "TLS", "the system's certificates cannot be read");
    return true;
}

bool tls_open(tls_ends *t, const tls_options *o, char *why, size_t cap)
{
    *why = 0;
    *t = (tls_ends){.trust = o->trust, .host = o->host};
    if (load_own(t, o, why, cap) && load_trusted(t, o, why, cap)) return true;
    tls_close(t);
    return false;
}

void tls_close(tls_ends *t)
{
    SSL_CTX_free(t->client);
    SSL_CTX_free(t->server);
    t->client = t->server = NULL;
}

/* ---- a connection ---------------------------------------------------------------------------- */

static tls_link *new_link(SSL_CTX *c, int fd)
{
    SSL *l = SSL_new(c);
    if (l && SSL_set_fd(l, fd) == 1) return l;
    SSL_free(l);
    ERR_clear_error();
    return NULL;
}

tls_link *tls_to_client(tls_ends *t, int fd)
{
    tls_link *l = new_link(t->client, fd);
    if (l) SSL_set_accept_state(l);
    return l;
}

tls_link *tls_to_server(tls_ends *t, int fd)
{
    tls_link *l = new_link(t->server, fd);
    if (!l) return NULL;
    SSL_set_connect_state(l);
    X509_VERIFY_PARAM *param = SSL_get0_param(l);
    ASN1_OCTET_STRING *address = a2i_IPADDRESS(t->host);
    bool named = true;
    if (!address) SSL_set_tlsext_host_name(l, t->host);
    if (t->trust == TLS_NAMED)
        named = address ? X509_VERIFY_PARAM_set1_ip_asc(param, t->host) == 1
                        : SSL_set1_host(l, t->host) == 1;
    ASN1_OCTET_STRING_free(address);
    ERR_clear_error();
    if (named) return l;
    SSL_free(l);
    return NULL;
}

void tls_free(tls_link *l)
{
    SSL_free(l);
}

tls_step tls_shake(tls_link *l, char *why, size_t cap)
{
    ERR_clear_error();
    int r = SSL_do_handshake(l);
    if (r == 1) return TLS_DONE;
    int code = SSL_get_error(l, r);
    if (code == SSL_ERROR_WANT_READ) return TLS_WANTS_IN;
    if (code == SSL_ERROR_WANT_WRITE) return TLS_WANTS_OUT;
    long verified = SSL_get_verify_result(l);
    if (!SSL_is_server(l) && verified != X509_V_OK) {
        snprintf(why, cap, "the certificate was not accepted: %.150s",
                 X509_verify_cert_error_string(verified));
        ERR_clear_error();
    } else {
        snprintf(why, cap, "%.200s", first_reason());
    }
    return TLS_FAILED;
}

/* What recv and send would say. */
static ssize_t as_socket(tls_link *l, int r)
{
    if (r > 0) return r;
    int code = SSL_get_error(l, r);
    ERR_clear_error();
    if (code == SSL_ERROR_ZERO_RETURN) return 0;
    errno = code == SSL_ERROR_WANT_READ || code == SSL_ERROR_WANT_WRITE ? EAGAIN : EPIPE;
    return -1;
}

ssize_t tls_read(tls_link *l, char *to, size_t n)
{
    ERR_clear_error();
    return as_socket(l, SSL_read(l, to, n > INT_MAX ? INT_MAX : (int)n));
}

ssize_t tls_write(tls_link *l, const char *at, size_t n)
{
    ERR_clear_error();
    return as_socket(l, SSL_write(l, at, n > INT_MAX ? INT_MAX : (int)n));
}

void tls_end(tls_link *l)
{
    ERR_clear_error();
    SSL_shutdown(l);
    ERR_clear_error();
}

bool tls_same_certificate(const tls_ends *t, tls_link *server)
{
    X509 *theirs = SSL_get1_peer_certificate(server);
    const X509 *ours = t->client ? SSL_CTX_get0_certificate(t->client) : NULL;
    bool same = theirs && ours && !X509_cmp(theirs, ours);
    X509_free(theirs);
    return same;
}
