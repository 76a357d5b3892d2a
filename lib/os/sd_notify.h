#ifndef LIB_OS_SD_NOTIFY_H
#define LIB_OS_SD_NOTIFY_H

#include <stdint.h>

/*
 * The service manager's protocol (sd_notify): one datagram to $NOTIFY_SOCKET.
 * Does nothing without that variable.
 */
void notify(const char *text); /* "READY=1", "WATCHDOG=1", "STATUS=…" */

#endif
