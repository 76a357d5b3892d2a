#ifndef LIB_HTTP_CURL_LOOP_H
#define LIB_HTTP_CURL_LOOP_H

#include "lib/base/err.h"

#include <curl/curl.h>
#include <stdbool.h>
#include <uv.h>

/*
 * libcurl's multi interface in its own thread, with its own loop: messages are
 * sent and answers are received while skepd's loop waits for its disk, and a
 * slow name server delays only the transfer that uses it. One object serves all
 * channels of a protocol; connections are reused. Mail has its own object,
 * since libcurl blocks while a server processes a mail.
 *
 * A transfer belongs to the thread from curl_loop_start until done is called,
 * on skepd's loop, exactly once. Meanwhile its easy handle and everything that
 * the handle refers to must not be touched; callbacks of the handle are called
 * in the thread.
 */
struct curl_loop;

struct transfer { /* embedded in an object of the caller */
	CURL *easy;
	bool alone; /* its connection is not shared: closed when the transfer is
		     * dropped */
	/* The transfer has ended and was removed from the multi handle. */
	void (*done)(struct transfer *t, CURLcode code);

	struct transfer *next, *prev; /* the rest is private to curl_loop.c */
	CURLcode code;
	bool drop;
};

struct curl_loop *curl_loop_new(uv_loop_t *loop);

/* Ends the thread; done is called for all transfers, and the object is freed
 * when its handles are closed. Accepts NULL. */
void curl_loop_close(struct curl_loop *c);

/* -1: done will not be called. */
int curl_loop_start(struct curl_loop *c, struct transfer *t, struct err *e);

/* Ends the transfer soon; done is called as usual. */
void curl_loop_drop(struct curl_loop *c, struct transfer *t);

#endif
