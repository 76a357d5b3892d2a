#include "vfs/core/journal.h"
#include "vfs/core/core.h"

#include "lib/base/clock.h"

int journal_add(struct vfs *v, enum vfs_op op, struct vfs_at at, int64_t ino,
		struct err *e)
{
	struct vfs_journal_add_in row = {
		.ns = v->ns,
		.op = op,
		.dir = at.dir,
		.name = blob_text(at.name),
		.ino = ino,
		.who = v->who,
		.at = clock_now_ns(),
		.run = v->author.run,
		.turn = v->author.turn,
		.tool = v->author.tool,
	};
	struct vfs_number old;

	/* the first content of a new file is part of its creation */
	v->last_written = op == VFS_OP_write || op == VFS_OP_create ? ino : 0;
	v->last_journal_ino = ino;
	if (sql_exec(v->db, Q_VFS_JOURNAL_ADD, &row, e) < 0)
		return -1;
	old.n = v->last_journal = sql_last_rowid(v->db);
	if (old.n % 1024 || old.n <= VFS_JOURNAL_KEEP)
		return 0;
	old.n -= VFS_JOURNAL_KEEP;
	return sql_exec(v->db, Q_VFS_JOURNAL_TRIM, &old, e) < 0 ? -1 : 0;
}

int journal_node(struct vfs *v, enum vfs_op op, const struct node *n,
		 struct err *e)
{
	struct vfs_at at = {n->parent, n->name};

	if (n->nlink == 0 || (op == VFS_OP_write && v->last_written == n->ino))
		return 0; /* nameless, or in the previous row */
	return journal_add(v, op, at, n->ino, e);
}

int journal_times(struct vfs *v, const struct node *n, struct err *e)
{
	return v->last_journal_ino == n->ino
		       ? 0
		       : journal_node(v, VFS_OP_attr, n, e);
}

int vfs_changes(struct vfs *v, int64_t seq, int max, struct vfs_change **out,
		struct arena *a, struct err *e)
{
	struct vfs_journal_after_in key = {v->ns, seq, max};
	struct vfs_journal_row *rows;
	int n = sql_collect(v->db, Q_VFS_JOURNAL_AFTER, &key, max, &rows, a, e);

	if (n < 0)
		return -1;
	*out = arena_alloc(a, (size_t)n * sizeof **out + 1);
	for (int i = 0; i < n; i++)
		(*out)[i] = (struct vfs_change){
			.seq = rows[i].seq,
			.op = (enum vfs_op)rows[i].op,
			.dir = rows[i].dir,
			.name = arena_textn(a, rows[i].name.p, rows[i].name.n),
			.ino = rows[i].ino,
			.who = rows[i].who,
			.at = rows[i].at,
			.run = rows[i].run,
			.turn = rows[i].turn,
			.tool = rows[i].tool,
		};
	return n;
}

int vfs_last_change(struct vfs *v, int64_t *seq, struct err *e)
{
	struct vfs_number n = {0};

	if (sql_get(v->db, Q_VFS_JOURNAL_LAST, NULL, &n, NULL, e) < 0)
		return -1;
	*seq = n.n;
	return 0;
}

const char *vfs_op_name(enum vfs_op op)
{
	switch (op) {
#define VFS_OP(name, number) \
	case VFS_OP_##name:  \
		return #name;
#include "vfs/core/journal.def"
#undef VFS_OP
	}
	return "?";
}
