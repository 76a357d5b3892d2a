#include "worker/workspace/bootstrap.h"

#include "lib/base/clock.h"
#include "lib/json/json.h"
#include "lib/os/process.h"
#include "lib/os/process_tree.h"
#include "worker/process/child.h"
#include "worker/process/command.h"
#include "worker/workspace/workspace.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define POLL_MS 50
#define TAIL    160 /* bytes of the command's last output */

static const char *const members[] = {"files", "shell", "command",
				      "env",   "pass",  NULL};

/* "disk:/real/path", or "vfs:main:1700000000": a namespace and when it was
 * created. */
static int workspace_key(struct run *r, const char **out, struct err *e)
{
	const char *dir = r->start->workspace;
	struct workspace_created_in key = {workspace_namespace(r)};
	struct workspace_created_row ns = {0};
	char real[PATH_MAX] = "";

	if (!workspace_is_host(r)) {
		if (sql_get(r->transcript.file.db, Q_WORKSPACE_CREATED, &key,
			    &ns, NULL, e) < 0)
			return -1;
		*out = arena_printf(&r->arena, "vfs:%s:%lld", key.name,
				    (long long)ns.made_at);
		return 0;
	}
	if (!realpath(dir ? dir : "/", real))
		return err_set(e, ERR_UNSUPPORTED, "%s: %s", dir,
			       strerror(errno));
	*out = arena_printf(&r->arena, "disk:%s", real);
	return 0;
}

static int mark(struct run *r, const char *place, const char *state,
		struct err *e)
{
	struct process_identity me = process_self();
	struct workspace_setup_put_in row = {
		.place = place,
		.state = state,
		.run_id = r->start->run,
		.pid = me.pid,
		.start_ticks = me.start_ticks,
		.boot_id = me.boot_id,
		.changed_at = clock_now(),
	};

	return sql_exec(r->transcript.file.db, Q_WORKSPACE_SETUP_PUT, &row, e) <
			       0
		       ? -1
		       : 0;
}

static bool is_ours_or_dead(const struct workspace_setup_get_row *row)
{
	struct process_identity owner = {.pid = row->pid,
					 .start_ticks = row->start_ticks};

	snprintf(owner.boot_id, sizeof owner.boot_id, "%s", row->boot_id);
	return row->pid == getpid() || !process_is_alive(&owner);
}

/* Returns 1: this worker has to do it; 0: it is done; 2: another process does
 * it; -1. */
static int check_claim(struct run *r, const char *place, struct err *e)
{
	struct workspace_setup_get_in key = {place};
	struct workspace_setup_get_row row;
	struct arena mem = {0};
	int found = sql_get(r->transcript.file.db, Q_WORKSPACE_SETUP_GET, &key,
			    &row, &mem, e);
	int rc = found;

	if (found > 0 && strcmp(row.state, "done") == 0)
		rc = 0;
	else if (found > 0 && !is_ours_or_dead(&row))
		rc = 2;
	else if (found >= 0)
		rc = mark(r, place, "begun", e) ? -1 : 1;
	arena_fini(&mem);
	return rc;
}

static int claim_bootstrap(struct run *r, const char *place, struct err *e)
{
	struct sql *db = r->transcript.file.db;
	int rc;

	for (;;) {
		if (sql_enter(db, e))
			return -1;
		rc = check_claim(r, place, e);
		if (sql_leave(db, rc < 0 ? -1 : 0, e))
			return -1;
		if (rc != 2)
			return rc;
		if (run_wait(r, POLL_MS, e))
			return -1;
	}
}

/* Keeps the end of the command's output. */
static void read_tail(struct pollfd *p, char tail[TAIL + 1])
{
	char some[4096];
	ssize_t n = read(p->fd, some, sizeof some);
	size_t have = strlen(tail), keep, copy_entry;

	if (n <= 0) {
		p->fd = n < 0 && (errno == EAGAIN || errno == EINTR) ? p->fd
								     : -1;
		return;
	}
	copy_entry = (size_t)n < TAIL ? (size_t)n : TAIL;
	keep = have < TAIL - copy_entry ? have : TAIL - copy_entry;
	memmove(tail, tail + have - keep, keep);
	for (size_t i = 0; i < copy_entry; i++) {
		char c = some[(size_t)n - copy_entry + i];

		tail[keep + i] = (char)(c && c != '\n' ? c : ' ');
	}
	tail[keep + copy_entry] = '\0';
}

static int wait_for(struct run *r, struct child *c, struct err *e)
{
	struct tree_watch watch = {0};
	struct pollfd p[2] = {{.fd = c->out, .events = POLLIN},
			      {.fd = c->err, .events = POLLIN}};
	char tail[TAIL + 1] = "";
	int rc = 0;

	tree_watch(&watch, c->pid);
	while (rc == 0 && (!watch.ended || p[0].fd >= 0 || p[1].fd >= 0)) {
		rc = run_ending(r) ? err_set(e, ERR_CANCELED,
					     "the bootstrap was ended")
				   : run_poll(r, p, 2, POLL_MS, e);
		for (int i = 0; rc == 0 && i < 2; i++)
			if (p[i].fd >= 0 && p[i].revents)
				read_tail(&p[i], tail);
		if (watch.ended && !p[0].revents && !p[1].revents)
			break; /* another process may keep the pipes open */
	}
	tree_unwatch(&watch);
	if (rc || watch.status == 0)
		return rc;
	return err_set(e, ERR_UNSUPPORTED,
		       "the command exited with status %d: %s",
		       WIFEXITED(watch.status) ? WEXITSTATUS(watch.status)
					       : 128 + WTERMSIG(watch.status),
		       tail);
}

static bool has_command(const cJSON *spec)
{
	return cJSON_GetObjectItemCaseSensitive(spec, "shell") ||
	       cJSON_GetObjectItemCaseSensitive(spec, "command");
}

static int run_command(struct run *r, const cJSON *spec, struct err *e)
{
	struct exec_config c = {.cwd = r->workspace->dir};
	struct child_spec how;
	struct child child;
	int rc;

	if (!has_command(spec))
		return 0;
	if (workspace_commands(r->workspace, e) ||
	    exec_config_command(&c, spec, r->start, &r->arena, e))
		return -1;
	how = (struct child_spec){c.argv, c.env, c.cwd,
				  workspace_ns(r->workspace), r->sandbox};
	if (child_start(&child, &how, e))
		return -1;
	close(child.in);
	child.in = -1;
	rc = wait_for(r, &child, e);
	child_close(&child);
	return rc;
}

static int write_file(struct files *s, const cJSON *file, struct err *e)
{
	const char *path = beneath_path(&s->beneath, file->string, e);
	const char *text = cJSON_GetStringValue(file);

	if (!path)
		return -1;
	if (!text)
		return err_set(e, ERR_INVALID, "%s is not a string",
			       file->string);
	return s->kind->put(s, path, (struct blob){text, strlen(text)},
			    FILES_NEW, e);
}

static int write_files(struct files *s, const cJSON *files, struct err *e)
{
	const cJSON *file;
	int rc;

	if (files && !cJSON_IsObject(files))
		return err_set(e, ERR_INVALID,
			       "files must be an object of strings");
	if (!s->kind)
		return err_set(e, ERR_UNSUPPORTED,
			       "cannot enter the workspace");
	rc = s->kind->begin(s, true, e);
	if (rc)
		return -1;
	cJSON_ArrayForEach(file, files)
	{
		if (rc == 0)
			rc = write_file(s, file, e);
	}
	return s->kind->end(s, true, rc, e);
}

static int make_ready(struct run *r, const cJSON *spec, struct err *e)
{
	const cJSON *files = cJSON_GetObjectItemCaseSensitive(spec, "files");
	int rc = write_files(&r->workspace->store, files, e);

	if (rc == 0)
		rc = run_command(r, spec, e);
	return rc ? err_wrap(e, "bootstrap") : 0;
}

static int once(struct run *r, const cJSON *spec, struct err *e)
{
	struct workspace_setup_delete_in key = {0};
	struct err ignored;
	int mine;

	if (exec_config_members("bootstrap", members, spec, e) ||
	    workspace_key(r, &key.place, e))
		return -1;
	mine = claim_bootstrap(r, key.place, e);
	if (mine <= 0)
		return mine;
	if (make_ready(r, spec, e) == 0)
		return mark(r, key.place, "done", e);
	sql_exec(r->transcript.file.db, Q_WORKSPACE_SETUP_DELETE, &key,
		 &ignored);
	return -1;
}

bool bootstrap_commands(const struct run *r)
{
	const char *text = r->start->bootstrap;
	struct err ignored; /* bootstrap_run will report it too */
	cJSON *spec = text ? json_parse_object("bootstrap", text, strlen(text),
					       &ignored)
			   : NULL;
	bool has = spec && has_command(spec);

	cJSON_Delete(spec);
	return has;
}

int bootstrap_run(struct run *r, struct err *e)
{
	const char *text = r->start->bootstrap;
	cJSON *spec;
	int rc;

	if (!text)
		return 0;
	spec = json_parse_object("bootstrap", text, strlen(text), e);
	if (!spec)
		return -1;
	rc = once(r, spec, e);
	cJSON_Delete(spec);
	return rc;
}
