/*
 * first_bytes.c - refusals in PostgreSQL's and MySQL's protocol, and SASL's list of mechanisms.
 */
#include "trace/first_bytes.h"

#include <stdio.h>
#include <string.h>

#include "trace/my_wire.h"

enum { MOST = 10000, SASL = 10, MY_REQUEST = 36 };

size_t pg_refusal(char *to, size_t cap, const char *text)
{
    int n = snprintf(to + 5, cap - 5, "SFATAL%cVFATAL%cC08006%cM%s%c", 0, 0, 0, text, 0);
    size_t length = n < 0 || (size_t)n + 6 > cap ? 5 : (size_t)n + 5;
    to[0] = 'E';
    for (int i = 0; i < 4; i++) to[1 + i] = (char)(length >> (24 - 8 * i));
    to[length] = 0;
    return length + 1;
}

size_t my_refusal(char *to, size_t cap, unsigned char number, const char *text)
{
    enum { ERROR_HANDSHAKE = 1043 };
    int n = snprintf(to + 7, cap - 7, "#08S01%s", text);
    size_t length = 3 + (n < 0 || (size_t)n >= cap - 7 ? 0 : (size_t)n);
    for (int i = 0; i < 3; i++) to[i] = (char)(length >> (8 * i));
    to[3] = (char)number;
    to[4] = (char)0xff;
    to[5] = (char)(ERROR_HANDSHAKE & 0xff);
    to[6] = (char)(ERROR_HANDSHAKE >> 8);
    return length + 4;
}

/* The mechanisms of a whole message, which begins at `at`; how many bytes were taken out. */
static size_t drop_binding(char *at, size_t length, size_t n)
{
    static const char plus[] = "SCRAM-SHA-256-PLUS";
    for (char *p = at + 9, *end = at + 1 + length; p < end && *p;) {
        const char *zero = memchr(p, 0, (size_t)(end - p));
        if (!zero) return 0;
        size_t size = (size_t)(zero - p) + 1;
        if (size == sizeof plus && !memcmp(p, plus, size)) {
            memmove(p, p + size, n - (size_t)(p - at) - size);
            for (int i = 0; i < 4; i++) at[1 + i] = (char)((length - size) >> (24 - 8 * i));
            return size;
        }
        p += size;
    }
    return 0;
}

sasl_found sasl_without_binding(char *at, size_t *n)
{
    for (size_t done = 0;;) {
        if (*n - done < 5) return SASL_MORE;
        wire_body b = {at + done + 1, at + *n, false};
        uint32_t length = wire_u32(&b);
        if (length < 4 || length > MOST) return SASL_NONE;
        if (*n - done < (size_t)length + 1) return SASL_MORE;
        char type = at[done];
        if (type != 'N' && type != 'v') { /* notices, and another version, may come before it */
            if (type != 'R' || length < 8 || wire_u32(&b) != SASL) return SASL_NONE;
            size_t out = drop_binding(at + done, length, *n - done);
            *n -= out;
            return out ? SASL_ALTERED : SASL_NONE;
        }
        done += (size_t)length + 1;
    }
}

bool my_asks_for_tls(const char *at, size_t n)
{
    enum { CAN_TLS = 0x800 };
    wire_body b = {at, at + n, false};
    uint32_t length = my_u32(&b) & 0xffffff, can = my_u32(&b);
    return n == MY_REQUEST && length == MY_REQUEST - 4 && can & CAN_TLS;
}
