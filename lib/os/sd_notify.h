#ifndef LIB_OS_SD_NOTIFY_H
#define LIB_OS_SD_NOTIFY_H

#include <stdint.h>

/*
 * The service manager's protocol (sd_notify): one datagram to $NOTIFY_SOCKET.
 * Without that variable nothing happens.
 */
void notify(const char *text); /* "READY=1", "WATCHDOG=1", "STATUS=…" */

/* How often the watchdog wants to hear of us, in ms; 0: there is none. */
int64_t notify_watchdog_ms(void);

#endif
