#ifndef SCHEMA_CONTROL_CHANNEL_ATTACHMENT_H
#define SCHEMA_CONTROL_CHANNEL_ATTACHMENT_H

#include "lib/base/arena.h"
#include "lib/base/err.h"
#include "lib/base/id.h"
#include "lib/db/sql.h"
#include "lib/json/json.h"
#include "schema/control_queries.h"

/*
 * Attachments of messages, in the control plane. The rows, identified by hash,
 * are authoritative; files are created on demand and deleted by gc
 * (schema/agent/media.h). Artifacts of runs are in the agent file:
 * schema/agent/artifact.h.
 */

/* Stores bytes, or finds them if they are stored already. */
int blob_put(struct sql *db, const char *mime, struct blob bytes, struct id *id,
	     struct err *e);

/* Creates DIR/<id of the message>/<name>, or finds it, and returns its path.
 * The name has only letters, digits and characters without a meaning in a
 * shell. */
int blob_materialise(struct sql *db, const struct media_use_row *m,
		     const char *dir, const char **path, struct arena *a,
		     struct err *e);

/* Creates the files of all attachments of a message, or uses existing ones. */
int attachments_materialise(struct sql *db, const char *owner, const char *dir,
			    struct err *e);

/* The same, and adds a line for each to the prompt, since agents read files.
 * Returns their number. */
int attachments_add_lines(struct sql *db, const char *owner, const char *dir,
			  struct buf *prompt, struct arena *a, struct err *e);

struct media_limits {
	int64_t one;  /* bytes of an attachment */
	int64_t all;  /* of all attachments of a message */
	int64_t room; /* that may still be stored; reduced by each stored
		       * attachment */
};

/*
 * The attachments of a message: "attachments" of body, each {"name", "type" and
 * "base64" or "media"}. Bytes become rows, and "base64" is replaced by "media",
 * "size" and "sha256". ERR_INVALID, ERR_TOOBIG (one, or all), ERR_QUOTA (no
 * room), ERR_NOTFOUND.
 */
int attachments_store(struct sql *db, cJSON *body, struct media_limits *l,
		      struct err *e);

/* Records that the message `owner` uses them. */
int attachments_use(struct sql *db, const char *owner, const cJSON *body,
		    struct err *e);

#endif
