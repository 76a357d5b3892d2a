#ifndef LIB_OS_ROTATED_H
#define LIB_OS_ROTATED_H

/*
 * A log whose file becomes PATH.1 when it is large, while others read it. Opens
 * PATH.1 and PATH, in this order, as two that follow each other, for the caller
 * to close; -1 for one that is not there.
 */
void rotated_open(const char *path, int fds[2]);

#endif
