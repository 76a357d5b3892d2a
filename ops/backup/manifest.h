#ifndef OPS_BACKUP_MANIFEST_H
#define OPS_BACKUP_MANIFEST_H

#include "lib/base/arena.h"
#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/base/shape.h"

/*
 * The contents of a backup: the last file of the archive, as JSON. Every other
 * file is an item with its hash, in the order of the archive. Each workspace is
 * one item; only the trailer covers its files.
 */
#define MANIFEST_PATH    "manifest.json"
#define MANIFEST_FORMAT  1
#define MANIFEST_MAX     (256u << 20)
#define MANIFEST_CONTROL "state/skep.sqlite"

/* role: control, agent, config, definition, workspace. path NULL: it is not in
 * the archive, and `integrity` has the reason. */
#define MANIFEST_ITEM(F, S)       \
	F(S, text, role)          \
	F(S, text, agent)         \
	F(S, text, source_path)   \
	F(S, text, path)          \
	F(S, i64, schema_version) \
	F(S, i64, bytes)          \
	F(S, i64, pages)          \
	F(S, text, sha256)        \
	F(S, text, integrity)
SHAPE_DECLARE(manifest_item, MANIFEST_ITEM);

#define MANIFEST_HEAD(F, S)    \
	F(S, i64, format)      \
	F(S, text, id)         \
	F(S, text, program)    \
	F(S, text, home)       \
	F(S, time, created_at) \
	F(S, bool, with_workspaces)
SHAPE_DECLARE(manifest_head, MANIFEST_HEAD);

struct manifest {
	struct manifest_head head;
	struct manifest_item *items;
	int count;
	struct arena arena; /* owns all texts */
};

/* ERR_VERSION for the format of a newer program. */
int manifest_parse(struct manifest *m, const char *text, size_t n,
		   struct err *e);
void manifest_fini(struct manifest *m); /* may be all zero */

/* Writing: _begin, _add for each item, _end. */
void manifest_begin(struct buf *b, const struct manifest_head *head);
void manifest_add(struct buf *b, const struct manifest_item *item);
void manifest_end(struct buf *b);

#endif
