#ifndef SUPERVISOR_CHANNEL_WEBHOOK_POST_H
#define SUPERVISOR_CHANNEL_WEBHOOK_POST_H

#include "lib/http/curl_loop.h"
#include "supervisor/channel/delivery.h"

#define POST_ANSWER_MAX 160 /* bytes of an error response, for users */

enum post_part {
	POST_TYPE,
	POST_IDENT,
	POST_WHEN,
	POST_SIGNATURE,
	POST_EXPECT,
	POST_PARTS
};

/*
 * A reusable POST request and its outcome. While it is in flight it belongs to
 * libcurl's thread. It owns everything that is sent.
 */
struct post {
	struct transfer transfer;
	CURLU *url; /* parsed once, not for every message */
	struct curl_slist headers[POST_PARTS];
	struct buf text[POST_PARTS];
	struct buf body;

	char answer[POST_ANSWER_MAX]; /* from here on set by the thread */
	size_t answered, read;        /* bytes stored, bytes received */
	char error[CURL_ERROR_SIZE];
	bool begun; /* the request was started */
};

void post_init(struct post *p, const struct channel_config *config);
void post_fini(struct post *p);
void post_trim(struct post *p); /* frees large buffers between two messages */

/* Sets a header; name ends with ": ". More may be appended to text[i] before
 * the start. */
void post_header(struct post *p, enum post_part i, const char *name,
		 const char *value);

/* Starts the request; body and headers are set. -1: it was not started. */
int post_start(struct post *p, struct curl_loop *loop, struct err *e);

/* The outcome for the delivery. */
struct outcome post_outcome(const struct post *p, CURLcode code);

#endif
