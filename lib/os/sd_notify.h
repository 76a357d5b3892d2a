#ifndef LIB_OS_SD_NOTIFY_H
#define LIB_OS_SD_NOTIFY_H

#include <stdint.h>

/*
 * The service manager's protocol (sd_notify): one datagram to $NOTIFY_SOCKET.
 * Does nothing without that variable.
 */
void notify(const char *text); /* "READY=1", "WATCHDOG=1", "STATUS=…" */

/* The interval in which the watchdog expects a sign of life, in ms; 0: no
 * watchdog. */
int64_t notify_watchdog_ms(void);

#endif
