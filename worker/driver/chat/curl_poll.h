#ifndef WORKER_DRIVER_CHAT_CURL_POLL_H
#define WORKER_DRIVER_CHAT_CURL_POLL_H

#include "worker/driver/headers.h"
#include "worker/run/run.h"

#include <curl/curl.h>

/*
 * Requests of the worker through libcurl: waits in run_poll, so that commands
 * are handled meanwhile; lists of headers that contain secrets.
 */

/* Waits for the transfers of `multi`, for at most ms. -1 as run_poll. */
int curl_poll(CURLM *multi, struct run *r, int64_t ms, struct err *e);

/* Advances the transfers. 1: one has ended, with result *how; 0: none. */
int curl_step(CURLM *multi, CURLcode *how);

void curl_add_header(struct curl_slist **list, const char *line);
void curl_add_pair(struct curl_slist **list, const char *name,
		   const char *prefix, const char *value);
void curl_free_headers(struct curl_slist *list); /* overwrites and frees them */

/* Hides a secret (NULL: none), or those of h, in a text of the server. */
void secret_hide(char *text, const char *secret);
void headers_hide(char *text, const struct headers *h);

#endif
