#ifndef SUPERVISOR_CORE_LOG_ROTATE_H
#define SUPERVISOR_CORE_LOG_ROTATE_H

#include "schema/config.h"
#include "schema/home.h"

/*
 * Rotates logs/skepd.log by size and age. skepd, the watchdog, the spawner and the
 * workers have the file open for appending, so it keeps its inode: its content is
 * copied to skepd.log.1, and the file is truncated. A line that another process
 * writes between the last read and the truncation is lost.
 */
void log_rotate(const struct home *home, const struct config *c);

#endif
