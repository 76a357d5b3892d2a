#include "supervisor/core/jobs.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "lib/os/program_path.h"
#include "schema/control_queries.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RETRY_MS 60000 /* after a failure */
#define ARGS_MAX 4

static const struct job_kind {
	const char *name;
	const char *args[ARGS_MAX]; /* arguments of skep */
	size_t every; /* offset of the interval in struct config */
} jobs[JOB_KINDS] = {
	{"backup",
	 {"backup", "create", "--scheduled", NULL},
	 offsetof(struct config, backup_every)},
	{"maintain",
	 {"state", "maintain", NULL},
	 offsetof(struct config, state_maintain)},
};

static int64_t every(const struct jobs *k, int job)
{
	const char *c = (const char *)k->config;

	return *(const config_millis *)(const void *)(c + jobs[job].every);
}

void jobs_init(struct jobs *k, const struct home *home,
	       const struct config *config, struct sql *db)
{
	*k = (struct jobs){.home = home, .config = config, .db = db};
}

/* The next backup depends on the start of the last one, also after a
 * restart. */
static int64_t first_time(struct jobs *k, int job)
{
	struct backup_last_row last = {.at = OPT_NONE};
	struct err e;

	if (strcmp(jobs[job].name, "backup") != 0)
		return clock_now() + every(k, job);
	if (sql_get(k->db, Q_BACKUP_LAST, &(struct backup_last_in){"scheduled"},
		    &last, NULL, &e) < 0 ||
	    last.at == OPT_NONE)
		return clock_now();
	return last.at + every(k, job);
}

static void start_job(struct jobs *k, int job)
{
	struct program_path path = program_path("skep");
	char home[PATH_MAX];
	char *argv[ARGS_MAX + 4] = {path.text, (char[]){"--home"}, home};
	char args[ARGS_MAX][32];
	int rc, count = 3;

	snprintf(home, sizeof home, "%s", k->home->root);
	for (int i = 0; jobs[job].args[i]; i++) {
		snprintf(args[i], sizeof args[i], "%s", jobs[job].args[i]);
		argv[count++] = args[i];
	}
	rc = posix_spawn(&k->child, path.text, NULL, NULL, argv, environ);
	k->job = job;
	k->next[job] = clock_now() + every(k, job);
	if (rc) {
		k->child = 0;
		log_error(LT("msg", "cannot start a job"),
			  LT("job", jobs[job].name), LT("error", strerror(rc)));
	} else {
		log_info(LT("msg", "job started"), LT("job", jobs[job].name),
			 LI("pid", k->child));
	}
}

static void reap(struct jobs *k)
{
	int64_t retry_at = clock_now() + RETRY_MS;
	int status;

	if (waitpid(k->child, &status, WNOHANG) != k->child)
		return;
	k->child = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		log_info(LT("msg", "job finished"),
			 LT("job", jobs[k->job].name));
		return;
	}
	log_warn(LT("msg", "job failed"), LT("job", jobs[k->job].name),
		 LI("status", WIFEXITED(status) ? WEXITSTATUS(status)
						: -WTERMSIG(status)));
	if (retry_at < k->next[k->job])
		k->next[k->job] = retry_at;
}

void jobs_tick(struct jobs *k)
{
	if (k->child)
		reap(k);
	for (int i = 0; !k->child && i < JOB_KINDS; i++) {
		if (every(k, i) == 0)
			continue;
		if (k->next[i] == 0)
			k->next[i] = first_time(k, i);
		if (clock_now() >= k->next[i])
			start_job(k, i);
	}
}

void jobs_close(struct jobs *k)
{
	if (!k->child)
		return;
	kill(k->child, SIGTERM); /* our child, not reaped yet */
	while (waitpid(k->child, NULL, 0) < 0 && errno == EINTR)
		;
	k->child = 0;
}
