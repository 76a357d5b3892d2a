#include "supervisor/channel/webhook/post.h"

#include <stdlib.h>
#include <string.h>

#define AGENT_NAME "skep/" SKEP_VERSION
#define AFTER_MAX  86400 /* longest Retry-After in seconds */
#define BODY_MAX   (64u << 20)
/* a larger buffer is freed after its message */
#define BODY_KEEP_MAX (64u << 10)
#define ANSWER_ROOM   1024L       /* the minimum of libcurl */
#define ANSWER_READ   (16u << 10) /* so that the connection can be reused */

/* Maps an HTTP status to an outcome. */
static enum delivery_event event_of(long status)
{
	static const long retryable[] = {408, 409, 423, 425, 429};

	if (status >= 200 && status < 300)
		return DELIVERY_EV_ACK;
	for (size_t i = 0; i < sizeof retryable / sizeof retryable[0]; i++)
		if (status == retryable[i])
			return DELIVERY_EV_FAIL;
	if (status >= 500 && status != 501 && status != 505)
		return DELIVERY_EV_FAIL;
	return DELIVERY_EV_REFUSE;
}

/* --- in the thread ---------------------------------------------------- */

/* The status is known. A short body is read to its end, so that the connection
 * can be reused; a long one is cut off. */
static size_t on_answer(char *bytes, size_t size, size_t n, void *arg)
{
	struct post *p = arg;
	size_t room = sizeof p->answer - 1 - p->answered;
	size_t take = n * size < room ? n * size : room;

	for (size_t i = 0; i < take; i++)
		p->answer[p->answered++] = (unsigned char)bytes[i] < 32
						   ? ' '
						   : bytes[i];
	p->answer[p->answered] = '\0';
	p->read += n * size;
	return p->read > ANSWER_READ ? CURL_WRITEFUNC_ERROR : n * size;
}

/* May the receiver have got a part of the request? A CONNECT to a proxy does
 * not count. */
static bool was_sent(const struct post *p)
{
	long sent = 0;

	curl_easy_getinfo(p->transfer.easy, CURLINFO_REQUEST_SIZE, &sent);
	return p->begun && sent > 0;
}

/* libcurl would repeat the request if a reused connection closes without a
 * response. skep decides itself about retries. */
static int before_request(void *arg, char *to, char *from, int to_port,
			  int from_port)
{
	struct post *p = arg;

	(void)to;
	(void)from;
	(void)to_port;
	(void)from_port;
	if (was_sent(p))
		return CURL_PREREQFUNC_ABORT;
	p->begun = true;
	return CURL_PREREQFUNC_OK;
}

/* --- the request ------------------------------------------------------ */

void post_header(struct post *p, enum post_part i, const char *name,
		 const char *value)
{
	struct buf *b = &p->text[i];

	buf_clear(b);
	buf_adds(b, name);
	buf_adds(b, value);
}

void post_init(struct post *p, const struct channel_config *config)
{
	CURL *easy = p->transfer.easy = curl_easy_init();

	p->url = curl_url();
	if (!easy || !p->url)
		abort();
	buf_init(&p->body, BODY_MAX);
	for (int i = 0; i < POST_PARTS; i++) {
		buf_init(&p->text[i], 2048);
		p->headers[i].next = i + 1 < POST_PARTS ? &p->headers[i + 1]
							: NULL;
	}
	post_header(p, POST_TYPE, "content-type: ", "application/json");
	post_header(p, POST_EXPECT, "expect:", "");
	curl_url_set(p->url, CURLUPART_URL, config->url, 0);
	curl_easy_setopt(easy, CURLOPT_CURLU, p->url);
	curl_easy_setopt(easy, CURLOPT_POST, 1L);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, p->headers);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)config->timeout);
	curl_easy_setopt(easy, CURLOPT_USERAGENT, AGENT_NAME);
	/* Responses are short: the default buffer of 16 KB would be allocated
	 * and freed for each. */
	curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, ANSWER_ROOM);
	curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_answer);
	curl_easy_setopt(easy, CURLOPT_WRITEDATA, p);
	curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, before_request);
	curl_easy_setopt(easy, CURLOPT_PREREQDATA, p);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, p->error);
	/* Only the settings choose a proxy, not the environment in which skepd
	 * was started. */
	curl_easy_setopt(easy, CURLOPT_PROXY, config->proxy);
	curl_easy_setopt(easy, CURLOPT_NOPROXY, "");
	if (config->ca_file[0])
		curl_easy_setopt(easy, CURLOPT_CAINFO, config->ca_file);
}

void post_fini(struct post *p)
{
	curl_easy_cleanup(p->transfer.easy);
	curl_url_cleanup(p->url);
	for (int i = 0; i < POST_PARTS; i++)
		buf_fini(&p->text[i]);
	buf_fini(&p->body);
}

void post_trim(struct post *p)
{
	if (p->body.n > BODY_KEEP_MAX)
		buf_fini(&p->body);
}

int post_start(struct post *p, struct curl_loop *loop, struct err *e)
{
	CURL *easy = p->transfer.easy;

	for (int i = 0; i < POST_PARTS; i++)
		p->headers[i].data = p->text[i].p;
	p->answered = p->read = 0;
	p->answer[0] = p->error[0] = '\0';
	p->begun = false;
	curl_easy_setopt(easy, CURLOPT_POSTFIELDS, p->body.p);
	curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
			 (curl_off_t)p->body.n);
	return curl_loop_start(loop, &p->transfer, e);
}

/* --- its outcome ------------------------------------------------------ */

/* The outcome without a response. */
static struct outcome no_answer(const struct post *p, CURLcode code)
{
	const char *why = p->error[0] ? p->error : curl_easy_strerror(code);

	if (code == CURLE_ABORTED_BY_CALLBACK)
		why = "the connection ended without an answer";
	return outcome_of(was_sent(p) ? DELIVERY_EV_LOSE : DELIVERY_EV_FAIL,
			  OPT_NONE, -1, "%s", why);
}

/* The outcome of an error response, with the text of the receiver or its
 * status. */
static struct outcome refusal(const struct post *p, enum delivery_event event,
			      long status)
{
	char *to = NULL;

	curl_easy_getinfo(p->transfer.easy, CURLINFO_REDIRECT_URL, &to);
	if (to)
		return outcome_of(event, status, -1,
				  "it has moved, and redirects are not "
				  "followed: set url to %s",
				  to);
	if (!p->answer[0])
		return outcome_of(event, status, -1, "HTTP status %ld", status);
	return outcome_of(event, status, -1, "%s", p->answer);
}

/* The pause that Retry-After requests, limited to a day; or -1. */
static int64_t retry_after_of(const struct post *p)
{
	curl_off_t after = 0;

	curl_easy_getinfo(p->transfer.easy, CURLINFO_RETRY_AFTER, &after);
	if (after <= 0)
		return -1;
	return (after < AFTER_MAX ? after : AFTER_MAX) * 1000;
}

static struct outcome an_answer(const struct post *p, long status)
{
	enum delivery_event event = event_of(status);
	struct outcome o;

	if (event == DELIVERY_EV_ACK)
		return outcome_of(event, status, -1, "%s", "");
	o = refusal(p, event, status);
	if (event == DELIVERY_EV_FAIL)
		o.retry_ms = retry_after_of(p);
	return o;
}

struct outcome post_outcome(const struct post *p, CURLcode code)
{
	long status = 0;

	curl_easy_getinfo(p->transfer.easy, CURLINFO_RESPONSE_CODE, &status);
	/* A status is a response, even if the rest was lost. */
	return status >= 200 ? an_answer(p, status) : no_answer(p, code);
}
