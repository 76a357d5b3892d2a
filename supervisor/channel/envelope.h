#ifndef SUPERVISOR_CHANNEL_ENVELOPE_H
#define SUPERVISOR_CHANNEL_ENVELOPE_H

#include "lib/base/arena.h"
#include "lib/json/json.h"
#include "supervisor/channel/delivery.h"

/*
 * The external format of messages: functions over JSON. Internally a message is
 * a small object {"text", "attachments", …}. Externally it is either this
 * object with an address, or Hiro's envelope (UnifiedMessage 0.1). Plugins use
 * the envelope, webhooks may.
 */

/* An inbound message before it is a row. Texts are borrowed from the JSON that
 * it was read from. */
struct inbound_message {
	const char *external_id; /* id on the platform, or NULL */
	const char *peer;        /* conversation */
	const char *sender;
	const char *kind;  /* direct, group */
	const char *title; /* of the conversation, or NULL */
	const char *type;  /* message, event, request */
	const char *agent; /* agent that is to answer, or NULL */
	const char *session;
	const char *request; /* id of a request, or NULL */
	cJSON *body;         /* {"text", …}; owned */
};

/* Reads an envelope or a plain message. ERR_INVALID names the invalid
 * member. */
int inbound_message_read(struct inbound_message *out, const cJSON *json,
			 struct err *e);
void inbound_message_fini(struct inbound_message *m);

/* ERR_INVALID if the message names an agent or a session. Only clients that may
 * start runs can choose them, not platforms and plugins. */
int inbound_message_from_outside(const struct inbound_message *m,
				 struct err *e);

/* Checks that it is a valid envelope. */
int envelope_check(const cJSON *json, struct err *e);

/* Writes a delivery as {"id", "channel", "conversation", …, "text"}.
 * inline_media: with the content of the attachments. */
int envelope_write_data(const struct inflight *p, bool inline_media,
			struct buf *out, struct err *e);

/* Writes a delivery as an envelope; large attachments are paths of files. */
int envelope_write(const struct inflight *p, struct buf *out, struct err *e);

#endif
