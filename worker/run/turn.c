#include "worker/run/turn.h"

#include "lib/base/text.h"
#include "schema/agent/marker.h"
#include "worker/workspace/workspace.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#define TOOL_MAX     64 /* bytes of a tool's name that are recorded */
#define SEEN_POLLS   500
#define SEEN_POLL_US 1000

static bool has_turns(const struct run *r)
{
	return r->workspace && !workspace_is_host(r);
}

/* Records the turn and the tool for the journal. A process that serves a mount
 * reads the row; without a mount, the workspace of this process gets them. A reused mount reads the
 * row of the run that opened it. */
static int record_doing(struct run *r, const char *tool, struct err *e)
{
	struct sql *db = r->transcript.file.db;
	struct workspace *w = r->workspace;
	struct run_doing_in in = {.id = w->opened_by,
				  .doing = r->transcript.writer.run,
				  .turn = r->turn,
				  .tool = tool};
	int rc;

	if (w->store.kind && w->store.kind->author)
		w->store.kind->author(&w->store, in.doing, r->turn, tool);
	if (sql_enter_relaxed(db, e))
		return -1;
	rc = sql_exec(db, Q_RUN_DOING, &in, e) < 0 ? -1 : 0;
	return sql_leave(db, rc, e);
}

static int put_marker(struct run *r, struct err *e)
{
	const struct transcript *t = &r->transcript;
	struct marker_new m = {.run = t->writer.run,
			       .session = t->writer.session,
			       .turn = r->turn,
			       .seq = t->writer.tail,
			       .workspace = workspace_namespace(r)};

	if (r->start->markers == 0)
		return 0;
	return marker_put(&r->transcript.file, &m, e);
}

/* A later attempt continues the numbers. */
static int first_turn(struct run *r, struct err *e)
{
	struct marker_last_in key = {r->transcript.writer.run};
	struct marker_last_row row = {0};

	if (sql_get(r->transcript.file.db, Q_MARKER_LAST, &key, &row, NULL, e) <
	    0)
		return -1;
	r->turn = row.turn;
	if (!r->workspace->opened_by)
		r->workspace->opened_by = r->transcript.writer.run;
	return r->turn == 0 ? put_marker(r, e) : 0;
}

/* A mount that was kept for this run may still show files as they were before a
 * revert or a rewind: the kernel learns of it within 50 ms. */
static void refresh_mount(const struct run *r)
{
	int dir = workspace_dir(r->workspace);
	char path[64], seen = '0';

	snprintf(path, sizeof path, "/proc/self/fd/%d", dir);
	for (int i = 0; dir >= 0 && i < SEEN_POLLS && seen == '0'; i++) {
		if (i > 0)
			usleep(SEEN_POLL_US);
		if (getxattr(path, "user.skep.seen", &seen, 1) != 1)
			break;
	}
	if (dir >= 0)
		close(dir);
}

int turn_begin(struct run *r, const char *tool, struct err *e)
{
	if (!has_turns(r))
		return 0;
	if ((r->turn == 0 && first_turn(r, e)) || turn_end(r, e))
		return -1;
	if (r->workspace->mount.pid &&
	    r->workspace->opened_by != r->transcript.writer.run)
		refresh_mount(r);
	r->turn++;
	r->in_turn = true;
	return record_doing(r, tool, e);
}

int turn_tool(struct run *r, const char *tool, struct err *e)
{
	char name[TOOL_MAX];

	if (!has_turns(r) || !r->in_turn)
		return 0;
	if (tool)
		text_fit(name, sizeof name, tool);
	return record_doing(r, tool ? name : NULL, e);
}

/* Data that the kernel has not passed to the mount yet belongs to this turn. If
 * this fails, it is in the next one. */
static void flush_mount(const struct run *r)
{
	int dir, fd;

	if (!r->workspace->mount.pid)
		return;
	dir = workspace_dir(r->workspace);
	fd = dir < 0 ? -1
		     : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0) {
		(void)syncfs(fd);
		close(fd);
	}
	if (dir >= 0)
		close(dir);
}

int turn_end(struct run *r, struct err *e)
{
	if (!has_turns(r) || !r->in_turn)
		return 0;
	r->in_turn = false;
	flush_mount(r);
	return put_marker(r, e);
}

bool turn_ends_with_run(const struct run *r)
{
	return r->idle_ms == 0 && has_turns(r) &&
	       r->workspace->opened_by == r->transcript.writer.run;
}
