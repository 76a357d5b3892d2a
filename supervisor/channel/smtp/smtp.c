/*
 * smtp: each message is a mail, sent with libcurl. The conversation is the
 * address. A mail that was sent and not acknowledged stays `unknown`: SMTP has
 * no way to query it, and most servers would deliver a repeated mail twice.
 */
#include "supervisor/channel/delivery.h"
#include "supervisor/channel/internal.h"

#include "lib/base/clock.h"
#include "lib/http/curl_loop.h"
#include "lib/json/json.h"
#include "supervisor/channel/secret_file.h"
#include "supervisor/channel/smtp/message.h"

#include <openssl/crypto.h>
#include <stdlib.h>
#include <string.h>

#define FILES_MAX (48u << 20) /* 64 MiB in base64 */
#define ANSWER_MAX \
	160 /* bytes of a response of the server, for
				  * users */
#define PASSWORD_MAX 4096

/* A mail in flight belongs to libcurl's thread and may outlive its channel. */
struct mail {
	/* first, since a transfer is cast to its mail */
	struct transfer transfer;
	struct mail *next;
	struct channel *channel; /* NULL: the channel was closed */
	struct inflight *delivery;
	struct supervisor *sup;
	struct inflight
		/* copy of the delivery, after the channel was closed */
		*after_close;
	struct curl_slist *to, *headers;
	curl_mime *mime;
	char answer[ANSWER_MAX]; /* last error response of the server */
	char error[CURL_ERROR_SIZE];
};

struct mailer {
	struct mail_address from;
	struct secret_file password; /* path NULL: none */
	struct mail *busy;
};

/* --- in the thread ---------------------------------------------------- */

/* Receives a line of the server. */
static size_t on_line(char *line, size_t size, size_t n, void *arg)
{
	struct mail *m = arg;
	size_t keep = n * size;

	if (keep > 0 && (line[0] == '4' || line[0] == '5')) {
		while (keep > 0 && (unsigned char)line[keep - 1] <= 32)
			keep--;
		snprintf(m->answer, sizeof m->answer, "%.*s", (int)keep, line);
	}
	return n * size;
}

/* --- the mail --------------------------------------------------------- */

static int add_attachment(struct sql *db, const struct media_use_row *m,
			  curl_mime *mime, size_t *size, struct err *e)
{
	struct media_bytes_row row;
	struct arena a = {0};
	int found = sql_get(db, Q_MEDIA_BYTES,
			    &(struct media_bytes_in){m->media}, &row, &a, e);

	if (found == 1) {
		mail_add_file(mime, m->name, m->mime, row.bytes);
		*size += row.bytes.n;
	}
	arena_fini(&a);
	return found == 0  ? err_set(e, ERR_NOTFOUND, "attachment %s is gone",
				     m->media)
	       : found < 0 ? -1
			   : 0;
}

static int add_attachments(struct sql *db, const char *id, curl_mime *mime,
			   struct err *e)
{
	struct media_use_row *rows;
	struct arena a = {0};
	int n = sql_collect(db, Q_MEDIA_USE_LIST,
			    &(struct media_use_list_in){id}, 1000, &rows, &a,
			    e);
	int rc = n < 0 ? -1 : 0;
	size_t size = 0;

	for (int i = 0; i < n && rc == 0; i++) {
		rc = add_attachment(db, &rows[i], mime, &size, e);
		if (rc == 0 && size > FILES_MAX)
			rc = err_set(e, ERR_TOOBIG,
				     "the attachments are larger than %u MiB "
				     "in total",
				     FILES_MAX >> 20);
	}
	arena_fini(&a);
	return rc;
}

static int write_mail(struct mail *m, const struct mail_address *to,
		      struct err *e)
{
	const struct channel *c = m->channel;
	const struct inflight *p = m->delivery;
	cJSON *body = json_parse("body", p->row.body, strlen(p->row.body), e);
	struct mail_head head = {
		.from = ((struct mailer *)c->own)->from,
		.to = *to,
		.id = p->row.id,
		.reply_to = p->row.reply_to,
		.at = clock_now(),
	};
	int rc;

	if (!body)
		return -1;
	head.subject = json_text(body, "subject", c->config.subject);
	m->mime = curl_mime_init(m->transfer.easy);
	if (!m->mime)
		abort();
	m->headers = mail_headers(&head);
	mail_add_text(m->mime, json_text(body, "text", ""));
	rc = add_attachments(c->sup->db, p->row.id, m->mime, e);
	cJSON_Delete(body);
	return rc;
}

/* --- sending ---------------------------------------------------------- */

static void mail_free(struct mail *m)
{
	curl_slist_free_all(m->to);
	curl_slist_free_all(m->headers);
	curl_easy_cleanup(m->transfer.easy);
	curl_mime_free(m->mime);
	free(m);
}

static void unlink_busy(struct mailer *k, const struct mail *m)
{
	struct mail **at = &k->busy;

	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
}

/* Was the whole mail sent, possibly without its end? */
static bool is_sent(const struct mail *m)
{
	curl_off_t sent = 0, size = -1;

	curl_easy_getinfo(m->transfer.easy, CURLINFO_SIZE_UPLOAD_T, &sent);
	curl_easy_getinfo(m->transfer.easy, CURLINFO_CONTENT_LENGTH_UPLOAD_T,
			  &size);
	return size >= 0 && sent >= size;
}

/* 4yz is a temporary failure, 5yz a permanent one. Without a response after
 * the text the outcome is unknown. A failed login is temporary: a user may
 * fix it. */
static struct outcome outcome(const struct mail *m, CURLcode code)
{
	enum delivery_event event = DELIVERY_EV_FAIL;
	const char *why = m->answer[0]  ? m->answer
			  : m->error[0] ? m->error
					: curl_easy_strerror(code);
	long status = 0;

	curl_easy_getinfo(m->transfer.easy, CURLINFO_RESPONSE_CODE, &status);
	if (code == CURLE_OK)
		return outcome_of(DELIVERY_EV_ACK, status, -1, "%s", "");
	if (code == CURLE_LOGIN_DENIED)
		return outcome_of(event, status, -1, "login: %s", why);
	if (status >= 500)
		event = DELIVERY_EV_REFUSE;
	else if (is_sent(m) && status < 400)
		event = DELIVERY_EV_LOSE;
	return outcome_of(event, status >= 400 ? status : OPT_NONE, -1, "%s",
			  why);
}

/* The channel was closed, and the delivery is unknown. The result of libcurl
 * shows whether it can be sent again. */
static void record_late_outcome(struct mail *m, const struct outcome *o,
				CURLcode code)
{
	struct inflight *p = m->after_close;

	p->out = *o;
	if (code == CURLE_ABORTED_BY_CALLBACK && o->event == DELIVERY_EV_FAIL)
		p->out = outcome_of(DELIVERY_EV_FAIL, OPT_NONE, -1,
				    "the channel was closed before it left");
	/* the next attempt will be refused too */
	if (o->event == DELIVERY_EV_REFUSE)
		p->out.event = DELIVERY_EV_FAIL;
	inflight_record_outcome(m->sup, p);
}

static void on_done(struct transfer *t, CURLcode code)
{
	struct mail *m = (struct mail *)t;
	struct outcome o = outcome(m, code);

	if (m->channel) {
		unlink_busy(m->channel->own, m);
		inflight_done(m->delivery, &o);
	} else {
		record_late_outcome(m, &o, code);
	}
	mail_free(m);
}

/* The password is read for every mail, since it may have changed. */
static int log_in(struct mail *m, struct err *e)
{
	struct mailer *k = m->channel->own;
	struct buf password = BUF_MAX(PASSWORD_MAX);
	CURL *easy = m->transfer.easy;
	int rc = 0;

	if (k->password.path)
		rc = secret_file_read(&k->password, &password, e);
	if (rc == 0) {
		curl_easy_setopt(easy, CURLOPT_USERNAME,
				 m->channel->config.user);
		curl_easy_setopt(easy, CURLOPT_PASSWORD,
				 password.p ? password.p : "");
	}
	if (password.p)
		OPENSSL_cleanse(password.p, password.n);
	buf_fini(&password);
	return rc;
}

static int start_transfer(struct mail *m, struct err *e)
{
	const struct channel_config *c = &m->channel->config;
	const struct mailer *k = m->channel->own;
	CURL *easy = m->transfer.easy;

	if (c->user[0] && log_in(m, e))
		return -1;
	curl_easy_setopt(easy, CURLOPT_URL, c->server);
	curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
	/* not that of the environment */
	curl_easy_setopt(easy, CURLOPT_PROXY, "");
	curl_easy_setopt(easy, CURLOPT_MAIL_FROM, k->from.address);
	curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, m->to);
	curl_easy_setopt(easy, CURLOPT_HTTPHEADER, m->headers);
	curl_easy_setopt(easy, CURLOPT_MIMEPOST, m->mime);
	curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_line);
	curl_easy_setopt(easy, CURLOPT_HEADERDATA, m);
	curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, m->error);
	curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)c->timeout);
	/* libcurl would reuse a connection with STARTTLS without checking the
	 * CA of this channel. */
	curl_easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	if (c->user[0] || !strcmp(c->tls, "required"))
		curl_easy_setopt(easy, CURLOPT_USE_SSL, (long)CURLUSESSL_ALL);
	if (c->ca_file[0])
		curl_easy_setopt(easy, CURLOPT_CAINFO, c->ca_file);
	m->transfer.done = on_done;
	m->transfer.alone = true;
	return curl_loop_start(m->channel->sup->channels->mail, &m->transfer,
			       e);
}

/* Returns ACK if the transfer started, REFUSE if the message is invalid, else
 * FAIL. */
static enum delivery_event build_and_start(struct mail *m, struct err *e)
{
	const struct inflight *p = m->delivery;
	const char *text = p->row.peer ? p->row.peer : m->channel->config.to;
	enum delivery_event event = DELIVERY_EV_REFUSE;
	struct mail_address to;
	struct arena a = {0};

	if (!text[0])
		err_set(e, ERR_INVALID,
			"the receiver is missing: the message has no "
			"conversation, and the channel has no "
			"setting 'to'");
	else if (mail_address_read(&to, "the conversation", text, &a, e) == 0 &&
		 write_mail(m, &to, e) == 0) {
		m->to = curl_slist_append(NULL, to.address);
		event = start_transfer(m, e) ? DELIVERY_EV_FAIL
					     : DELIVERY_EV_ACK;
	}
	arena_fini(&a);
	return event;
}

static void mail_send(struct channel *c, struct inflight *p)
{
	struct mailer *k = c->own;
	struct mail *m = calloc(1, sizeof *m);
	enum delivery_event event;
	struct outcome o;
	struct err e;

	if (!m || !(m->transfer.easy = curl_easy_init()))
		abort();
	m->channel = c;
	m->sup = c->sup;
	m->delivery = p;
	event = build_and_start(m, &e);
	if (event == DELIVERY_EV_ACK) {
		m->next = k->busy;
		k->busy = m;
		return;
	}
	mail_free(m);
	o = outcome_of(event, OPT_NONE, -1, "%s", e.text);
	inflight_done(p, &o);
}

/* --- opening and closing -------------------------------------------------- */

static int open_password(struct channel *c, struct mailer *k, struct err *e)
{
	struct home_path path = home_join(&c->sup->home, HOME_CREDENTIALS,
					  c->config.password_file);
	struct buf text = BUF_MAX(PASSWORD_MAX);
	int rc;

	k->password.path = arena_text(&c->arena, path.text);
	rc = secret_file_read(&k->password, &text, e);
	if (text.p)
		OPENSSL_cleanse(text.p, text.n);
	buf_fini(&text);
	return rc ? err_wrap(e,
			     "put the password into its file, then 'skep "
			     "channel enable %s'",
			     c->name)
		  : 0;
}

static int mail_open(struct channel *c, struct err *e)
{
	struct mailer *k = calloc(1, sizeof *k);

	if (!k)
		abort();
	if (mail_address_read(&k->from, "from", c->config.from, &c->arena, e) ||
	    (c->config.password_file[0] && open_password(c, k, e))) {
		free(k);
		return -1;
	}
	c->own = k;
	return 0;
}

/* A copy of the delivery in the state unknown. */
static struct inflight *copy_of(struct channel *c, const struct inflight *p)
{
	struct delivery_claim_row row = p->row;
	struct inflight *copy;

	row.body = NULL;
	row.attempts++; /* counts this attempt */
	copy = inflight_new(c, &row);
	copy->asking = true;
	copy->channel = NULL;
	return copy;
}

/* Mails in flight become unknown until libcurl reports their result. */
static void mail_close(struct channel *c)
{
	struct outcome o = outcome_of(DELIVERY_EV_LOSE, OPT_NONE, -1,
				      "the channel was closed");
	struct mailer *k = c->own;

	while (k->busy) {
		struct mail *m = k->busy;

		unlink_busy(k, m);
		m->channel = NULL;
		m->after_close = copy_of(c, m->delivery);
		curl_loop_drop(c->sup->channels->mail, &m->transfer);
		inflight_done(m->delivery, &o);
	}
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
