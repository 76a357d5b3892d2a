#ifndef LIB_HTTP_LISTEN_H
#define LIB_HTTP_LISTEN_H

#include "lib/base/err.h"

#include <sys/types.h>

/* Listening sockets, non-blocking and close-on-exec. Private to http/. */

/* A unix socket that only its owner can connect to. A socket file whose server
 * is dead is replaced; a living one is ERR_CONFLICT. */
int listen_unix(const char *path, struct err *e);

/* "127.0.0.1:7411", "[::1]:0", "localhost:80": numbers or names of this
 * machine; gives the port that was taken. */
int listen_tcp(const char *address, int *port, struct err *e);

#endif
