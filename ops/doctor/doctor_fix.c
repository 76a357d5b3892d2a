/* What --fix does, one function per kind. */
#include "ops/doctor/doctor.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "lib/db/checkpoint.h"
#include "lib/db/migrate.h"
#include "ops/staging_dir.h"
#include "schema/control/control.h"
#include "schema/control/registry.h"
#include "vfs/fuse/mount.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int fix_mode(const char *path, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) || S_ISLNK(st.st_mode) ||
	    chmod(path, st.st_mode & 0700))
		return err_errno_set(e, "%s", path);
	return 0;
}

/* Through a descriptor, so that a reused pid is not hit. */
static int fix_kill(const char *text, struct err *e)
{
	int64_t pid;
	long fd;
	int rc;

	if (text_i64("process", text, 2, INT32_MAX, &pid, e))
		return -1;
	fd = syscall(SYS_pidfd_open, (pid_t)pid, 0);
	if (fd < 0)
		return errno == ESRCH ? 0 : err_errno_set(e, "%s", text);
	rc = (int)syscall(SYS_pidfd_send_signal, (int)fd, SIGKILL, NULL, 0);
	close((int)fd);
	return rc ? err_errno_set(e, "%s", text) : 0;
}

static int fix_checkpoint(const char *path, struct err *e)
{
	struct sql_checkpoint_result r;
	struct sql *db;
	int rc;

	if (sql_open(&db, path, NULL, 0, e))
		return -1;
	rc = sql_checkpoint(db, SQL_CHECKPOINT_TRUNCATE, 2000, &r, e);
	sql_close(db);
	if (!rc && r.busy)
		return err_set(e, ERR_BUSY, "%s is in use", path);
	return rc ? -1 : 0;
}

/* --- the control plane ------------------------------------------------------- */

struct change {
	struct sql *db;
	const char *subject;
	struct arena arena;
};

static int clear_owner(struct change *c, struct err *e)
{
	return sql_exec(c->db, Q_SUPERVISOR_NONE, NULL, e) < 0 ? -1 : 0;
}

static int drop_lease(struct change *c, struct err *e)
{
	struct lease_drop_in in = {c->subject, clock_now()};

	return sql_exec(c->db, Q_LEASE_DROP, &in, e) < 0 ? -1 : 0;
}

static int register_file(struct change *c, struct err *e)
{
	struct agent_database_row row;
	struct agent_file f;
	int found;

	if (agent_file_open(&f, c->subject, NULL, 0, e))
		return -1;
	agent_file_close(&f);
	found = registry_find(c->db, f.agent, &row, &c->arena, e);
	if (found > 0)
		return err_set(e, ERR_CONFLICT,
			       "it belongs to agent '%s', whose database is "
			       "%s",
			       f.agent, row.path);
	return found < 0 ? -1 : registry_move(c->db, f.agent, c->subject, e);
}

/* Opened for writing only here, so that nothing changes before it is
 * requested. */
static int change_control(struct doctor *d, const char *subject,
			  int (*change)(struct change *c, struct err *e),
			  struct err *e)
{
	struct change c = {.subject = subject};
	int rc;

	if (control_open(&c.db, d->home, 0, e))
		return -1;
	rc = control_enter_alone(c.db, e);
	if (!rc)
		rc = sql_leave(c.db,
			       change(&c, e) || control_audit(c.db, NULL,
							      "doctor.fix",
							      subject, NULL, e)
				       ? -1
				       : 0,
			       e);
	sql_close(c.db);
	arena_fini(&c.arena);
	return rc;
}

/* --- schemas ------------------------------------------------------------------ */

static int fix_forward(struct doctor *d, const char *path, struct err *e)
{
	struct home_path control = home_path(d->home, HOME_CONTROL_DB);
	struct sql *db;

	if (!strcmp(path, control.text) && d->supervised)
		return err_set(e, ERR_BUSY, "a supervisor is running");
	if (db_open(&db, path,
		    strcmp(path, control.text) ? &agent_schema
					       : &control_schema,
		    0, e))
		return -1;
	sql_close(db);
	return 0;
}

int doctor_fix(struct doctor *d, enum finding_code code,
	       const struct finding *f, struct err *e)
{
	switch (finding_fix(code)) {
	case FIX_MODE:
		return fix_mode(f->subject, e);
	case FIX_REMOVE:
		return tree_remove(f->subject, e);
	case FIX_CGROUP: /* the kernel rejects one that is in use */
		return rmdir(f->subject) && errno != ENOENT
			       ? err_errno_set(e, "%s", f->subject)
			       : 0;
	case FIX_OWNER:
		return change_control(d, f->subject, clear_owner, e);
	case FIX_LEASE:
		return change_control(d, f->subject, drop_lease, e);
	case FIX_UNMOUNT:
		return vfs_unmount(f->subject, e);
	case FIX_KILL:
		return fix_kill(f->subject, e);
	case FIX_FORWARD:
		return fix_forward(d, f->subject, e);
	case FIX_REGISTER:
		return change_control(d, f->subject, register_file, e);
	case FIX_CHECKPOINT:
		return fix_checkpoint(f->subject, e);
	case FIX_IMPORT:
		return d->import(d->arg, f->subject, e);
	case FIX_NONE:
		break;
	}
	return err_set(e, ERR_UNSUPPORTED, "this needs a manual fix: %s",
		       f->fix);
}
