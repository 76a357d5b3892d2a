#ifndef WORKER_DRIVER_CHAT_MEDIA_H
#define WORKER_DRIVER_CHAT_MEDIA_H

#include "lib/base/buf.h"
#include "worker/run/run.h"

/*
 * Attachments of a message, for the chat driver. Pictures, PDF documents and
 * sound are included in the request if the API has parts for them. The tools
 * that read files may read every attachment that the run's prompt names.
 */
enum chat_media_kind {
	CHAT_MEDIA_PICTURE,
	CHAT_MEDIA_DOCUMENT,
	CHAT_MEDIA_AUDIO,
	CHAT_MEDIA_KINDS
};

/* In one request; base64 makes them a third larger. */
#define CHAT_MEDIA_ROOM (40u << 20)

#define CHAT_MEDIA_BIT(kind) (1u << (kind))
#define CHAT_MEDIA_ALL       (CHAT_MEDIA_BIT(CHAT_MEDIA_KINDS) - 1)

/* As in "the model takes no …". */
const char *chat_media_name(enum chat_media_kind kind);

/* The kinds that an error message of the server is about, of those that were
 * sent. */
unsigned chat_media_blamed(unsigned sent, const char *why);

struct chat_media_parts {
	struct buf parts; /* of the content of a message, each preceded by a
			   * comma */
	struct buf notes; /* for the model: what is missing, and why */
	unsigned sent;    /* bits of the kinds */
	size_t room;      /* bytes of files that may still be sent */
};

/* Adds the attachments that the text names, of the allowed kinds. The caller
 * owns the buffers of `to`. */
void chat_media_add(struct run *r, const char *text, bool responses,
		    unsigned allowed, struct chat_media_parts *to);

/* Returns 1 if it is an attachment of this run, with its text in out; 0 if it
 * is not; -1 if it cannot be read or is not text. */
int chat_media_read(struct run *r, const char *path, struct buf *out,
		    struct err *e);

#endif
