#include "worker/driver/chat/curl_poll.h"

#include "lib/base/buf.h"

#include <stdlib.h>
#include <string.h>

#define RESOLVE_MS 50

int curl_poll(CURLM *multi, struct run *r, int64_t ms, struct err *e)
{
	struct pollfd p[RUN_POLL_MAX];
	fd_set in, out, bad;
	long curl_ms = -1;
	int max = -1;
	unsigned n = 0;

	FD_ZERO(&in);
	FD_ZERO(&out);
	FD_ZERO(&bad);
	curl_multi_fdset(multi, &in, &out, &bad, &max);
	for (int fd = 0; fd <= max && n < RUN_POLL_MAX; fd++) {
		short events = (short)((FD_ISSET(fd, &in) ? POLLIN : 0) |
				       (FD_ISSET(fd, &out) ? POLLOUT : 0));

		if (events)
			p[n++] = (struct pollfd){.fd = fd, .events = events};
	}
	curl_multi_timeout(multi, &curl_ms);
	if (curl_ms >= 0 && curl_ms < ms)
		ms = curl_ms;
	if (max < 0 && ms > RESOLVE_MS)
		ms = RESOLVE_MS; /* a name is being resolved */
	return run_poll(r, p, n, ms > 0 ? ms : 0, e);
}

int curl_step(CURLM *multi, CURLcode *how)
{
	CURLMsg *m;
	int left, running;

	curl_multi_perform(multi, &running);
	while ((m = curl_multi_info_read(multi, &left))) {
		if (m->msg != CURLMSG_DONE)
			continue;
		*how = m->data.result;
		return 1;
	}
	return 0;
}

void curl_add_header(struct curl_slist **list, const char *line)
{
	struct curl_slist *more = curl_slist_append(*list, line);

	if (!more)
		abort();
	*list = more;
}

/* curl omits a header without a value. */
void curl_add_pair(struct curl_slist **list, const char *name,
		   const char *prefix, const char *value)
{
	struct buf line = BUF_MAX(65536);

	buf_addf(&line, "%s%s%s%s", name, value[0] ? ": " : ";", prefix, value);
	if (!line.over)
		curl_add_header(list, line.p);
	if (line.n)
		explicit_bzero(line.p, line.n);
	buf_fini(&line);
}

void curl_free_headers(struct curl_slist *list)
{
	for (struct curl_slist *s = list; s; s = s->next)
		explicit_bzero(s->data, strlen(s->data));
	curl_slist_free_all(list);
}

void secret_hide(char *text, const char *secret)
{
	size_t n = secret ? strlen(secret) : 0;

	for (char *p = text; n > 0 && (p = strstr(p, secret)); p += n)
		memset(p, '*', n);
}

void headers_hide(char *text, const struct headers *h)
{
	for (int i = 0; i < h->n; i++)
		secret_hide(text, h->list[i].secret);
}
