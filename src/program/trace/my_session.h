/*
 * my_session.h - one client's connection to MariaDB or MySQL, watched from the side, as
 * pg_session.h does it for PostgreSQL.
 *
 * What is inside a transaction is what the server's status flags say.  Whatever is not understood,
 * and whatever exceeds the memory of a session, makes it blind: it tells so once, with the time
 * from which on its client may have done anything, and reads no further.
 */
#ifndef RATEL_TRACE_MY_SESSION_H
#define RATEL_TRACE_MY_SESSION_H

#include "trace/pg_session.h"

typedef struct my_session my_session;

/* NULL: no memory.  Sessions of other databases than this one are not traced.  The options must
   outlive the session. */
my_session *my_session_open(uint32_t number, const pg_limits *limits, const mask *masks,
                            const pg_sink *sink, const char *database);
void my_session_free(my_session *s);
/* As of a pg_session. */
void my_session_client(my_session *s, const char *at, size_t n, uint64_t now);
void my_session_server(my_session *s, const char *at, size_t n, uint64_t now);
void my_session_end(my_session *s, uint64_t now);
bool my_session_blind(const my_session *s);
/* Does the client use another database than the traced one?  (Known after it has logged in.) */
bool my_session_elsewhere(const my_session *s);

/* The client has asked for TLS, which the proxy ended: its login follows in plain bytes. */
void my_session_encrypted(my_session *s);

/* The server's first packet, whole, with its head: takes back its offers of compression and, unless
   the proxy has keys, of encryption, which nobody between could read.  `tls`: encryption is still
   offered.  False: it is none that we know. */
bool my_greeting(char *packet, size_t n, bool keys, bool *tls);

#endif
