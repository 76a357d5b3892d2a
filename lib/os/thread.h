#ifndef LIB_OS_THREAD_H
#define LIB_OS_THREAD_H

#include <pthread.h>
#include <stddef.h>

/* Starts a thread that handles no signals, except those that it raises itself by
 * a fault: the others go to the thread that waits for them. stack: its size in
 * bytes, 0 for the default. Returns 0 or an error number. */
int thread_start(pthread_t *thread, size_t stack, void *(*fn)(void *),
		 void *arg);

#endif
