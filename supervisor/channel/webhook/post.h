#ifndef SUPERVISOR_CHANNEL_WEBHOOK_POST_H
#define SUPERVISOR_CHANNEL_WEBHOOK_POST_H

#include "lib/http/curl_loop.h"
#include "supervisor/channel/delivery.h"

#define POST_ANSWER_MAX 160 /* bytes of a refusal, for people */

enum post_part {
	POST_TYPE,
	POST_IDENT,
	POST_WHEN,
	POST_SIGNATURE,
	POST_EXPECT,
	POST_PARTS
};

/*
 * A POST that is made again and again, and what became of it. While it is under
 * way it belongs to libcurl's thread; it holds all that is sent.
 */
struct post {
	struct transfer transfer;
	CURLU *url; /* parsed once, not for each message */
	struct curl_slist headers[POST_PARTS];
	struct buf text[POST_PARTS];
	struct buf body;

	char answer[POST_ANSWER_MAX]; /* the rest is the thread's */
	size_t answered, read;        /* bytes kept, bytes that came */
	char error[CURL_ERROR_SIZE];
	bool begun; /* the request was begun */
};

void post_init(struct post *p, const struct channel_config *config);
void post_fini(struct post *p);
void post_trim(struct post *p); /* frees what is large, between two messages */

/* "name: " and its value; more may be added to text[i] until it is started. */
void post_header(struct post *p, enum post_part i, const char *name,
		 const char *value);

/* Body and headers are there. -1: it will not be done. */
int post_start(struct post *p, struct curl_loop *loop, struct err *e);

/* What it means for the message. */
struct outcome post_outcome(const struct post *p, CURLcode code);

#endif
