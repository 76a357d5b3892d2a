#include "supervisor/process/processes.h"

#include "ipc/spawn.h"
#include "lib/base/buf.h"
#include "lib/os/file.h"
#include "lib/os/proc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CGROUP_FILE_MAX (1u << 20)
#define BASE_MAX        210 /* leaves 40 bytes for the id */
#define RECHECK_MAX_MS  500

/* --- cgroups ---------------------------------------------------------- */

static void find_unified(struct process_roots *p, const char *home)
{
	char dir[BASE_MAX - 16], probe[256], prefix[CGROUP_PREFIX];

	if (!cgroup_unified(getpid(), dir, sizeof dir))
		return;
	cgroup_prefix(home, prefix);
	snprintf(p->base, sizeof p->base, "%s/%s", dir, prefix);
	processes_cgroup(p, "probe", probe);
	if (mkdir(probe, 0755) && errno != EEXIST)
		p->base[0] = '\0';
	else
		rmdir(probe);
}

void process_roots_find(struct process_roots *p, const char *how,
			const char *home)
{
	*p = (struct process_roots){0};
	if (!strcmp(how, "off"))
		return;
	find_unified(p, home);
	cgroup_find(&p->limits, p->base, home);
}

void processes_cgroup(const struct process_roots *p, const char *name,
		      char *out)
{
	out[0] = '\0';
	if (p->base[0])
		snprintf(out, 256, "%.*s%.40s", BASE_MAX, p->base, name);
}

bool processes_have_cgroup(const struct process_roots *p, const char *name)
{
	char dir[256];

	processes_cgroup(p, name, dir);
	return dir[0] && access(dir, F_OK) == 0;
}

static const char *cgroup_of(const struct processes *t)
{
	return t->cgroup ? t->cgroup : t->run;
}

static int cgroup_read(const struct process_roots *p, const struct processes *t,
		       const char *name, struct buf *b)
{
	char dir[256], path[300];
	struct err e;

	processes_cgroup(p, cgroup_of(t), dir);
	snprintf(path, sizeof path, "%s/%s", dir, name);
	return file_read(path, b, &e);
}

static bool cgroup_kill(const struct process_roots *p,
			const struct processes *t)
{
	char dir[256], path[300];
	bool done;
	int fd;

	processes_cgroup(p, cgroup_of(t), dir);
	snprintf(path, sizeof path, "%s/cgroup.kill", dir);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, "1", 1) == 1;
	close(fd);
	return done;
}

/* --- processes of a run -------------------------------------------------- */

struct walk {
	const struct process_roots *roots;
	const struct processes *tree;
	bool worker_is_alive;
	int found;
	pid_t one; /* pid of the last one found */
	int64_t pages, ticks;
	int sig; /* 0: only count */
};

static bool belongs_to_run(const struct walk *w, pid_t pid,
			   struct proc_stat *st)
{
	char marker[SPAWN_RUN];

	if (pid == w->roots->spawner || proc_stat(pid, st) ||
	    st->state == 'Z' || st->state == 'X')
		return false;
	if (pid == w->tree->worker)
		return st->start_ticks == w->tree->start_ticks;
	if (w->worker_is_alive && st->session == w->tree->worker)
		return true;
	if (proc_env(pid, SPAWN_MARKER, marker, sizeof marker))
		return !strcmp(marker, w->tree->run);
	return w->roots->spawner > 0 && st->parent == w->roots->spawner;
}

static void signal_one(const struct walk *w, pid_t pid,
		       const struct proc_stat *seen)
{
	int fd = proc_hold(pid, seen);

	if (fd < 0)
		return;
	syscall(SYS_pidfd_send_signal, fd, w->sig, NULL, 0);
	close(fd);
}

static bool visit_process(void *arg, pid_t pid)
{
	struct walk *w = arg;
	struct proc_stat st;

	if (!belongs_to_run(w, pid, &st))
		return true;
	w->found++;
	w->one = pid;
	w->pages += st.rss_pages;
	w->ticks += st.cpu_ticks;
	if (w->sig)
		signal_one(w, pid, &st);
	return true;
}

/* All members of the cgroup belong to the run. */
static void walk_cgroup(struct walk *w)
{
	struct buf b = BUF_MAX(CGROUP_FILE_MAX);
	char *save = NULL, *line;

	if (!cgroup_read(w->roots, w->tree, "cgroup.procs", &b)) {
		for (line = strtok_r(b.p, "\n", &save); line;
		     line = strtok_r(NULL, "\n", &save)) {
			pid_t pid = (pid_t)strtol(line, NULL, 10);
			struct proc_stat st;

			if (proc_stat(pid, &st) || st.state == 'Z')
				continue;
			w->found++;
			w->one = pid;
			w->pages += st.rss_pages;
			w->ticks += st.cpu_ticks;
			if (w->sig)
				signal_one(w, pid, &st);
		}
	}
	buf_fini(&b);
}

static struct walk walk_processes(const struct process_roots *p,
				  const struct processes *t, int sig)
{
	struct walk w = {.roots = p, .tree = t, .sig = sig};
	struct proc_stat st;

	w.worker_is_alive = t->worker > 0 && !proc_stat(t->worker, &st) &&
			    st.start_ticks == t->start_ticks && st.state != 'Z';
	if (t->in_cgroup)
		walk_cgroup(&w);
	else
		proc_each(visit_process, &w);
	return w;
}

int processes_count(const struct process_roots *p, const struct processes *t,
		    struct process_usage *use)
{
	struct walk w;

	if (t->in_cgroup && !use) {
		struct buf b = BUF_MAX(4096);
		bool empty = !cgroup_read(p, t, "cgroup.events", &b) &&
			     strstr(b.p, "populated 0");

		buf_fini(&b);
		if (empty)
			return 0;
	}
	w = walk_processes(p, t, 0);
	if (use)
		*use = (struct process_usage){w.pages * sysconf(_SC_PAGESIZE),
					      w.ticks * 1000 /
						      sysconf(_SC_CLK_TCK)};
	return w.found;
}

pid_t processes_find_one(const struct process_roots *p,
			 const struct processes *t, bool *denied)
{
	struct walk w = walk_processes(p, t, 0);

	*denied = w.one && kill(w.one, 0) && errno == EPERM;
	return w.one;
}

int64_t processes_recheck_ms(unsigned checks)
{
	int64_t wait = 2 + (int64_t)checks * (int64_t)checks;

	return wait < RECHECK_MAX_MS ? wait : RECHECK_MAX_MS;
}

int processes_signal(const struct process_roots *p, const struct processes *t,
		     int sig)
{
	struct walk w;

	if (sig == SIGKILL && t->in_cgroup && cgroup_kill(p, t))
		return 1;
	w = walk_processes(p, t, sig);
	return w.found;
}

void processes_remove_cgroup(const struct process_roots *p, const char *name)
{
	char dir[256];

	processes_cgroup(p, name, dir);
	if (dir[0])
		rmdir(dir);
	cgroup_release(&p->limits, name);
}

static void each_cgroup_below(const char *base,
			      void (*fn)(void *arg, const char *name),
			      void *arg)
{
	char dir[256];
	const struct dirent *entry;
	const char *prefix;
	DIR *d;

	if (!base[0])
		return;
	snprintf(dir, sizeof dir, "%s", base);
	prefix = strrchr(base, '/') + 1;
	*strrchr(dir, '/') = '\0';
	d = opendir(dir);
	while (d && (entry = readdir(d)))
		if (!strncmp(entry->d_name, prefix, strlen(prefix)))
			fn(arg, entry->d_name + strlen(prefix));
	if (d)
		closedir(d);
}

/* A cgroup may be left in a hierarchy of version 1 only. */
void processes_each_cgroup(const struct process_roots *p,
			   void (*fn)(void *arg, const char *name), void *arg)
{
	each_cgroup_below(p->base, fn, arg);
	for (int i = 0; i < CGROUP_LIMITS; i++)
		if (strcmp(p->limits.base[i], p->base) != 0)
			each_cgroup_below(p->limits.base[i], fn, arg);
}

/* --- after a restart -------------------------------------------------- */

struct search {
	const struct process_roots *roots;
	const char *run;
	pid_t found;
};

/* The worker is a session leader whose parent does not have the marker. Its
 * descendants may lead sessions too, but their parents have the marker. */
static bool is_worker_of_run(void *arg, pid_t pid)
{
	struct search *s = arg;
	char marker[SPAWN_RUN];
	struct proc_stat st;

	if (pid == s->roots->spawner || proc_stat(pid, &st) ||
	    st.session != pid || st.state == 'Z' ||
	    !proc_env(pid, SPAWN_MARKER, marker, sizeof marker) ||
	    strcmp(marker, s->run) != 0)
		return true;
	if (proc_env(st.parent, SPAWN_MARKER, marker, sizeof marker) &&
	    !strcmp(marker, s->run))
		return true;
	s->found = pid;
	return false;
}

pid_t processes_find_worker(const struct process_roots *p, const char *run)
{
	struct search s = {.roots = p, .run = run};

	proc_each(is_worker_of_run, &s);
	return s.found;
}
