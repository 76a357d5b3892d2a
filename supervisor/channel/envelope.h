#ifndef SUPERVISOR_CHANNEL_ENVELOPE_H
#define SUPERVISOR_CHANNEL_ENVELOPE_H

#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "supervisor/channel/delivery.h"

/*
 * Messages as the outside sees them: pure functions over JSON. Inside, a message
 * is a small object {"text", "attachments", …}. Outside it is either that with
 * an address around it, or Hiro's envelope (UnifiedMessage 0.1): plugins speak
 * the envelope, webhooks may.
 */

/* One message that came in, before it is a row. Texts point into the JSON that
 * it was read from. */
struct inbound_message {
	const char *external_id; /* the platform's; NULL: it has none */
	const char *peer;        /* conversation */
	const char *sender;
	const char *kind;  /* direct, group */
	const char *title; /* of the conversation, or NULL */
	const char *type;  /* message, event, request */
	const char *agent; /* who shall answer, or NULL */
	const char *session;
	const char *request; /* id of a request, or NULL */
	cJSON *body;         /* {"text", …}; to be freed */
};

/* Reads an envelope or a plain message. ERR_INVALID says what is wrong. */
int inbound_message_read(struct inbound_message *out, const cJSON *json,
			 struct err *e);
void inbound_message_fini(struct inbound_message *m);

/* Whoever may start runs names agent and session; a platform or a plugin, whose
 * messages anybody wrote, does not: ERR_INVALID. */
int inbound_message_from_outside(const struct inbound_message *m,
				 struct err *e);

/* Is it a whole, valid envelope? */
int envelope_check(const cJSON *json, struct err *e);

/* What is known of a delivery: {"id", "channel", "conversation", …, "text"}.
 * With `inline_media` the bytes of attachments are in it. */
int envelope_write_data(const struct inflight *p, bool inline_media,
			struct buf *out, struct err *e);

/* The same as an envelope; large attachments are paths of files. */
int envelope_write(const struct inflight *p, struct buf *out, struct err *e);

#endif
