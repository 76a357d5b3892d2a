#ifndef SUPERVISOR_CURL_LOOP_H
#define SUPERVISOR_CURL_LOOP_H

#include "base/err.h"

#include <curl/curl.h>
#include <uv.h>

/*
 * libcurl's multi interface on the loop: transfers run beside everything else
 * and connections are used again. One object serves all channels.
 */
struct curl_loop;

/* The transfer is over, and out of the multi handle; easy is the caller's. */
typedef void curl_done(void *arg, CURL *easy, CURLcode code);

struct curl_loop *curl_loop_new(uv_loop_t *loop);

/* Transfers must be over. Frees itself when the loop has let go; NULL is fine. */
void curl_loop_close(struct curl_loop *c);

/* Starts; done is called once, later. -1: it will not be called. */
int curl_loop_add(struct curl_loop *c, CURL *easy, curl_done *done, void *arg,
		  struct err *e);

/* Ends it without calling done. */
void curl_loop_drop(struct curl_loop *c, CURL *easy);

#endif
