#include "http/client.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <curl/curl.h>

#include "base/json.h"

#define ANSWER_MAX   ((size_t)256 << 20)
#define EVENT_MAX    ((size_t)64 << 20)
#define CONNECT_MS   5000L
#define RETRY_MS_MIN 50
#define RETRY_MS_MAX 2000

struct http_client {
	CURL *curl;
	char *base_url;
	char *unix_path;
	char *token;
	struct buf answer;
	char why[CURL_ERROR_SIZE];
};

struct follow {
	struct http_client *c;
	const struct http_follow *want;
	struct sse_parser parser;
	struct err *e;
	long status;
	bool got_bytes;
	int rc; /* what on_event returned, or -1 */
};

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

int http_client_open(struct http_client **out, const struct http_target *t,
		     struct err *e)
{
	struct http_client *c = calloc(1, sizeof *c);

	if (!c)
		abort();
	if (curl_global_init(CURL_GLOBAL_DEFAULT) ||
	    !(c->curl = curl_easy_init())) {
		free(c);
		return err_set(e, ERR_INTERNAL, "libcurl does not start");
	}
	c->base_url = copy(t->base_url ? t->base_url : "http://localhost");
	c->unix_path = copy(t->unix_path);
	c->token = copy(t->token);
	buf_init(&c->answer, ANSWER_MAX);
	*out = c;
	return 0;
}

void http_client_close(struct http_client *c)
{
	if (!c)
		return;
	curl_easy_cleanup(c->curl);
	buf_fini(&c->answer);
	free(c->base_url);
	free(c->unix_path);
	free(c->token);
	free(c);
}

/* What every request has. The caller frees the URL and the list. */
static char *prepare(struct http_client *c, const char *path,
		     struct curl_slist **headers)
{
	struct buf b = BUF_MAX(64 << 10);

	curl_easy_reset(c->curl); /* keeps the connection */
	buf_addf(&b, "%s%s", c->base_url, path);
	curl_easy_setopt(c->curl, CURLOPT_URL, b.p);
	char *url = buf_take(&b);

	if (c->unix_path)
		curl_easy_setopt(c->curl, CURLOPT_UNIX_SOCKET_PATH,
				 c->unix_path);
	curl_easy_setopt(c->curl, CURLOPT_PATH_AS_IS, 1L);
	curl_easy_setopt(c->curl, CURLOPT_PROXY, "");
	curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c->curl, CURLOPT_ERRORBUFFER, c->why);
	curl_easy_setopt(c->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	c->why[0] = '\0';
	if (c->token) {
		buf_addf(&b, "Authorization: Bearer %s", c->token);
		*headers = curl_slist_append(*headers, b.p);
	}
	*headers = curl_slist_append(*headers, "Expect:");
	buf_fini(&b);
	return url;
}

static int curl_failed(const struct http_client *c, CURLcode rc, struct err *e)
{
	const char *why = c->why[0] ? c->why : curl_easy_strerror(rc);

	if (rc == CURLE_COULDNT_CONNECT)
		return err_set(e, ERR_UNAVAILABLE,
			       "the supervisor does not answer on %s; "
			       "\"skep up\" starts it",
			       c->unix_path ? c->unix_path : c->base_url);
	if (rc == CURLE_OPERATION_TIMEDOUT)
		return err_set(e, ERR_TIMEOUT, "the supervisor: %s", why);
	return err_set(e, ERR_UNAVAILABLE, "the supervisor: %s", why);
}

/* The error that the server had, as far as the answer tells. */
static int answer_failed(long status, const char *text, size_t n, struct err *e)
{
	struct err ignored;
	cJSON *problem = json_parse_object("answer", text, n, &ignored);
	const char *code = problem ? json_text(problem, "code", NULL) : NULL;

	if (code)
		err_set(e, err_from_name(code), "%s",
			json_text(problem, "detail", "no reason was given"));
	else
		err_set(e, ERR_PROTOCOL, "the server answered %ld", status);
	cJSON_Delete(problem);
	return -1;
}

static size_t take_answer(char *p, size_t one, size_t n, void *arg)
{
	struct buf *b = arg;

	return buf_add(b, p, one * n) ? 0 : one * n;
}

int http_client_call(struct http_client *c, const char *method,
		     const char *path, const char *body, struct buf *answer,
		     struct err *e)
{
	struct curl_slist *headers = NULL;
	char *url = prepare(c, path, &headers);
	long status = 0;
	CURLcode rc;

	if (body) {
		headers = curl_slist_append(headers,
					    "Content-Type: application/json");
		curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE,
				 (long)strlen(body));
		curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, body);
	}
	curl_easy_setopt(c->curl, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(c->curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, take_answer);
	curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &c->answer);
	buf_clear(&c->answer);
	rc = curl_easy_perform(c->curl);
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_slist_free_all(headers);
	free(url);
	if (rc)
		return curl_failed(c, rc, e);
	if (status >= 400)
		return answer_failed(status, c->answer.p, c->answer.n, e);
	if (answer && buf_add(answer, c->answer.p, c->answer.n))
		return buf_ok(answer, "the answer", e);
	return (int)status;
}

static size_t take_events(char *p, size_t one, size_t n, void *arg)
{
	struct follow *f = arg;

	curl_easy_getinfo(f->c->curl, CURLINFO_RESPONSE_CODE, &f->status);
	if (f->status != 200)
		return take_answer(p, one, n, &f->c->answer);
	f->got_bytes = true;
	f->rc = sse_parse(&f->parser, p, one * n, f->want->on_event,
			  f->want->arg, f->e);
	return f->rc ? 0 : one * n;
}

static int ask_quit(void *arg, curl_off_t a, curl_off_t b, curl_off_t d,
		    curl_off_t g)
{
	const struct follow *f = arg;

	(void)a, (void)b, (void)d, (void)g;
	return f->want->quit && f->want->quit(f->want->arg);
}

static CURLcode connect_once(struct follow *f)
{
	CURL *curl = f->c->curl;
	struct curl_slist *headers = NULL;
	char *url = prepare(f->c, f->want->path, &headers);
	struct buf id = BUF_MAX(4096);
	CURLcode rc;

	headers = curl_slist_append(headers, "Accept: text/event-stream");
	if (f->parser.id.n) {
		buf_addf(&id, "Last-Event-ID: %s", f->parser.id.p);
		headers = curl_slist_append(headers, id.p);
	}
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_events);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, f);
	curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
	curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, ask_quit);
	curl_easy_setopt(curl, CURLOPT_XFERINFODATA, f);
	buf_clear(&f->c->answer);
	sse_parser_restart(&f->parser);
	f->status = 0;
	f->got_bytes = false;
	rc = curl_easy_perform(curl);
	curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &f->status);
	curl_slist_free_all(headers);
	buf_fini(&id);
	free(url);
	return rc;
}

static void wait_ms(int ms)
{
	struct timespec t = {ms / 1000, (long)(ms % 1000) * 1000000};

	nanosleep(&t, NULL);
}

/* True when there is something to say and no use in trying again. */
static bool settled(struct follow *f, CURLcode rc, int *out)
{
	struct buf *answer = &f->c->answer;

	*out = f->rc;
	if (f->rc || rc == CURLE_ABORTED_BY_CALLBACK)
		return true;
	if (rc == CURLE_OK && f->status < 400)
		return true;
	if (f->status >= 400 && f->status != 503) {
		*out = answer_failed(f->status, answer->p, answer->n, f->e);
		return true;
	}
	if (f->want->once) {
		*out = curl_failed(f->c, rc, f->e);
		return true;
	}
	return f->want->quit && f->want->quit(f->want->arg);
}

int http_client_follow(struct http_client *c, const struct http_follow *want,
		       struct err *e)
{
	struct follow f = {.c = c, .want = want, .e = e};
	int wait = RETRY_MS_MIN;
	int out;

	sse_parser_init(&f.parser, EVENT_MAX);
	if (want->last_id)
		buf_adds(&f.parser.id, want->last_id);
	while (!settled(&f, connect_once(&f), &out)) {
		wait = f.got_bytes ? RETRY_MS_MIN : wait * 2;
		wait = wait < RETRY_MS_MAX ? wait : RETRY_MS_MAX;
		wait_ms(wait);
	}
	sse_parser_fini(&f.parser);
	return out;
}
