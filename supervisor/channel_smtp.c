/*
 * smtp: each message is a mail, through libcurl. The conversation is the
 * address. A mail that was sent and not acknowledged stays `unknown`: SMTP
 * cannot say, and most servers would deliver it twice.
 */
#include "supervisor/channel.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/json.h"
#include "supervisor/curl_loop.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE_BYTES 57 /* of base 64: 76 characters */
#define MAIL_MAX   (64u << 20)

/* Under way it belongs to libcurl's thread, and may outlive its channel. */
struct mail {
	struct transfer transfer; /* first: it is found by it */
	struct mail *next;
	struct channel *channel; /* NULL: it was closed meanwhile */
	struct parcel *parcel;
	struct curl_slist *to;
	struct buf text;
	_Atomic size_t sent;
};

struct mailer {
	struct buf password;
	struct mail *busy;
};

static size_t give(char *to, size_t size, size_t n, void *arg)
{
	struct mail *m = arg;
	size_t sent = m->sent, left = m->text.n - sent;
	size_t take = size * n < left ? size * n : left;

	memcpy(to, m->text.p + sent, take);
	m->sent = sent + take;
	return take;
}

/* Header values from outside hold no line break; others than ASCII are encoded
 * as RFC 2047 says. */
static void header(struct buf *b, const char *name, const char *value)
{
	bool plain = true;

	for (const char *p = value; *p; p++)
		plain &= *p >= 32 && *p < 127;
	buf_addf(b, "%s: ", name);
	if (plain) {
		buf_adds(b, value);
	} else {
		buf_adds(b, "=?utf-8?B?");
		base64_add(b, value, strlen(value));
		buf_adds(b, "?=");
	}
	buf_adds(b, "\r\n");
}

/* Headers of a part, and its bytes. */
static void write_part(struct buf *b, const char *type, struct blob bytes)
{
	const char *p = bytes.p;

	buf_addf(b,
		 "Content-Type: %s\r\n"
		 "Content-Transfer-Encoding: base64\r\n\r\n",
		 type);
	for (size_t i = 0; i < bytes.n; i += LINE_BYTES) {
		base64_add(b, p + i,
			   bytes.n - i < LINE_BYTES ? bytes.n - i : LINE_BYTES);
		buf_adds(b, "\r\n");
	}
}

/* Words from outside in a header: what could end it is replaced. */
static const char *safe(struct arena *a, const char *text)
{
	char *out = arena_text(a, text);

	for (char *p = out; *p; p++)
		if (*p < 32 || *p > 126 || *p == '"' || *p == '\\')
			*p = '_';
	return out;
}

static int write_file(struct sql *db, const struct media_use_row *m,
		      const char *boundary, struct buf *b, struct err *e)
{
	struct media_bytes_row row;
	struct arena a = {0};
	int found = sql_get(db, Q_MEDIA_BYTES,
			    &(struct media_bytes_in){m->media}, &row, &a, e);

	if (found == 1) {
		buf_addf(b,
			 "--%s\r\nContent-Disposition: attachment; "
			 "filename=\"%s\"\r\n",
			 boundary, safe(&a, m->name));
		write_part(b, safe(&a, m->mime), row.bytes);
	}
	arena_fini(&a);
	return found == 0  ? err_set(e, ERR_NOTFOUND, "attachment %s is gone",
				     m->media)
	       : found < 0 ? -1
			   : 0;
}

/* The text alone, or with attachments as a message of several parts. */
static int write_parts(struct sql *db, const struct parcel *p, const char *text,
		       struct buf *b, struct err *e)
{
	static const char plain[] = "text/plain; charset=utf-8";
	struct blob words = {text, strlen(text)};
	const char *id = p->row.id;
	struct media_use_row *rows;
	struct arena a = {0};
	int n = sql_collect(db, Q_MEDIA_USE_LIST,
			    &(struct media_use_list_in){id}, 1000, &rows, &a,
			    e);
	int rc = n < 0 ? -1 : 0;

	if (n > 0)
		buf_addf(b,
			 "Content-Type: multipart/mixed; boundary=\"%s\""
			 "\r\n\r\n--%s\r\n",
			 id, id);
	write_part(b, plain, words);
	for (int i = 0; i < n && rc == 0; i++)
		rc = write_file(db, &rows[i], id, b, e);
	if (n > 0)
		buf_addf(b, "--%s--\r\n", id);
	arena_fini(&a);
	return rc;
}

static int write_mail(const struct channel *c, const struct parcel *p,
		      const char *to, struct buf *b, struct err *e)
{
	cJSON *body = json_parse("body", p->row.body, strlen(p->row.body), e);
	time_t now = (time_t)(clock_now() / 1000);
	struct tm tm;
	char date[64];
	int rc;

	if (!body)
		return -1;
	gmtime_r(&now, &tm);
	strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S +0000", &tm);
	header(b, "Date", date);
	header(b, "From", c->config.from);
	header(b, "To", to);
	header(b, "Subject", json_text(body, "subject", c->config.subject));
	buf_addf(b, "Message-ID: <%s@skep>\r\n", p->row.id);
	if (p->row.reply_to)
		header(b, "In-Reply-To", p->row.reply_to);
	buf_adds(b, "MIME-Version: 1.0\r\n");
	rc = write_parts(c->sup->db, p, json_text(body, "text", ""), b, e);
	cJSON_Delete(body);
	return rc ? -1 : buf_ok(b, "the mail", e);
}

/* --- sending ---------------------------------------------------------- */

static void mail_free(struct mail *m)
{
	curl_slist_free_all(m->to);
	curl_easy_cleanup(m->transfer.easy);
	buf_fini(&m->text);
	free(m);
}

static void take_busy(struct mailer *k, const struct mail *m)
{
	struct mail **at = &k->busy;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
}

/* 4yz is for later, 5yz for ever; without an answer after the text, who knows. */
static struct outcome outcome(const struct mail *m, CURLcode code)
{
	long status = 0;

	curl_easy_getinfo(m->transfer.easy, CURLINFO_RESPONSE_CODE, &status);
	if (code == CURLE_OK)
		return outcome_of(DELIVERY_EV_ACK, status, -1, "%s", "");
	if (status >= 500)
		return outcome_of(DELIVERY_EV_REFUSE, status, -1, "%s",
				  curl_easy_strerror(code));
	if (m->sent == m->text.n && status < 400)
		return outcome_of(DELIVERY_EV_LOSE, OPT_NONE, -1, "%s",
				  curl_easy_strerror(code));
	return outcome_of(DELIVERY_EV_FAIL, status ? status : OPT_NONE, -1,
			  "%s", curl_easy_strerror(code));
}

static void on_done(struct transfer *t, CURLcode code)
{
	struct mail *m = (struct mail *)t;
	struct outcome o = outcome(m, code);

	if (m->channel) {
		take_busy(m->channel->own, m);
		parcel_done(m->parcel, &o);
	}
	mail_free(m);
}

static int start(struct mail *m, const char *to, struct err *e)
{
	const struct channel_config *c = &m->channel->config;
	const struct mailer *k = m->channel->own;

	CURL *easy = m->transfer.easy;

	if (write_mail(m->channel, m->parcel, to, &m->text, e))
		return -1;
	m->to = curl_slist_append(NULL, to);
	curl_easy_setopt(easy, CURLOPT_URL, c->server);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
	curl_easy_setopt(easy, CURLOPT_MAIL_FROM, c->from);
	curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, m->to);
	curl_easy_setopt(easy, CURLOPT_UPLOAD, 1L);
	curl_easy_setopt(easy, CURLOPT_READFUNCTION, give);
	curl_easy_setopt(easy, CURLOPT_READDATA, m);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)c->timeout);
	/* One that STARTTLS made safe is used again without a look at whom
	 * this channel trusts. */
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	if (c->user[0]) {
		curl_easy_setopt(easy, CURLOPT_USERNAME, c->user);
		curl_easy_setopt(easy, CURLOPT_PASSWORD, k->password.p);
		curl_easy_setopt(easy, CURLOPT_USE_SSL, (long)CURLUSESSL_ALL);
	}
	if (c->ca_file[0])
		curl_easy_setopt(easy, CURLOPT_CAINFO, c->ca_file);
	m->transfer.done = on_done;
	return curl_loop_start(m->channel->sup->channels->curl, &m->transfer,
			       e);
}

static void mail_send(struct channel *c, struct parcel *p)
{
	const char *to = p->row.peer ? p->row.peer : c->config.to;
	struct mailer *k = c->own;
	struct mail *m = calloc(1, sizeof *m);
	struct outcome o;
	struct err e;

	if (!m || !(m->transfer.easy = curl_easy_init()))
		abort();
	m->channel = c;
	m->parcel = p;
	buf_init(&m->text, MAIL_MAX);
	if (!strchr(to, '@'))
		err_set(&e, ERR_INVALID, "'%s' is no address", to);
	else if (start(m, to, &e) == 0) {
		m->next = k->busy;
		k->busy = m;
		return;
	}
	mail_free(m);
	o = outcome_of(DELIVERY_EV_REFUSE, OPT_NONE, -1, "%s", e.text);
	parcel_done(p, &o);
}

/* --- life ------------------------------------------------------------- */

static int mail_open(struct channel *c, struct err *e)
{
	struct mailer *k = calloc(1, sizeof *k);

	if (!k)
		abort();
	buf_init(&k->password, 4096);
	if (c->config.password_file[0] &&
	    channel_secret(c->sup, c->config.password_file, &k->password, e)) {
		free(k);
		return -1;
	}
	c->own = k;
	return 0;
}

static void mail_close(struct channel *c)
{
	struct mailer *k = c->own;

	while (k->busy) {
		struct mail *m = k->busy;
		struct outcome o = outcome_of(
			m->sent ? DELIVERY_EV_LOSE : DELIVERY_EV_FAIL, OPT_NONE,
			-1, "the channel was closed");

		take_busy(k, m);
		m->channel = NULL;
		curl_loop_drop(c->sup->channels->curl, &m->transfer);
		parcel_done(m->parcel, &o);
	}
	buf_fini(&k->password);
	free(k);
}

static bool mail_ready(const struct channel *c)
{
	(void)c;
	return true;
}

const struct channel_ops channel_smtp = {
	.kind = "smtp",
	.open = mail_open,
	.close = mail_close,
	.ready = mail_ready,
	.send = mail_send,
};
