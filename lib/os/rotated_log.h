#ifndef LIB_OS_ROTATED_LOG_H
#define LIB_OS_ROTATED_LOG_H

/*
 * A log whose file is renamed to PATH.1 when it is large, while others read it.
 * Opens PATH.1 and PATH as consecutive files, for the caller to close; -1 for a
 * missing one.
 */
void rotated_log_open(const char *path, int fds[2]);

#endif
