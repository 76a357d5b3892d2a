#ifndef LIB_HTTP_CURL_LOOP_H
#define LIB_HTTP_CURL_LOOP_H

#include "lib/base/err.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <uv.h>

/*
 * libcurl's multi interface in a thread of its own, with a loop of its own:
 * messages leave and answers come while skepd's loop waits for its disk, and a
 * name server that is slow keeps nobody but the transfer that asked for it. One
 * object serves all channels of a protocol; connections are used again. Mail has
 * its own, since libcurl stands still while a server thinks about a mail.
 *
 * A transfer belongs to the thread from curl_loop_start until done is called, on
 * skepd's loop, exactly once. In between its easy handle, and all that the
 * handle was told to use, must not be touched; callbacks of the handle are
 * called in the thread.
 */
struct curl_loop;

struct transfer { /* part of what the caller has for it */
	CURL *easy;
	bool alone; /* no other uses its connection: cut when it is dropped */
	/* It is over, and out of the multi handle. */
	void (*done)(struct transfer *t, CURLcode code);

	struct transfer *next, *prev; /* the rest is curl_loop's */
	CURLcode code;
	bool drop;
};

struct curl_loop *curl_loop_new(uv_loop_t *loop);

/* Ends the thread; done is called for what is left, and it is freed when the
 * loop has let go. NULL is fine. */
void curl_loop_close(struct curl_loop *c);

/* -1: done will not be called. */
int curl_loop_start(struct curl_loop *c, struct transfer *t, struct err *e);

/* Ends it soon, if it is not over by itself; done is called as always. */
void curl_loop_drop(struct curl_loop *c, struct transfer *t);

#endif
