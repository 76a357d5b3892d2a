#include "supervisor/core/jobs.h"

#include "lib/base/clock.h"
#include "lib/base/log.h"
#include "schema/control_queries.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define AGAIN_MS 60000 /* after one that failed */
#define WORDS    4

static const struct chore {
	const char *name;
	const char *words[WORDS]; /* of the command */
	size_t every;             /* where in the configuration */
} chores[KEEPER_CHORES] = {
	{"backup",
	 {"backup", "create", "--scheduled", NULL},
	 offsetof(struct config, backup_every)},
	{"tend", {"state", "tend", NULL}, offsetof(struct config, state_tend)},
};

static int64_t every(const struct keeper *k, int chore)
{
	const char *c = (const char *)k->config;

	return *(const config_millis *)(const void *)(c + chores[chore].every);
}

void keeper_init(struct keeper *k, const struct home *home,
		 const struct config *config, struct sql *db)
{
	*k = (struct keeper){.home = home, .config = config, .db = db};
}

/* A backup is due by when the last one began, also over a restart. */
static int64_t first_time(struct keeper *k, int chore)
{
	struct backup_last_row last = {.at = OPT_NONE};
	struct err e;

	if (strcmp(chores[chore].name, "backup") != 0)
		return clock_now() + every(k, chore);
	if (sql_get(k->db, Q_BACKUP_LAST, &(struct backup_last_in){"scheduled"},
		    &last, NULL, &e) < 0 ||
	    last.at == OPT_NONE)
		return clock_now();
	return last.at + every(k, chore);
}

static void start(struct keeper *k, int chore)
{
	char path[4096], home[PATH_MAX];
	char *argv[WORDS + 4] = {path, (char[]){"--home"}, home};
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 8);
	char words[WORDS][32];
	int rc, count = 3;

	while (n > 0 && path[n - 1] != '/')
		n--;
	snprintf(path + (n > 0 ? n : 0), 8, "skep");
	snprintf(home, sizeof home, "%s", k->home->root);
	for (int i = 0; chores[chore].words[i]; i++) {
		snprintf(words[i], sizeof words[i], "%s",
			 chores[chore].words[i]);
		argv[count++] = words[i];
	}
	rc = posix_spawn(&k->child, path, NULL, NULL, argv, environ);
	k->chore = chore;
	k->next[chore] = clock_now() + every(k, chore);
	if (rc) {
		k->child = 0;
		log_error(LT("msg", "a chore cannot be started"),
			  LT("chore", chores[chore].name),
			  LT("error", strerror(rc)));
	} else {
		log_info(LT("msg", "a chore began"),
			 LT("chore", chores[chore].name), LI("pid", k->child));
	}
}

static void reap(struct keeper *k)
{
	int64_t again = clock_now() + AGAIN_MS;
	int status;

	if (waitpid(k->child, &status, WNOHANG) != k->child)
		return;
	k->child = 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		log_info(LT("msg", "a chore is done"),
			 LT("chore", chores[k->chore].name));
		return;
	}
	log_warn(LT("msg", "a chore failed"),
		 LT("chore", chores[k->chore].name),
		 LI("status", WIFEXITED(status) ? WEXITSTATUS(status)
						: -WTERMSIG(status)));
	if (again < k->next[k->chore])
		k->next[k->chore] = again;
}

void keeper_tick(struct keeper *k)
{
	if (k->child)
		reap(k);
	for (int i = 0; !k->child && i < KEEPER_CHORES; i++) {
		if (every(k, i) == 0)
			continue;
		if (k->next[i] == 0)
			k->next[i] = first_time(k, i);
		if (clock_now() >= k->next[i])
			start(k, i);
	}
}

void keeper_close(struct keeper *k)
{
	if (!k->child)
		return;
	kill(k->child, SIGTERM); /* ours, and not yet waited for */
	while (waitpid(k->child, NULL, 0) < 0 && errno == EINTR)
		;
	k->child = 0;
}
