#ifndef SCHEMA_CONTROL_CHANNEL_ATTACHMENT_H
#define SCHEMA_CONTROL_CHANNEL_ATTACHMENT_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/id.h"
#include "lib/db/sql.h"
#include "lib/json/json.h"
#include "schema/control_queries.h"

/*
 * Attachments of messages, in the control plane: the row is the truth, by hash;
 * a file is made on demand and removed by gc (schema/agent/media.h has the gc).
 * (What runs make is in the agent's file: schema/agent/artifact.h.)
 */

/* Stores bytes, or finds those that are there already. */
int blob_put(struct sql *db, const char *mime, struct blob bytes, struct id *id,
	     struct err *e);

/* Makes DIR/<the message's id>/<name>, or finds it, and gives its path: a name
 * of letters, digits and signs that mean nothing to a shell or a reader. */
int blob_materialise(struct sql *db, const struct media_use_row *m,
		     const char *dir, const char **path, struct arena *a,
		     struct err *e);

/* The files of all attachments of a message, made or used again. */
int attachments_materialise(struct sql *db, const char *owner, const char *dir,
			    struct err *e);

/* The same, and a line for each in the prompt: agents read files. How many. */
int attachments_add_lines(struct sql *db, const char *owner, const char *dir,
			  struct buf *prompt, struct arena *a, struct err *e);

struct media_limits {
	int64_t one;  /* bytes of an attachment */
	int64_t all;  /* of a message's attachments together */
	int64_t room; /* that may still be stored; less by what was */
};

/*
 * The attachments of a message: body's "attachments", each {"name", "type" and
 * "base64" or "media"}. Bytes become rows, and "base64" becomes "media", "size"
 * and "sha256". ERR_INVALID, ERR_TOOBIG (one, or all), ERR_QUOTA (no room),
 * ERR_NOTFOUND.
 */
int attachments_store(struct sql *db, cJSON *body, struct media_limits *l,
		      struct err *e);

/* Writes down that the message `owner` has them. */
int attachments_use(struct sql *db, const char *owner, const cJSON *body,
		    struct err *e);

#endif
