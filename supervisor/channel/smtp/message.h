#ifndef SUPERVISOR_CHANNEL_SMTP_MESSAGE_H
#define SUPERVISOR_CHANNEL_SMTP_MESSAGE_H

#include "lib/base/buf.h"
#include "lib/base/shape.h"
#include "schema/control/channel/mail_address.h"

#include <stdint.h>

/*
 * The text of a mail (RFC 5322, MIME). Headers hold ASCII only, other words are
 * encoded (RFC 2047), in lines of at most 76 characters; whatever a value holds,
 * it cannot end its header. Bodies are base 64, so no line is too long, none
 * begins with a dot, and bytes arrive as they are.
 */
struct mail_head {
	struct mail_address from, to;
	const char *subject;
	const char *id; /* the delivery's: the same in every attempt */
	const char *
		reply_to; /* a Message-ID; anything else is left out. Or NULL */
	int64_t at;
};

/* All headers but those of the content. */
void mail_add_head(struct buf *b, const struct mail_head *h);

/* The headers of a mail of several parts; each begins with mail_add_boundary,
 * and behind the last one is another, with `last`. */
void mail_add_multipart(struct buf *b, const char *boundary);
void mail_add_boundary(struct buf *b, const char *boundary, bool last);

/* A part, or all of it. */
void mail_add_text(struct buf *b, const char *text);
void mail_add_file(struct buf *b, const char *name, const char *type,
		   struct blob bytes);

#endif
