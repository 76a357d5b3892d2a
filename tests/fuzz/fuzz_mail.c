/* Whatever a message holds: its mail has the headers that we write and no other,
 * in lines that end with CR LF and are not too long, and the subject is in it as
 * it was. An address that is taken fits into a header and an SMTP
 * command, and is read from what we write as it was. */
#include "tests/support/fuzz.h"

#include "lib/base/text.h"
#include "lib/json/base64.h"
#include "supervisor/channel/smtp/message.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define LINE_MAX_998 998
#define FIELDS       5

/* --- a small reader of mails ------------------------------------------- */

struct reader {
	const char *p;
};

/* The line's length; each ends with CR LF, and neither is anywhere else. */
static size_t line(struct reader *r, const char **at)
{
	size_t n = strcspn(r->p, "\r\n");

	require(n <= LINE_MAX_998);
	require(r->p[n] == '\r' && r->p[n + 1] == '\n');
	*at = r->p;
	r->p += n + 2;
	return n;
}

/* The value of the next header, unfolded; it has this name. */
static void header(struct reader *r, const char *name, struct buf *value)
{
	const char *at;
	size_t n = line(r, &at), skip = strlen(name) + 2;

	buf_clear(value);
	require(n >= skip && !strncmp(at, name, skip - 2) &&
		at[skip - 2] == ':' && at[skip - 1] == ' ');
	buf_add(value, at + skip, n - skip);
	while (*r->p == ' ') {
		n = line(r, &at);
		buf_add(value, at, n);
	}
	buf_addc(value, '\0');
}

/* Words of RFC 2047 as they are in a value, else the value as it is. */
static void decode_words(const char *value, struct buf *out)
{
	static const char mark[] = "=?utf-8?B?";
	struct err e;

	buf_clear(out);
	if (strncmp(value, mark, sizeof mark - 1) != 0)
		buf_adds(out, value);
	while (!strncmp(value, mark, sizeof mark - 1)) {
		const char *end = strstr(value + sizeof mark - 1, "?=");
		struct buf word = BUF_MAX(256);

		require(end && end + 2 - value <= 75);
		value += sizeof mark - 1;
		require(!base64_decode(&word, value, (size_t)(end - value),
				       &e));
		buf_add(out, word.p, word.n);
		buf_fini(&word);
		value = end + 2;
		value += *value == ' ';
	}
	buf_addc(out, '\0');
}

/* --- what must hold ----------------------------------------------------- */

static const char *const field_of_nobody = "nobody@example.org";

static void check_address(const struct mail_address *m)
{
	struct arena a = {0};
	struct mail_address again;
	struct err e;

	require(strlen(m->address) <= 254 &&
		!strpbrk(m->address, " <>\r\n\t\",;"));
	require(strchr(m->address, '@') == m->domain - 1 && m->domain[0]);
	for (const char *p = m->name; *p; p++)
		require((unsigned char)*p >= 32 && *p != 127);
	require(!mail_address_read(
		&again, "to", arena_printf(&a, "%s <%s>", m->name, m->address),
		&a, &e));
	require(!strcmp(again.name, m->name) &&
		!strcmp(again.address, m->address));
	arena_fini(&a);
}

/* "NAME" <ADDRESS>, or the name in words, or the address alone. */
static void check_named(const char *value, const struct mail_address *m)
{
	struct arena a = {0};
	struct buf name = BUF_MAX(4096);
	size_t n = strlen(value), tail = strlen(m->address) + 3;

	if (!m->name[0]) {
		require(!strcmp(value, m->address));
		buf_fini(&name);
		return;
	}
	require(n > tail && !strcmp(value + n - tail,
				    arena_printf(&a, " <%s>", m->address)));
	decode_words(arena_textn(&a, value, n - tail), &name);
	require(!strcmp(name.p, m->name) ||
		!strcmp(name.p, arena_printf(&a, "\"%s\"", m->name)));
	buf_fini(&name);
	arena_fini(&a);
}

/* Control characters are worth a space in a header. */
static const char *blank_controls(const char *text, struct arena *a)
{
	char *out = arena_text(a, text);

	for (char *p = out; *p; p++)
		if ((unsigned char)*p < 32 || *p == 127)
			*p = ' ';
	return out;
}

static void check_head(struct reader *r, const struct mail_head *h)
{
	struct buf value = BUF_MAX(1 << 20), words = BUF_MAX(1 << 20);
	struct arena a = {0};

	header(r, "Date", &value);
	header(r, "From", &value);
	check_named(value.p, &h->from);
	header(r, "To", &value);
	check_named(value.p, &h->to);
	header(r, "Subject", &value);
	decode_words(value.p, &words);
	require(!strcmp(words.p, blank_controls(h->subject, &a)));
	header(r, "Message-ID", &value);
	if (!strncmp(r->p, "In-Reply-To", 11)) {
		header(r, "In-Reply-To", &value);
		require(!strcmp(value.p, h->reply_to));
		header(r, "References", &value);
	}
	header(r, "Auto-Submitted", &value);
	arena_fini(&a);
	buf_fini(&value);
	buf_fini(&words);
}

/* --- the mail ------------------------------------------------------------ */

static void write_and_read(const struct mail_head *h, const char *name,
			   const char *type)
{
	struct buf mail = BUF_MAX(1 << 25), value = BUF_MAX(1 << 20);
	struct curl_slist *headers = mail_headers(h);
	struct reader r;

	for (const struct curl_slist *at = headers; at; at = at->next)
		buf_addf(&mail, "%s\r\n", at->data);
	mail_add_disposition(&mail, name);
	buf_addf(&mail, "\r\nContent-Type: %s\r\n", mail_file_type(type));
	require(!mail.over && strlen(mail.p) == mail.n);
	r.p = mail.p;
	check_head(&r, h);
	header(&r, "Content-Disposition", &value);
	require(!strncmp(value.p, "attachment; filename", 20));
	header(&r, "Content-Type", &value);
	require(strchr(value.p, '/') &&
		strncmp(value.p, "multipart/", 10) != 0);
	require(!*r.p);
	curl_slist_free_all(headers);
	buf_fini(&value);
	buf_fini(&mail);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Fields with a NUL behind each: address, subject, what it answers, name and
 * type of a file. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = {0};
	struct mail_head h = {.id = "dlv_fuzz", .at = 1};
	char *f[FIELDS];
	size_t used = 0;
	struct err e;

	for (int i = 0; i < FIELDS; i++) {
		size_t n = strnlen((const char *)data + used, size - used);

		f[i] = arena_textn(&a, (const char *)data + used, n);
		used += n + (used + n < size);
	}
	require(!mail_address_read(&h.from, "from", field_of_nobody, &a, &e));
	if (mail_address_read(&h.to, "to", f[0], &a, &e))
		h.to = h.from;
	check_address(&h.to);
	h.subject = f[1];
	h.reply_to = f[2];
	write_and_read(&h, f[3], f[4]);
	arena_fini(&a);
	return 0;
}
