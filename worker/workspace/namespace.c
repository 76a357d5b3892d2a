/* The namespace of a run: an existing one, a new one, a fork. */
#include "lib/base/fault.h"
#include "lib/base/text.h"
#include "lib/db/sql.h"
#include "schema/agent/agent_file.h"
#include "schema/home.h"
#include "vfs/core/vfs.h"
#include "vfs/snapshot/snapshot.h"
#include "worker/workspace/files.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define WHO "run"

static bool is_word(const char *word, const char *other)
{
	return strcmp(word, other) == 0;
}

/* Commands see everything below the namespace. */
static int check_base(const struct files_plan *p, const char *base,
		      struct err *e)
{
	if (!base || home_check_lower(p->home, base, e) == 0)
		return 0;
	e->code = ERR_UNSUPPORTED; /* the run fails because of its workspace */
	return -1;
}

/* --- creating ------------------------------------------------------------ */

static int no_source(const struct files_plan *p, struct err *e)
{
	if (e->code != ERR_NOTFOUND)
		return -1;
	return err_set(e, ERR_UNSUPPORTED,
		       "the workspace cannot be forked: %s has no namespace or "
		       "snapshot %s; 'skep namespace ls' and 'skep snapshot "
		       "ls' list them",
		       p->fork_agent ? p->fork_agent : "the agent", p->fork_of);
}

static int fork_own(struct sql *db, const struct files_plan *p, struct err *e)
{
	struct vfs *from;
	int rc;

	if (vfs_open(&from, db, p->fork_of, WHO, e))
		return no_source(p, e);
	rc = check_base(p, vfs_base(from), e) ? -1 : vfs_fork(from, p->name, e);
	vfs_close(from);
	return rc;
}

static int create_in(struct sql *db, const struct files_plan *p, struct err *e)
{
	int rc;

	if (p->fork_of)
		rc = fork_own(db, p, e);
	else
		rc = check_base(p, p->base, e)
			     ? -1
			     : vfs_create(db, p->name, p->base, e);
	return rc ? -1 : vfs_set_run(db, p->name, p->run, p->ephemeral, e);
}

/* A namespace of another agent, whose file is only read. */
static int fork_other(struct sql *db, const struct files_plan *p,
		      void (*progress)(void), struct err *e)
{
	struct vfs_fork_new new = {.name = p->name,
				   .run = p->run,
				   .ephemeral = p->ephemeral,
				   .max_growth = p->max,
				   .progress = progress};
	struct agent_file f;
	struct vfs *from;
	int rc;

	if (agent_file_open(&f, p->fork_db, p->fork_agent, SQL_READONLY, e))
		return -1;
	rc = vfs_open(&from, f.db, p->fork_of, WHO, e) ? no_source(p, e) : 0;
	if (rc == 0) {
		rc = check_base(p, vfs_base(from), e)
			     ? -1
			     : vfs_fork_across(from, db, &new, e);
		vfs_close(from);
	}
	agent_file_close(&f);
	return rc;
}

static int create_whole(struct sql *db, const struct files_plan *p,
			void (*progress)(void), struct err *e)
{
	if (p->fork_db)
		return fork_other(db, p, progress, e);
	if (sql_enter(db, e))
		return -1;
	return sql_leave(db, create_in(db, p, e), e);
}

/* 1: created; 0: it exists. */
static int create(struct sql *db, const struct files_plan *p,
		  void (*progress)(void), struct err *e)
{
	struct vfs *v;

	if (vfs_open(&v, db, p->name, WHO, e) == 0) {
		vfs_close(v);
		return 0;
	}
	if (e->code != ERR_NOTFOUND)
		return -1;
	if (create_whole(db, p, progress, e) == 0)
		return fault_point(FAULT_workspace_created, e) ? -1 : 1;
	/* another process may have created it meanwhile */
	return e->code == ERR_CONFLICT ? 0 : -1;
}

/* --- what exists --------------------------------------------------------- */

/* The namespace stores the real path. */
static bool is_over(const struct vfs *v, const char *base)
{
	const char *has = vfs_base(v);
	char real[PATH_MAX];

	if (!has || !base)
		return !has && !base;
	return is_word(has, realpath(base, real) ? real : base);
}

static int over_other(const struct vfs *v, const char *base, struct err *e)
{
	if (!vfs_base(v))
		return err_set(e, ERR_UNSUPPORTED,
			       "the agent's workspace contains files, and its "
			       "lower directory is not %s; export the files "
			       "you need and delete the workspace first ('skep "
			       "namespace rm')",
			       base);
	if (!base)
		return err_set(e, ERR_UNSUPPORTED,
			       "the namespace '%s' has the lower directory %s, "
			       "but the agent's workspace is vfs-only; set the "
			       "workspace to vfs-scratch, or delete the "
			       "namespace ('skep namespace rm')",
			       vfs_name(v), vfs_base(v));
	return err_set(e, ERR_UNSUPPORTED,
		       "the agent's workspace has the lower directory %s "
		       "instead of %s; apply or discard the changes first",
		       vfs_base(v), base);
}

/* The agent's own namespace, if it has another lower directory than the agent
 * has now: it is created again if it contains nothing. 1: it was. If the agent
 * has none, the directory stays: a user has chosen it. */
static int replace_empty(struct vfs **v, struct sql *db,
			 const struct files_plan *p, struct err *e)
{
	int untouched = p->base ? vfs_is_untouched(*v, e) : 0;

	if (untouched <= 0)
		return untouched < 0 ? -1 : over_other(*v, p->base, e);
	vfs_close(*v);
	*v = NULL;
	return vfs_destroy(db, p->name, e) || create(db, p, NULL, e) < 0 ||
			       vfs_open(v, db, p->name, WHO, e)
		       ? -1
		       : 1;
}

static int already_exists(const struct files_plan *p, struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED,
		       "the namespace %s already exists; choose another name "
		       "for the new workspace, or run in %s as it is",
		       p->name, p->name);
}

static int does_not_exist(const struct files_plan *p, struct err *e)
{
	return err_set(e, ERR_UNSUPPORTED,
		       "the agent has no namespace %s; 'skep namespace ls' "
		       "lists its namespaces, --fork-of, --over and --fresh "
		       "create one",
		       p->name);
}

/* A namespace that begins empty has a quota, and so has a fork. Over a directory
 * the growth of the file is watched instead (worker/process/disk_limit.h). */
static int settle(struct vfs **v, struct sql *db, const struct files_plan *p,
		  int made, struct err *e)
{
	bool always = is_word(p->make, "always");

	if (always && !made && (!vfs_run(*v) || !is_word(vfs_run(*v), p->run)))
		return already_exists(p, e);
	if (is_word(p->make, "missing") && !p->fork_of &&
	    !is_over(*v, p->base)) {
		made = replace_empty(v, db, p, e);
		if (made < 0)
			return -1;
	}
	if (check_base(p, vfs_base(*v), e))
		return -1;
	if (!made || p->fork_of || vfs_base(*v))
		return 0;
	return vfs_set_quota(*v, p->max, 0, e);
}

int files_namespace(struct vfs **v, struct sql *db, const struct files_plan *p,
		    void (*progress)(void), struct err *e)
{
	int made = is_word(p->make, "never") ? 0 : create(db, p, progress, e);

	if (made < 0)
		return -1;
	if (vfs_open(v, db, p->name, WHO, e))
		return e->code == ERR_NOTFOUND ? does_not_exist(p, e) : -1;
	if (settle(v, db, p, made, e) == 0)
		return 0;
	vfs_close(*v);
	*v = NULL;
	return -1;
}
