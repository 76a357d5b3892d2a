#include "supervisor/channel/plugin/processes.h"

#include "ipc/plugin_shim.h"
#include "ipc/spawn.h"
#include "lib/base/hash.h"
#include "lib/os/proc.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- whose they are --------------------------------------------------- */

/* The directory itself: a path may lead to another one tomorrow. */
static void mark_of(const char *home, const char *id, char out[PLUGIN_MARK])
{
	char hash[HASH_HEX], text[64];
	struct stat st = {0};

	(void)!stat(home, &st);
	snprintf(text, sizeof text, "%llx %llx", (unsigned long long)st.st_dev,
		 (unsigned long long)st.st_ino);
	hash_of(text, strlen(text), hash);
	snprintf(out, PLUGIN_MARK, "%s@%.16s", id, hash);
}

static uint64_t brand_of(const char *mark)
{
	char hash[HASH_HEX];

	hash_of(mark, strlen(mark), hash);
	hash[15] = '\0';
	return PROC_BRAND_MIN | strtoull(hash, NULL, 16);
}

void plugin_tree_init(struct plugin_tree *t, const char *home, const char *id)
{
	*t = (struct plugin_tree){.held = -1};
	mark_of(home, id, t->mark);
	t->brand = brand_of(t->mark);
}

bool plugin_tree_of_mark(struct plugin_tree *t, const char *home,
			 const char *mark)
{
	char id[ID_SIZE];

	snprintf(id, sizeof id, "%.*s", (int)strcspn(mark, "@"), mark);
	if (!id_is(ID_CHANNEL, id))
		return false;
	plugin_tree_init(t, home, id);
	return !strcmp(t->mark, mark);
}

void plugin_tree_fini(struct plugin_tree *t)
{
	if (t->held >= 0)
		close(t->held);
	t->held = -1;
}

/* --- by way of the shim --------------------------------------------- */

/* Between fork and exec a child of the shim looks like it; it has become the
 * plugin then, whom our words would not end. */
static bool still_holds(const struct plugin_tree *t)
{
	struct pollfd ended = {.fd = t->held, .events = POLLIN};
	char mark[PLUGIN_MARK];

	return poll(&ended, 1, 0) == 0 &&
	       proc_env(t->shim, SHIM_MARKER, mark, sizeof mark) &&
	       !strcmp(mark, t->mark);
}

bool plugin_tree_has_shim(struct plugin_tree *t)
{
	int status = 0;
	pid_t pid;

	if (t->shim && t->held >= 0) {
		if (still_holds(t))
			return true;
		plugin_tree_fini(t);
		t->shim = 0;
		t->loose = true; /* nobody told us how it went */
	} else if (t->shim) {
		pid = waitpid(t->shim, &status, WNOHANG);
		if (pid == 0)
			return true;
		t->shim = 0;
		t->loose = pid < 0 || status != 0;
	}
	return false;
}

static void signal_shim(const struct plugin_tree *t, int sig)
{
	if (t->held >= 0)
		syscall(SYS_pidfd_send_signal, t->held, sig, NULL, 0);
	else
		kill(t->shim, sig); /* not waited for: it is its number */
}

/* A shim is never killed: those below it would be lost. */
void plugin_tree_signal(const struct plugin_tree *t, int sig)
{
	if (!t->shim)
		return;
	signal_shim(t, sig == SIGKILL ? SIGQUIT : sig);
	signal_shim(t, SIGCONT); /* should it be stopped */
}

/* --- by a look through /proc ------------------------------------------ */

bool plugin_tree_found(struct plugin_tree *t, pid_t pid)
{
	char mark[PLUGIN_MARK];
	struct proc_stat st;
	int fd;

	if (proc_stat(pid, &st) || st.state == 'Z' || st.state == 'X')
		return false;
	fd = proc_hold(pid, &st);
	if (fd < 0)
		return false;
	t->one = pid;
	if (proc_env(pid, SHIM_MARKER, mark, sizeof mark) && t->held < 0 &&
	    !t->shim) {
		t->shim = pid;
		t->held = fd;
		return true;
	}
	t->denied = t->sig &&
		    syscall(SYS_pidfd_send_signal, fd, t->sig, NULL, 0) &&
		    errno == EPERM;
	close(fd);
	return true;
}

/* The environment may have been emptied, or be another user's; the brand may not
 * have been had. One of them will do. */
static bool visit(void *arg, pid_t pid)
{
	uint64_t brand = proc_brand(pid);
	char mark[PLUGIN_MARK] = "";

	if (!proc_env(pid, SHIM_MARKER, mark, sizeof mark))
		(void)proc_env(pid, SPAWN_MARKER, mark, sizeof mark);
	for (struct plugin_tree *t = arg; t; t = t->next)
		if (t->brand == brand || !strcmp(t->mark, mark))
			(void)plugin_tree_found(t, pid);
	return true;
}

void plugin_trees_look(struct plugin_tree *first)
{
	for (struct plugin_tree *t = first; t; t = t->next) {
		t->one = 0;
		t->denied = false;
	}
	if (first)
		proc_each(visit, first);
}
