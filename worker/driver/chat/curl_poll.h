#ifndef WORKER_DRIVER_CHAT_CURL_POLL_H
#define WORKER_DRIVER_CHAT_CURL_POLL_H

#include "worker/driver/headers.h"
#include "worker/run/run.h"

#include <curl/curl.h>

/*
 * Requests of the worker by libcurl: waiting in run_poll, so that commands are
 * carried out meanwhile, and lists of headers that hold secrets.
 */

/* Waits for the transfers of `multi`, for at most ms. -1 as run_poll. */
int curl_poll(CURLM *multi, struct run *r, int64_t ms, struct err *e);

/* Advances the transfers. 1: one is over, as *how says; 0: not yet. */
int curl_step(CURLM *multi, CURLcode *how);

void curl_add_header(struct curl_slist **list, const char *line);
void curl_add_pair(struct curl_slist **list, const char *name,
		   const char *prefix, const char *value);
void curl_free_headers(struct curl_slist *list); /* wipes them */

/* Hides what a server repeats of a secret (NULL: none), or of those of h. */
void secret_hide(char *text, const char *secret);
void headers_hide(char *text, const struct headers *h);

#endif
