#ifndef SUPERVISOR_CHANNEL_SMTP_MESSAGE_H
#define SUPERVISOR_CHANNEL_SMTP_MESSAGE_H

#include "lib/base/buf.h"
#include "lib/base/shape.h"
#include "schema/control/channel/mail_address.h"

#include <curl/curl.h>
#include <stdint.h>

/*
 * The text of a mail (RFC 5322, MIME). Headers contain only ASCII; other words
 * are encoded (RFC 2047), in lines of at most 76 characters. No value can end
 * its header. libcurl writes the parts (CURLOPT_MIMEPOST) in base64, so no line
 * is too long, none starts with a dot, and all bytes arrive unchanged.
 */
struct mail_head {
	struct mail_address from, to;
	const char *subject;
	const char *id; /* id of the delivery: the same in every attempt */
	const char *reply_to; /* a Message-ID, or NULL; an invalid one is left
			   * out */
	int64_t at;
};

/* All headers except those of the content. The caller frees them. */
struct curl_slist *mail_headers(const struct mail_head *h);

/* Add a part; the bytes are copied. */
void mail_add_text(curl_mime *mime, const char *text);
void mail_add_file(curl_mime *mime, const char *name, const char *type,
		   struct blob bytes);

/* The headers of a file: libcurl would write its name unencoded. */
const char *mail_file_type(const char *type); /* borrowed */
void mail_add_disposition(struct buf *b, const char *name);

#endif
