/*
 * The fuzz target of the proxy's reader: any bytes of a client and of a server, in any order and
 * cut anywhere, must neither crash it nor make it write anything but whole lines of JSON.
 *
 * The input is a list of pieces: a byte whose top bit says who speaks and whose other bits say how
 * many bytes follow, up to 127.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const pg_limits limits = {.message = 4096, .result = 256, .session = 1 << 20};
    static const char startup[] = "user\0u\0database\0d\0client_encoding\0UTF8";
    uint64_t ids = 0, now = 1;
    mask masks = {.words = 0};
    pg_sink sink = {&ids, next_id, take_line, take_gap, take_count, size & 1 ? committed : NULL};
    mask_column(&masks, "users.secret");
    pg_session *s = pg_session_open(7, &limits, &masks, &sink);
    if (!s) return 0;
    pg_session_startup(s, startup, sizeof startup);
    while (size) {
        bool server = *data & 128;
        size_t n = *data & 127;
        data++, size--;
        if (n > size) n = size;
        now++;
        if (server)
            pg_session_server(s, (const char *)data, n, now);
        else
            pg_session_client(s, (const char *)data, n, now);
        if (!server && pg_session_commits(s)) pg_session_xid(s, n & 1 ? "77" : "");
        data += n;
        size -= n;
    }
    pg_session_end(s, now + 1);
    pg_session_free(s);
    mask_free(&masks);
    return 0;
}
