#ifndef LIB_HTTP_LISTEN_H
#define LIB_HTTP_LISTEN_H

#include "lib/base/err.h"

#include <sys/types.h>

/* Listening sockets, non-blocking and close-on-exec. Private to http/. */

/* A unix socket to which only its owner can connect. The socket file of a dead
 * server is replaced; that of a live one is ERR_CONFLICT. */
int listen_unix(const char *path, struct err *e);

/* "127.0.0.1:7411", "[::1]:0", "localhost:80": addresses or names of this
 * machine; returns the port. */
int listen_tcp(const char *address, int *port, struct err *e);

#endif
