#include "vfs/core/core.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "vfs/core/lower.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opening a namespace, and the frame of every call on it. */

/* The last handle of this process that wrote. Its cached data is valid if no
 * other process has committed since. */
static _Atomic(const struct vfs *) last_in;

void tx_invalidate(void)
{
	atomic_store(&last_in, NULL);
}

static char *copy_text(const char *text)
{
	char *p = text ? strdup(text) : NULL;

	if (text && !p)
		abort();
	return p;
}

static int find_snapshot(struct vfs *v, const char *name, struct err *e)
{
	struct vfs_snap_find_in key = {.ns = v->ns, .name = name};
	struct vfs_snap_find_row row;
	int found = sql_get(v->db, Q_VFS_SNAP_FIND, &key, &row, NULL, e);

	if (found < 0)
		return -1;
	if (!found)
		return err_set(e, ERR_NOTFOUND,
			       "namespace '%s' has no snapshot '%s'", v->name,
			       quoted(name).text);
	v->snap = row.id;
	v->snap_next_ino = row.next_ino;
	return 0;
}

static int find_namespace(struct vfs *v, const char *name, struct err *e)
{
	const char *at = name ? strchr(name, '@') : NULL;
	struct arena mem = {0};
	struct vfs_key key = {.text = "main"};
	struct vfs_ns_row row;
	int found;

	if (name && *name && at != name)
		key.text = arena_textn(&mem, name,
				       at ? (size_t)(at - name) : strlen(name));
	found = sql_get(v->db, Q_VFS_NS_FIND, &key, &row, &mem, e);
	if (found == 0)
		err_set(e, ERR_NOTFOUND, "%s has no namespace '%s'",
			sql_path(v->db), quoted(key.text).text);
	if (found > 0) {
		v->ns = row.id;
		v->name = copy_text(row.name);
		v->base = copy_text(row.base);
		v->run = copy_text(row.run);
		v->source = row.source_snap;
	}
	arena_fini(&mem);
	if (found <= 0)
		return -1;
	return at ? find_snapshot(v, at + 1, e) : 0;
}

int vfs_attach(struct vfs **out, struct sql *db, const char *name,
	       const char *who, struct err *e)
{
	struct vfs *v = calloc(1, sizeof *v);

	if (!v)
		abort();
	v->db = db;
	v->base_fd = -1;
	v->who = copy_text(who);
	v->author.run = v->author.turn = OPT_NONE;
	v->chunk = malloc(VFS_CHUNK);
	v->packed = malloc(VFS_CHUNK);
	v->work = malloc(VFS_CHUNK);
	if (!v->chunk || !v->packed || !v->work)
		abort();
	if (find_namespace(v, name, e)) {
		vfs_close(v);
		return -1;
	}
	*out = v;
	return 0;
}

int vfs_open(struct vfs **out, struct sql *db, const char *name,
	     const char *who, struct err *e)
{
	if (vfs_attach(out, db, name, who, e))
		return -1;
	if (orphans_reap(*out, e) == 0 || e->code == ERR_READONLY)
		return 0;
	vfs_close(*out);
	return -1;
}

void vfs_close(struct vfs *v)
{
	if (!v)
		return;
	if (v->batch)
		vfs_rollback(v);
	vfs_end_read(v);
	orphans_release(v);
	tx_invalidate(); /* its address may be reused */
	lower_close(v);
	node_refs_fini(&v->held);
	node_refs_fini(&v->orphans);
	node_refs_fini(&v->changed);
	node_refs_fini(&v->read);
	node_cache_fini(&v->node_cache);
	free(v->name);
	free(v->who);
	free(v->base);
	free(v->run);
	free(v->author.tool);
	free(v->chunk);
	free(v->packed);
	free(v->work);
	free(v);
}

const char *vfs_name(const struct vfs *v)
{
	return v->name;
}

const char *vfs_base(const struct vfs *v)
{
	return v->base;
}

const char *vfs_run(const struct vfs *v)
{
	return v->run;
}

bool vfs_is_readonly(const struct vfs *v)
{
	return v->snap != 0;
}

bool vfs_in_batch(const struct vfs *v)
{
	return v->batch;
}

void vfs_set_author(struct vfs *v, int64_t run, int64_t turn, const char *tool)
{
	char *old = v->author.tool;

	v->author.run = run;
	v->author.turn = turn;
	v->author.tool = copy_text(tool);
	free(old);
}

void vfs_follow_run(struct vfs *v, int64_t run)
{
	vfs_set_author(v, run, 0, NULL);
	v->author.follow = run;
}

static int read_author(struct vfs *v, struct err *e)
{
	struct run_doing_get_in key = {v->author.follow};
	struct run_doing_get_row row;
	struct arena mem = {0};
	int found;

	if (!v->author.follow)
		return 0;
	found = sql_get(v->db, Q_RUN_DOING_GET, &key, &row, &mem, e);
	if (found > 0)
		vfs_set_author(v, row.run, row.turn, row.tool);
	arena_fini(&mem);
	return found < 0 ? -1 : 0;
}

/* What others may have changed since the last transaction. */
int tx_refresh(struct vfs *v, struct err *e)
{
	struct vfs_key key = {.id = v->ns};
	struct vfs_ns_now_row row;
	int found = sql_get(v->db, Q_VFS_NS_NOW, &key, &row, NULL, e);

	if (found < 0)
		return -1;
	if (!found)
		return err_set(e, ERR_NOTFOUND, "namespace %s was removed",
			       v->name);
	v->keep = row.snap;
	v->keep_next_ino = row.next_ino;
	v->source = row.source_snap;
	v->next_ino = v->next_lower = 0;
	v->quota = row.max_bytes || row.max_files;
	v->usage = (struct vfs_usage){row.used_bytes, row.used_files,
				      row.max_bytes, row.max_files};
	v->usage_changed = false;
	v->generation = sql_generation(v->db);
	node_cache_clear(v);
	return read_author(v, e);
}

static int enter_transaction(struct vfs *v, struct err *e)
{
	if (v->snap)
		return err_set(e, ERR_READONLY,
			       "a snapshot of %s is read-only; fork it and "
			       "change the fork",
			       v->name);
	vfs_end_read(v);
	if (sql_enter(v->db, e))
		return -1;
	v->last_written = v->last_journal_ino = 0;
	/* others may have taken a snapshot: also on this connection */
	if (atomic_exchange(&last_in, v) == v &&
	    v->generation == sql_generation(v->db) &&
	    v->commits == sql_commits(v->db))
		return 0;
	if (tx_refresh(v, e))
		return sql_leave(v->db, -1, e);
	return 0;
}

static int leave(struct vfs *v, int rc, struct err *e)
{
	if (rc == 0)
		rc = quota_write(v, e);
	v->usage_changed = false;
	if (rc == 0)
		rc = node_cache_write(v, e);
	if (rc == 0)
		rc = orphans_write(v, e);
	rc = sql_leave(v->db, rc, e);
	v->commits = sql_commits(v->db);
	if (rc < 0) { /* its cached data is not valid */
		tx_invalidate();
		node_cache_clear(v);
	}
	return rc;
}

int tx_begin(struct vfs *v, struct err *e)
{
	if (v->inside)
		return 0;
	if (!v->batch)
		return enter_transaction(v, e);
	if (v->lost)
		return err_set(e, ERR_IO, "%s: the batch was rolled back",
			       v->name);
	v->usage_before = v->usage;
	v->node_cache_before = v->node_cache.changes;
	if (!v->batch_atomic)
		return sql_savepoint_begin(v->db, &v->call, e);
	sql_savepoint_mark(v->db, &v->call);
	return 0;
}

/* A call inside a batch failed, and was undone alone if possible. In an atomic
 * batch it is not possible if the call had changed something. */
static void note_undone(struct vfs *v)
{
	v->usage = v->usage_before;
	v->next_ino = v->next_lower = 0;
	v->last_written = v->last_journal_ino = 0;
	v->lost = sql_is_doomed(v->db) ||
		  (v->batch_atomic &&
		   v->node_cache.changes != v->node_cache_before);
}

int tx_end(struct vfs *v, int rc, struct err *e)
{
	if (v->inside)
		return rc;
	if (!v->batch)
		return leave(v, rc, e);
	rc = sql_savepoint_end(v->db, &v->call, rc, e);
	if (rc < 0)
		note_undone(v);
	return rc;
}

int tx_many(struct vfs *v,
	    int (*inner)(struct vfs *v, const void *arg, struct err *e),
	    const void *arg, struct err *e)
{
	bool outer = v->inside;
	int rc;

	if (tx_begin(v, e))
		return -1;
	v->inside = true;
	rc = inner(v, arg, e);
	v->inside = outer;
	return tx_end(v, rc, e);
}

int tx_read(struct vfs *v, struct err *e)
{
	if (v->batch || v->reading || v->inside)
		return 0;
	return sql_enter_read(v->db, e);
}

int tx_read_end(struct vfs *v, int rc)
{
	struct err ignored;

	if (!v->batch && !v->reading && !v->inside)
		sql_leave(v->db, 0, &ignored);
	return rc;
}

int vfs_begin(struct vfs *v, struct err *e)
{
	assert(!v->batch);
	if (enter_transaction(v, e))
		return -1;
	v->batch = true;
	v->lost = false;
	return 0;
}

int vfs_commit(struct vfs *v, struct err *e)
{
	assert(v->batch);
	v->batch = false;
	if (v->lost)
		return leave(v,
			     err_set(e, ERR_IO, "%s: the batch was rolled back",
				     v->name),
			     e);
	return leave(v, 0, e);
}

void vfs_rollback(struct vfs *v)
{
	struct err ignored;

	assert(v->batch);
	v->batch = false;
	leave(v, -1, &ignored);
}

int vfs_begin_read(struct vfs *v, struct err *e)
{
	if (v->batch || v->reading || v->inside)
		return 0;
	if (sql_enter_read(v->db, e))
		return -1;
	v->reading = true;
	return 0;
}

void vfs_end_read(struct vfs *v)
{
	struct err ignored;

	if (!v->reading)
		return;
	v->reading = false;
	blob_end_direct(v);
	sql_leave(v->db, 0, &ignored);
}

int vfs_sync(struct vfs *v, struct err *e)
{
	assert(!v->batch);
	return sql_sync(v->db, e);
}
