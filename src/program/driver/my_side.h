/*
 * my_side.h - a connection to MariaDB or MySQL beside those of an application: where the server is,
 * and which tables were there before the application began, as pg_side.h does it for PostgreSQL.
 */
#ifndef RATEL_DRIVER_MY_SIDE_H
#define RATEL_DRIVER_MY_SIDE_H

#include "driver/pg_side.h"

/* Connects to mariadb://[USER@]HOST[:PORT]/DATABASE[?socket=PATH]; the password is MYSQL_PWD's, or
   that of ~/.my.cnf.  False: s->error says why.  A host that begins with / is a socket. */
bool my_side_open(pg_side *s, const char *url);
void my_side_close(pg_side *s);
/* Writes the header and, with `dump`, the rows, all from one snapshot; false: s->error. */
bool my_side_head(pg_side *s, mem *m, pg_side_schema *o);

#endif
