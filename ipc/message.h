#ifndef IPC_MESSAGE_H
#define IPC_MESSAGE_H

#include "ipc/message.def"
#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"

#include <stddef.h>
#include <stdint.h>

/*
 * Messages as structs, and as one line of JSON: {"type":"cancel","id":7,…}. The
 * table is message.def; two functions serve every message. Decoding trusts
 * nothing: a message that is incomplete, over a limit, or of a type that its
 * sender may not send is an ERR_PROTOCOL, and the caller decides what follows.
 * Unknown fields are ignored.
 */
#define MSG_MAX_BYTES (32u << 20) /* of any message, as JSON */

enum msg_side { SIDE_SUPERVISOR, SIDE_WORKER };

enum msg_kind {
	MSG_IS_REPORT, /* from a worker; answered by a reply */
	MSG_IS_HINT,   /* a report of which only the newest matters */
	MSG_IS_WAIT, /* from a worker; answered by a command, when there is one */
	MSG_IS_COMMAND, /* answers a wait */
	MSG_IS_REPLY,   /* answers a report or a hint */
	MSG_IS_REQUEST, /* from a worker; answered by a result, when there is
			 * one */
	MSG_IS_RESULT,  /* answers a request */
	MSG_IS_START    /* not sent over the connection */
};

enum msg_type {
#define M(name, FIELDS, side, kind) MSG_TYPE_##FIELDS,
	MSG_LIST(M)
#undef M
		MSG_TYPES
};

#define MSG_MEMBER_(tag, type, name, need, max, words) field_##type name;

struct msg_who {
	MSG_WHO(MSG_MEMBER_, who)
};

#define M(name, FIELDS, side, kind)             \
	struct msg_##name {                     \
		MSG_##FIELDS(MSG_MEMBER_, name) \
	};
MSG_LIST(M)
#undef M

struct msg {
	enum msg_type type;

	union {
		struct msg_who who; /* of any message of a worker */
		int64_t id;         /* of any command */
#define M(name, FIELDS, side, kind) struct msg_##name name;
		MSG_LIST(M)
#undef M
	} u;
};

const char *msg_name(enum msg_type type);
enum msg_kind msg_kind(enum msg_type type);
enum msg_side msg_side(enum msg_type type);

/* Appends m as JSON; -1 if a field is missing or over its limit, and then b is
 * unchanged. */
int msg_encode(const struct msg *m, struct buf *b, struct err *e);

/* Decodes n bytes from `from`. Texts are allocated in a. */
int msg_decode(const char *text, size_t n, enum msg_side from, struct arena *a,
	       struct msg *m, struct err *e);

#endif
