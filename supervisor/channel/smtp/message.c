#include "supervisor/channel/smtp/message.h"

#include "lib/base/text.h"
#include "lib/json/base64.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define LINE_CHARS       76
#define ENCODED_OVERHEAD 12 /* =?utf-8?B??= */
#define TYPE_MAX         120
#define FILE_BYTES       250 /* of a name: a line of less than 998 characters */
#define OCTETS           "application/octet-stream"
#define HEADER_MAX       (2u << 20)

/* --- headers ---------------------------------------------------------- */

/* Can the text be written literally, on a line that has `before` characters
 * already? */
static bool is_plain(const char *value, size_t before)
{
	size_t n = strlen(value);

	for (size_t i = 0; i < n; i++)
		if (value[i] < 32 || value[i] > 126)
			return false;
	return before + n <= LINE_CHARS && !strstr(value, "=?");
}

/* The number of bytes of whole characters that fit into `room`. */
static size_t whole_chars(const char *p, size_t n, size_t room)
{
	size_t used = 0, size;

	while (used < n && (size = text_utf8_char(p + used, n - used)) > 0 &&
	       used + size <= room)
		used += size;
	return used ? used : n < room ? n : room;
}

/* Writes encoded words of RFC 2047, each but the first on its own line, so none
 * has more than 75 characters. */
static void add_encoded(struct buf *b, const char *value, size_t before)
{
	size_t n = strlen(value);

	for (size_t i = 0; i < n;) {
		size_t room = (LINE_CHARS - before - ENCODED_OVERHEAD) / 4 * 3;
		size_t take = whole_chars(value + i, n - i, room);

		buf_adds(b, i ? "\r\n =?utf-8?B?" : "=?utf-8?B?");
		base64_add(b, value + i, take);
		buf_adds(b, "?=");
		i += take;
		before = 1;
	}
}

/* A control character becomes a space: a line break would start a header. */
static void add_unstructured(struct buf *b, const char *value, size_t before)
{
	struct buf clean = BUF_MAX(strlen(value) + 2);

	for (const char *p = value; *p; p++)
		buf_addc(&clean,
			 (unsigned char)*p < 32 || *p == 127 ? ' ' : *p);
	if (clean.n && is_plain(clean.p, before))
		buf_adds(b, clean.p);
	else if (clean.n)
		add_encoded(b, clean.p, before);
	buf_fini(&clean);
}

static void add_header(struct buf *b, const char *name, const char *value)
{
	buf_addf(b, "%s: ", name);
	add_unstructured(b, value, strlen(name) + 2);
}

/* An address that is not ASCII is written literally: a server that accepts it
 * (SMTPUTF8) accepts such headers too. */
static void add_address(struct buf *b, const char *name,
			const struct mail_address *m)
{
	size_t before = b->n;
	bool fits;

	buf_addf(b, "%s: ", name);
	if (!m->name[0]) {
		buf_adds(b, m->address);
		return;
	}
	if (is_plain(m->name, strlen(name) + 4) && !strpbrk(m->name, "\"\\"))
		buf_addf(b, "\"%s\"", m->name);
	else
		add_encoded(b, m->name, strlen(name) + 2);
	/* on its own line only if necessary */
	fits = b->n - before + strlen(m->address) + 3 <= LINE_CHARS;
	buf_addf(b, "%s <%s>", fits ? "" : "\r\n", m->address);
}

static bool is_message_id(const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		if (text[i] <= 32 || text[i] > 126)
			return false;
	return n > 4 && n < 250 && text[0] == '<' && strchr(text, '@') &&
	       strcspn(text + 1, "<>") == n - 2 && text[n - 1] == '>';
}

/* Empties b into the list. */
static void end_header(struct curl_slist **list, struct buf *b)
{
	struct curl_slist *longer = curl_slist_append(*list, b->p);

	if (!longer)
		abort();
	*list = longer;
	buf_clear(b);
}

struct curl_slist *mail_headers(const struct mail_head *h)
{
	time_t at = (time_t)(h->at / 1000);
	bool answers = h->reply_to && is_message_id(h->reply_to);
	struct curl_slist *list = NULL;
	struct buf b = BUF_MAX(HEADER_MAX);
	char date[64];
	struct tm tm;

	gmtime_r(&at, &tm);
	strftime(date, sizeof date, "%a, %d %b %Y %H:%M:%S +0000", &tm);
	add_header(&b, "Date", date);
	end_header(&list, &b);
	add_address(&b, "From", &h->from);
	end_header(&list, &b);
	add_address(&b, "To", &h->to);
	end_header(&list, &b);
	add_header(&b, "Subject", h->subject);
	end_header(&list, &b);
	buf_addf(&b, "Message-ID: <%s@%s>", h->id, h->from.domain);
	end_header(&list, &b);
	if (answers) {
		buf_addf(&b, "In-Reply-To: %s", h->reply_to);
		end_header(&list, &b);
		buf_addf(&b, "References: %s", h->reply_to);
		end_header(&list, &b);
	}
	/* RFC 3834: suppresses automatic replies */
	buf_addf(&b, "Auto-Submitted: auto-%s",
		 answers ? "replied" : "generated");
	end_header(&list, &b);
	buf_fini(&b);
	return list;
}

/* --- parts ------------------------------------------------------------ */

static void add_part(curl_mime *mime, struct blob bytes, const char *type,
		     struct curl_slist *headers)
{
	curl_mimepart *part = curl_mime_addpart(mime);

	if (!part || curl_mime_data(part, bytes.n ? bytes.p : "", bytes.n) ||
	    curl_mime_type(part, type) || curl_mime_encoder(part, "base64") ||
	    curl_mime_headers(part, headers, true))
		abort();
}

/* Lines of text end with CR LF before they are encoded (RFC 2045). */
void mail_add_text(curl_mime *mime, const char *text)
{
	struct buf lines = BUF_MAX(2 * strlen(text) + 2);

	for (const char *p = text; *p; p++) {
		if (*p == '\n' && (p == text || p[-1] != '\r'))
			buf_addc(&lines, '\r');
		buf_addc(&lines, *p);
	}
	add_part(mime, (struct blob){lines.p, lines.n},
		 "text/plain; charset=utf-8", NULL);
	buf_fini(&lines);
}

static bool is_token(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)p[i]) && !strchr("!#$&^_.+-", p[i]))
			return false;
	return n > 0;
}

/* TYPE/SUBTYPE, possibly with parameters. An embedded mail must not be in
 * base64, and a part must not contain further parts. */
const char *mail_file_type(const char *type)
{
	size_t n = strcspn(type, "/"), end = strcspn(type, "; ");

	if (!type[n] || end < n || !is_token(type, n) ||
	    !is_token(type + n + 1, end - n - 1) ||
	    !strncasecmp(type, "multipart/", 10) ||
	    !strncasecmp(type, "message/", 8) || strlen(type) > TYPE_MAX)
		return OCTETS;
	for (const char *p = type; *p; p++)
		if (*p < 32 || *p > 126)
			return OCTETS;
	return type;
}

/* Writes it in quotes, or encoded as in RFC 2231. */
static void add_name(struct buf *b, const char *name)
{
	size_t n = whole_chars(name, strlen(name), FILE_BYTES);

	if (is_plain(name, sizeof " filename=\"\"") && !strpbrk(name, "\"\\")) {
		buf_addf(b, "\r\n filename=\"%s\"", name);
		return;
	}
	buf_adds(b, "\r\n filename*=utf-8''");
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)name[i] < 32)
			buf_addc(b, '_');
		else if (isalnum((unsigned char)name[i]) ||
			 strchr("._-", name[i]))
			buf_addc(b, name[i]);
		else
			buf_addf(b, "%%%02X", (unsigned char)name[i]);
}

void mail_add_disposition(struct buf *b, const char *name)
{
	buf_adds(b, "Content-Disposition: attachment;");
	add_name(b, name && name[0] ? name : "attachment");
}

void mail_add_file(curl_mime *mime, const char *name, const char *type,
		   struct blob bytes)
{
	struct curl_slist *headers = NULL;
	struct buf b = BUF_MAX(HEADER_MAX);

	mail_add_disposition(&b, name);
	end_header(&headers, &b);
	add_part(mime, bytes, mail_file_type(type), headers);
	buf_fini(&b);
}
