/*
 * The fuzz target of the proxy's reader of MariaDB's and MySQL's protocol: any bytes of a client
 * and of a server, in any order and cut anywhere, must neither crash it nor make it write anything
 * but whole lines of JSON.
 *
 * The first byte says what the client can do.  Then come pieces: a byte whose top bit says who
 * speaks and whose other bits say how many bytes follow, up to 127.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_wire.h"
#include "trace/my_session.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const pg_limits limits = {.message = 4096, .result = 256, .session = 1 << 20};
    /* a greeting, a login for the database d with the capabilities of the first byte, and OK */
    static const char greeting[] = "\x05\0\0\0\x0a"
                                   "10.1";
    static const char ok[] = "\x07\0\0\2\0\0\0\2\0\0\0";
    char login[4 + 32 + 2 + 1 + 2] = {39 - 2, 0, 0, 1, 0x0a, (char)0x82};
    uint64_t ids = 0, now = 1;
    mask masks = {.words = 0};
    pg_sink sink = {&ids, next_id, take_line, take_gap, take_count, size & 1 ? committed : NULL};
    mask_column(&masks, "users.secret");
    my_session *s = my_session_open(7, &limits, &masks, &sink, "d");
    if (!s) return 0;
    uint8_t way = size ? data[0] : 0;
    login[7] = (char)(way & 1); /* no packets EOF */
    login[4] = (char)(way & 2 ? 0x0a : 0x0b);
    login[32] = (char)(way & 0x18); /* MariaDB's own capabilities */
    login[12] = 45;
    memcpy(login + 36, "u\0\0d", 5);
    my_session_server(s, greeting, sizeof greeting - 1, now);
    my_session_client(s, login, sizeof login, now);
    my_session_server(s, ok, sizeof ok - 1, now);
    if (size) data++, size--;
    while (size) {
        bool server = *data & 128;
        size_t n = *data & 127;
        data++, size--;
        if (n > size) n = size;
        now++;
        if (server)
            my_session_server(s, (const char *)data, n, now);
        else
            my_session_client(s, (const char *)data, n, now);
        data += n;
        size -= n;
    }
    my_session_end(s, now + 1);
    my_session_free(s);
    mask_free(&masks);
    return 0;
}
