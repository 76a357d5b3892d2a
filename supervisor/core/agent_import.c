#include "supervisor/core/operator.h"

#include "lib/base/fault.h"
#include "schema/control/agent_bundle.h"
#include "schema/control/control.h"
#include "supervisor/core/supervisor.h"

#include <string.h>

/* `skep agent import` has extracted an agent; this makes it an agent of the
 * home. */
struct staged_agent {
	struct supervisor *sup;
	const char *name, *dir;
	struct completion done;
};

/* A request over HTTP must not move arbitrary directories. */
static int check_import_path(struct supervisor *s, const char *path,
			     struct err *e)
{
	struct home_path dir = home_path(&s->home, HOME_BACKUPS);
	size_t n = strlen(dir.text);

	if (strncmp(path, dir.text, n) == 0 &&
	    strncmp(path + n, "/.work-", 7) == 0 && !strstr(path, "/../"))
		return 0;
	return err_set(e, ERR_INVALID,
		       "\"path\" must be an extracted agent in %s", dir.text);
}

static void undo_import(void *arg)
{
	const struct staged_agent *m = arg;

	agent_bundle_undo(&m->sup->home, m->name, m->dir);
}

static void end_import(void *arg, const struct err *failed)
{
	const struct staged_agent *m = arg;
	struct command_result r = {.failed = failed, .changed = true};
	struct err ignored;

	if (!failed) {
		(void)fault_point(FAULT_agent_imported, &ignored);
		agent_bundle_done(&m->sup->home, m->name);
	}
	if (m->done.call)
		m->done.call(m->done.arg, &r);
}

static int import_agent(struct supervisor *s, const char *name,
			const char *path, const char *by,
			struct completion done, struct err *e)
{
	struct staged_agent *m = txn_alloc(&s->txn, sizeof *m);
	struct arena a = {0};
	int rc;

	control_set_actor(by);
	*m = (struct staged_agent){s, txn_text(&s->txn, name),
				   txn_text(&s->txn, path), done};
	rc = check_import_path(s, path, e) || txn_begin(&s->txn, e) ||
	     agent_bundle_import(s->db, &s->home, name, path, &a, e);
	arena_fini(&a);
	if (rc)
		return -1;
	txn_on_rollback(&s->txn, undo_import, m);
	txn_on_commit(&s->txn, end_import, m);
	return 0;
}

int supervisor_agent_import(struct supervisor *s, const char *name,
			    const char *path, const char *by,
			    struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, import_agent(s, name, path, by, done, e),
			   e);
}
