#include "ops/backup/restore.h"

#include "lib/base/fault.h"
#include "lib/base/text.h"
#include "lib/os/file.h"
#include "lib/os/process.h"
#include "ops/backup/extract.h"
#include "ops/backup/restore_fixup.h"
#include "ops/staging_dir.h"
#include "schema/control/agent.h"
#include "schema/control/control.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

SHAPE_DEFINE(restore_sum, RESTORE_SUM);

#define PREFIX ".skep-restore"

/* --- is it in use? ------------------------------------------------------ */

static bool answers(const struct home *home)
{
	struct home_path path = home_path(home, HOME_HTTP_SOCKET);
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool yes;

	if (strlen(path.text) >= sizeof to.sun_path) {
		close(fd);
		return false;
	}
	memcpy(to.sun_path, path.text, strlen(path.text) + 1);
	yes = fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
	if (fd >= 0)
		close(fd);
	return yes;
}

static int refuse_workers(struct sql *db, struct err *e)
{
	struct run_active_row *rows;
	struct arena a = {0};
	int n = sql_collect(db, Q_RUN_ACTIVE, NULL, 1 << 20, &rows, &a, e);
	int rc = 0;

	for (int i = 0; !rc && i < n; i++) {
		struct process_identity m = {rows[i].pid, rows[i].start_ticks,
					     ""};

		if (rows[i].pid == OPT_NONE || !rows[i].boot_id)
			continue;
		snprintf(m.boot_id, sizeof m.boot_id, "%s", rows[i].boot_id);
		if (process_is_alive(&m))
			rc = err_set(e, ERR_BUSY,
				     "a worker (pid %" PRId64
				     ") of run %s is still active in this home",
				     rows[i].pid, rows[i].id);
	}
	arena_fini(&a);
	return rc;
}

/* A home that is too damaged to be checked is not rejected: it may be the
 * reason for the restore. */
int restore_refuse_live(const struct home *home, struct err *e)
{
	struct home_path path = home_path(home, HOME_CONTROL_DB);
	struct supervisor_row row;
	struct arena a = {0};
	struct err unreadable;
	struct sql *db;
	int rc = 0;

	if (answers(home))
		return err_set(e, ERR_BUSY,
			       "a supervisor is running for %s; stop it "
			       "with 'skep down' first",
			       home->root);
	if (!file_exists(path.text) ||
	    sql_open(&db, path.text, control_schema.queries, SQL_READONLY,
		     &unreadable))
		return 0;
	if (control_supervisor(db, &row, &a, &unreadable) > 0)
		rc = err_set(e, ERR_BUSY,
			     "a supervisor (pid %" PRId64
			     ") is running for %s; stop it with 'skep "
			     "down' first",
			     row.pid, home->root);
	else if (refuse_workers(db, &unreadable) &&
		 unreadable.code == ERR_BUSY) {
		*e = unreadable;
		rc = -1;
	}
	sql_close(db);
	arena_fini(&a);
	return rc;
}

/* We become the supervisor of the old home: none can start while we work, and
 * after our exit the row names a dead process. */
static int lock_out(const struct home *home, struct err *e)
{
	struct home_path path = home_path(home, HOME_CONTROL_DB);
	struct err unreadable;
	struct sql *db;
	int64_t epoch;
	int rc;

	if (!file_exists(path.text) ||
	    sql_open(&db, path.text, control_schema.queries, 0, &unreadable))
		return 0;
	rc = control_lock(db, "skep backup restore", &epoch, &unreadable);
	sql_close(db);
	if (rc && unreadable.code == ERR_BUSY) {
		*e = unreadable;
		return -1;
	}
	return 0;
}

static void let_in(const struct home *home)
{
	struct home_path path = home_path(home, HOME_CONTROL_DB);
	struct err ignored;
	struct sql *db;

	if (!file_exists(path.text) ||
	    sql_open(&db, path.text, control_schema.queries, 0, &ignored))
		return;
	(void)control_unlock(db, &ignored);
	sql_close(db);
}

/* --- in place ------------------------------------------------------------ */

/* Moves files that are not part of a backup to the new home. */
static void move_along(const char *from, const char *to)
{
	static const char *const names[] = {"credentials", "backups", "logs"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char a[PATH_MAX], b[PATH_MAX];

		snprintf(a, sizeof a, "%s/%s", from, names[i]);
		snprintf(b, sizeof b, "%s/%s", to, names[i]);
		if (file_exists(a) && (rmdir(b) == 0 || errno == ENOENT) &&
		    rename(a, b))
			(void)mkdir(b, 0700);
	}
}

static int swap(const char *staged, const char *home, const char *before,
		struct err *e)
{
	struct err ignored;

	if (renameat2(AT_FDCWD, staged, AT_FDCWD, home, RENAME_EXCHANGE) == 0) {
		if (fault_point(FAULT_restore_swapped, e))
			return -1;
		return rename(staged, before)
			       ? err_errno_set(e, "the old home stays at %s",
					       staged)
			       : 0;
	}
	/* a filesystem without exchange: for a moment there is no home */
	if (errno == EINVAL || errno == ENOSYS) {
		if (rename(home, before) == 0 && rename(staged, home) == 0)
			return 0;
		err_errno_set(e, "%s cannot be replaced", home);
		(void)rename(before, home);
	} else {
		err_errno_set(e, "%s cannot be replaced", home);
	}
	(void)tree_remove(staged, &ignored);
	return -1;
}

static int put_in_place(const struct restore_options *options,
			struct staging_dir *w, struct restore_sum *out,
			struct arena *a, struct err *e)
{
	const char *root = options->home->root;
	const char *before = arena_printf(a, "%s.before-%s", root, options->id);
	char parent[PATH_MAX];

	snprintf(parent, sizeof parent, "%s", root);
	if (tree_sync_all(w->path, e) || fault_point(FAULT_restore_fixed_up, e))
		return -1;
	if (!file_exists(root)) {
		if (staging_dir_keep(w, e))
			return -1;
		return rename(w->path, root) ? err_errno_set(e, "%s", root)
					     : tree_sync(dirname(parent), e);
	}
	if (restore_refuse_live(options->home, e) ||
	    lock_out(options->home, e) || staging_dir_keep(w, e))
		return -1;
	if (swap(w->path, root, before, e)) {
		let_in(options->home);
		return -1;
	}
	move_along(before, root);
	out->before = before;
	return tree_sync(root, e) || tree_sync(dirname(parent), e) ? -1 : 0;
}

static int unpack_into(const struct restore_options *options, const char *dir,
		       struct manifest *m, struct restore_sum *out,
		       struct arena *a, struct err *e)
{
	struct extract_options x = {.fd = options->fd,
				    .name = options->name,
				    .dir = dir,
				    .keep = true,
				    .agents = options->agents,
				    .nagents = options->nagents,
				    .size = options->size,
				    .progress = options->progress};
	struct backup_sum sum;

	if (extract(&x, m, &sum, e))
		return -1;
	out->backup = arena_text(a, m->head.id);
	out->taken_at = m->head.created_at;
	out->agents = options->nagents ? options->nagents : sum.agents;
	out->files = sum.files;
	out->problems = sum.problems;
	if (fault_point(FAULT_restore_staged, e) == 0)
		return 0;
	manifest_fini(m);
	return -1;
}

static int check_agents(const struct restore_options *options, const char *dir,
			struct err *e)
{
	for (int i = 0; i < options->nagents; i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof path, "%s/agents/%s/agent.sqlite", dir,
			 options->agents[i]);
		if (!file_exists(path))
			return err_set(e, ERR_NOTFOUND,
				       "agent '%s' is not in %s",
				       options->agents[i], options->name);
	}
	return 0;
}

static int check_home(const struct restore_options *options, const char *dir,
		      struct err *e)
{
	char path[PATH_MAX];

	text_printf(path, sizeof path, "%s/" MANIFEST_CONTROL, dir);
	return file_exists(path)
		       ? 0
		       : err_set(e, ERR_INVALID,
				 "%s contains one agent; 'skep agent import' "
				 "adds it to a home",
				 options->name);
}

static int fill_staging(const struct restore_options *options,
			struct staging_dir *w, struct restore_sum *out,
			struct arena *a, struct err *e)
{
	struct home staged;
	struct manifest m;
	int rc;

	if (unpack_into(options, w->path, &m, out, a, e))
		return -1;
	snprintf(staged.root, sizeof staged.root, "%s", w->path);
	rc = check_home(options, w->path, e) ||
	     check_agents(options, w->path, e) || home_make(&staged, e) ||
	     fixup_home(&staged, &m, out, e);
	manifest_fini(&m);
	return rc ? -1 : 0;
}

int restore_home(const struct restore_options *options, struct restore_sum *out,
		 struct arena *a, struct err *e)
{
	struct staging_dir w = {.lock = -1};
	char parent[PATH_MAX];
	int rc;

	*out = (struct restore_sum){.home = options->home->root};
	snprintf(parent, sizeof parent, "%s", options->home->root);
	dirname(parent);
	rc = restore_refuse_live(options->home, e) ||
	     file_make_dir(parent, 0700, e) ||
	     staging_dir_open(&w, parent, PREFIX, options->id, e) ||
	     fill_staging(options, &w, out, a, e) ||
	     put_in_place(options, &w, out, a, e);
	staging_dir_close(&w);
	return rc ? -1 : 0;
}

/* --- one agent ------------------------------------------------------------ */

static int read_definition(struct staging_dir *w, const char *agent,
			   struct agent_row *out, struct arena *a,
			   struct err *e)
{
	struct sql *db;
	int rc;

	if (sql_open(&db, staging_dir_path(w, MANIFEST_CONTROL),
		     control_schema.queries, SQL_READONLY, e))
		return -1;
	rc = agents_get(db, agent, out, a, e);
	sql_close(db);
	return rc;
}

static int move_definition(struct staging_dir *w, const char *agent,
			   const char *to, struct err *e)
{
	static const char *const names[] = {"agent.json", "prompt.md"};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		char from[PATH_MAX], here[PATH_MAX];

		snprintf(from, sizeof from, "%s/agents/%s/%s", w->path, agent,
			 names[i]);
		snprintf(here, sizeof here, "%.*s/%s",
			 (int)(strrchr(to, '/') - to), to, names[i]);
		if (file_exists(from) && !file_exists(here) &&
		    rename(from, here))
			return err_errno_set(e, "%s", here);
	}
	return 0;
}

/* Extracts all items of the agent, into the staging directory or in place. */
static int restore_agent_file(const struct restore_options *options,
			      struct staging_dir *w, const char *to,
			      struct agent_row *definition,
			      struct restore_sum *out, struct arena *a,
			      struct err *e)
{
	const char *agent = options->agents[0];
	const char *here = arena_printf(a, "%s/agents/%s/agent.sqlite", w->path,
					agent);
	struct buf held = BUF_MAX(64u << 20);
	struct manifest m;
	int rc;

	if (unpack_into(options, w->path, &m, out, a, e))
		return -1;
	rc = check_agents(options, w->path, e) ||
	     fixup_agent(here, agent, out, &held, e) ||
	     (definition && (read_definition(w, agent, definition, a, e) ||
			     move_definition(w, agent, to, e)));
	if (!rc && rename(here, to))
		rc = err_errno_set(e, "%s", to);
	if (!rc)
		rc = tree_sync(to, e);
	if (out->messages_held)
		out->held = arena_text(a, held.p);
	manifest_fini(&m);
	buf_fini(&held);
	return rc ? -1 : 0;
}

int restore_agent(const struct restore_options *options, const char *to,
		  struct agent_row *definition, struct restore_sum *out,
		  struct arena *a, struct err *e)
{
	struct home_path dir = home_path(options->home, HOME_BACKUPS);
	struct staging_dir w = {.lock = -1};
	int rc;

	*out = (struct restore_sum){.home = options->home->root};
	rc = file_make_dir(dir.text, 0700, e) ||
	     staging_dir_open(&w, dir.text, ".work", options->id, e) ||
	     restore_agent_file(options, &w, to, definition, out, a, e);
	staging_dir_close(&w);
	return rc ? -1 : 0;
}
