#include "lib/sandbox/cgroup.h"

#include "lib/base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART       128    /* size of a mount path, and of a path below it */
#define CPU_PERIOD 100000 /* µs, the period of the CPU quota */

/* The controller, and its file in the second and in the first version. */
static const struct kind {
	const char *name, *file, *file_v1;
} kinds[CGROUP_LIMITS] = {
	[CGROUP_MEMORY] = {"memory", "memory.max", "memory.limit_in_bytes"},
	[CGROUP_CPU] = {"cpu", "cpu.max", "cpu.cfs_quota_us"},
	[CGROUP_PIDS] = {"pids", "pids.max", "pids.max"},
};

static bool write_attribute(const char *dir, const char *name, const char *text)
{
	char path[CGROUP_PATH + 64];
	bool done;
	int fd;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	done = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
	close(fd);
	return done;
}

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = list; (p = strstr(p, word)); p += n)
		if ((p == list || p[-1] == ',') && (p[n] == ',' || !p[n]))
			return true;
	return false;
}

/* 0: it contains no process; 1: only this one; 2: others. */
static int who_is_in(const char *dir, pid_t pid)
{
	char path[CGROUP_PATH + 64], line[32], own[32];
	int who = 0;
	FILE *f;

	snprintf(path, sizeof path, "%s/cgroup.procs", dir);
	snprintf(own, sizeof own, "%ld\n", (long)pid);
	f = fopen(path, "re");
	if (!f)
		return 2;
	while (who < 2 && fgets(line, sizeof line, f))
		who = strcmp(line, own) ? 2 : 1;
	(void)fclose(f);
	return who;
}

/* A cgroup other than the root can delegate controllers only if it contains no
 * process. Some controllers could be delegated anyway, but then no process
 * could enter a child. Other processes are not ours to move. */
static bool make_empty(const char *dir)
{
	char path[CGROUP_PATH + 64];
	int who;

	snprintf(path, sizeof path, "%s/cgroup.type", dir);
	if (access(path, F_OK))
		return true;
	who = who_is_in(dir, getpid());
	snprintf(path, sizeof path, "%s/" CGROUP_LEAF, dir);
	return who == 0 ||
	       (who == 1 && (mkdir(path, 0755) == 0 || errno == EEXIST) &&
		write_attribute(path, "cgroup.procs", "0"));
}

/* Whether the host lets us delegate a controller. */
static bool find_unified(const char *unified, const char *name, char *out,
			 size_t cap)
{
	char dir[CGROUP_PATH], text[32];
	char *slash;

	if (!unified[0] ||
	    (size_t)snprintf(dir, sizeof dir, "%s", unified) >= sizeof dir)
		return false;
	slash = strrchr(dir, '/');
	if (!slash)
		return false;
	*slash = '\0';
	snprintf(text, sizeof text, "+%s", name);
	if (!make_empty(dir) ||
	    !write_attribute(dir, "cgroup.subtree_control", text))
		return false;
	return (size_t)snprintf(out, cap, "%s", unified) < cap;
}

/* "tmpfs PATH cgroup rw,LIST 0 0", of /proc/self/mounts. */
static bool split_mount(const char *line, char *path, char *list)
{
	return sscanf(line, "%*s %127s cgroup %255s", path, list) == 2;
}

/* "7:LIST:PATH", of /proc/self/cgroup. */
static bool split_own(const char *line, char *path, char *list)
{
	return sscanf(line, "%*[0-9]:%255[^:]:%127s", list, path) == 2;
}

/* The path of the line whose list names the controller. */
static bool find_line(const char *file, const char *name,
		      bool (*split)(const char *, char *, char *), char *path)
{
	FILE *f = fopen(file, "re");
	char line[1024], list[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof line, f))
		found = split(line, path, list) && has_word(list, name) &&
			strlen(path) < PART - 1; /* as a whole */
	if (f)
		(void)fclose(f);
	return found;
}

void cgroup_prefix(const char *home, char out[CGROUP_PREFIX])
{
	char hash[HASH_HEX];

	hash_of(home, strlen(home), hash);
	snprintf(out, CGROUP_PREFIX, "skep-%.8s-", hash);
}

static bool find_first(const char *name, const char *prefix, char *out,
		       size_t cap)
{
	char mount[PART], own[PART], probe[CGROUP_PATH];

	if (!find_line("/proc/self/mounts", name, split_mount, mount) ||
	    !find_line("/proc/self/cgroup", name, split_own, own) ||
	    (size_t)snprintf(out, cap, "%s%s/%s", mount,
			     strcmp(own, "/") ? own : "", prefix) >= cap)
		return false;
	if ((size_t)snprintf(probe, sizeof probe, "%sprobe", out) >=
	    sizeof probe)
		return false;
	if (mkdir(probe, 0755) && errno != EEXIST)
		return false;
	rmdir(probe);
	return true;
}

/* --- looking ------------------------------------------------------------- */

/* "cgroup2 PATH cgroup2 …": as much of it as the caller asks for. */
static bool split_mount2(const char *line, char *path, char *list)
{
	snprintf(list, 256, "*");
	return sscanf(line, "%*s %127s cgroup2 %*s", path) == 1 &&
	       strstr(line, " cgroup2 ") != NULL;
}

static bool split_own2(const char *line, char *path, char *list)
{
	snprintf(list, 256, "*");
	return sscanf(line, "0::%127s", path) == 1;
}

/* Words separated by spaces, in a file of a cgroup. */
static bool lists(const char *dir, const char *file, const char *word)
{
	char path[CGROUP_PATH + 64], have[32];
	bool found = false;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, file);
	f = fopen(path, "re");
	while (f && !found && fscanf(f, "%31s", have) == 1)
		found = strcmp(have, word) == 0;
	if (f)
		(void)fclose(f);
	return found;
}

bool cgroup_unified(pid_t pid, char *out, size_t cap)
{
	char proc[48], mount[PART], own[PART], *leaf;

	snprintf(proc, sizeof proc, "/proc/%d/cgroup", (int)pid);
	if (!find_line("/proc/self/mounts", "*", split_mount2, mount) ||
	    !find_line(proc, "*", split_own2, own))
		return false;
	leaf = strrchr(own, '/');
	if (leaf && (strcmp(leaf + 1, CGROUP_LEAF) == 0 || !leaf[1]))
		*leaf = '\0';
	return (size_t)snprintf(out, cap, "%s%s", mount, own) < cap;
}

static bool probe_unified(const char *name, pid_t pid)
{
	char dir[CGROUP_PATH], type[CGROUP_PATH + 64];

	if (!cgroup_unified(pid, dir, sizeof dir))
		return false;
	snprintf(type, sizeof type, "%s/cgroup.type", dir);
	return lists(dir, "cgroup.subtree_control", name) ||
	       (lists(dir, "cgroup.controllers", name) &&
		access(dir, W_OK) == 0 &&
		(access(type, F_OK) || who_is_in(dir, pid) < 2));
}

static bool probe_hierarchies(const char *name, const char *proc)
{
	char mount[PART], own[PART], dir[CGROUP_PATH + 8];

	if (!find_line("/proc/self/mounts", name, split_mount, mount) ||
	    !find_line(proc, name, split_own, own))
		return false;
	snprintf(dir, sizeof dir, "%s%s", mount, own);
	return access(dir, W_OK) == 0;
}

void cgroup_probe(pid_t pid, bool has[CGROUP_LIMITS])
{
	char proc[48];

	snprintf(proc, sizeof proc, "/proc/%d/cgroup", (int)pid);
	for (int i = 0; i < CGROUP_LIMITS; i++)
		has[i] = probe_unified(kinds[i].name, pid) ||
			 probe_hierarchies(kinds[i].name, proc);
}

/* --- finding --------------------------------------------------------------- */

void cgroup_find(struct cgroup_bases *p, const char *unified, const char *home)
{
	char prefix[CGROUP_PREFIX];

	cgroup_prefix(home, prefix);
	for (int i = 0; i < CGROUP_LIMITS; i++)
		if (!find_unified(unified, kinds[i].name, p->base[i],
				  sizeof p->base[i]) &&
		    !find_first(kinds[i].name, prefix, p->base[i],
				sizeof p->base[i]))
			p->base[i][0] = '\0';
}

static void dir_of(const struct cgroup_bases *p, int i, const char *run,
		   char out[CGROUP_PATH])
{
	snprintf(out, CGROUP_PATH, "%s%.40s", p->base[i], run);
}

bool cgroup_plan(const struct cgroup_bases *p, const struct sandbox_limits *l,
		 const char *run, struct cgroup_limits out[CGROUP_LIMITS])
{
	const int64_t max[CGROUP_LIMITS] = {l->memory, l->cpu, l->pids};
	bool all = true;

	for (int i = 0; i < CGROUP_LIMITS; i++) {
		bool named = i == CGROUP_PIDS     ? l->pids_set
			     : i == CGROUP_MEMORY ? l->memory_set
						  : true;

		out[i] = (struct cgroup_limits){
			.max = max[i], .late = i == CGROUP_PIDS || !named};
		if (max[i] > 0 && p->base[i][0])
			dir_of(p, i, run, out[i].dir);
		else if (!named)
			out[i].max = 0;
		else if (max[i] > 0)
			all = false;
	}
	return all;
}

/* Without root, processes are counted by a resource limit as well. */
int cgroup_accept(const struct cgroup_bases *p, const struct sandbox_spec *s,
		  struct err *e)
{
	struct cgroup_limits limits[CGROUP_LIMITS];

	if (s->mode == SANDBOX_OFF || cgroup_plan(p, &s->limits, "", limits))
		return 0;
	for (int i = 0; i < CGROUP_LIMITS; i++)
		if (limits[i].max > 0 && !limits[i].dir[0] &&
		    (i != CGROUP_PIDS || geteuid() == 0))
			return err_set(e, ERR_NOTALLOWED,
				       "limits.%s cannot be enforced: there is "
				       "no cgroup for it (see skep doctor); "
				       "remove the limit, or run skepd where "
				       "cgroups are delegated to it",
				       kinds[i].name);
	return 0;
}

void cgroup_set(const struct cgroup_limits limits[CGROUP_LIMITS])
{
	char text[64];

	for (int i = 0; i < CGROUP_LIMITS; i++) {
		long long n = limits[i].max;

		if (!limits[i].dir[0] || limits[i].late)
			continue;
		(void)mkdir(limits[i].dir, 0755);
		if (i == CGROUP_CPU)
			n = n * CPU_PERIOD / 100;
		snprintf(text, sizeof text,
			 i == CGROUP_CPU ? "%lld %d" : "%lld", n, CPU_PERIOD);
		if (write_attribute(limits[i].dir, kinds[i].file, text))
			continue;
		snprintf(text, sizeof text, "%lld", n);
		(void)write_attribute(limits[i].dir, kinds[i].file_v1, text);
	}
}

void cgroup_join(const struct cgroup_limits limits[CGROUP_LIMITS],
		 const char *own)
{
	for (int i = 0; i < CGROUP_LIMITS; i++)
		if (limits[i].dir[0] && !limits[i].late &&
		    strcmp(limits[i].dir, own) != 0)
			(void)write_attribute(limits[i].dir, "cgroup.procs",
					      "0");
	if (limits[CGROUP_MEMORY].dir[0])
		(void)setenv(CGROUP_MEMORY_DIR, limits[CGROUP_MEMORY].dir, 1);
	if (limits[CGROUP_PIDS].dir[0])
		(void)setenv(CGROUP_PIDS_DIR, limits[CGROUP_PIDS].dir, 1);
}

/* Whether the calling process is in it. In version 2 it is the cgroup in which
 * the worker was created. */
static bool is_in(const char *dir, int which)
{
	char path[CGROUP_PATH + 64], own[PART];
	size_t n, all = strlen(dir);

	snprintf(path, sizeof path, "%s/cgroup.controllers", dir);
	if (access(path, F_OK) == 0)
		return true;
	if (!find_line("/proc/self/cgroup", kinds[which].name, split_own, own))
		return false;
	n = strlen(own);
	return n > 1 && n <= all && strcmp(dir + all - n, own) == 0;
}

static void enter_cgroup(const char *dir, int which)
{
	if (!is_in(dir, which))
		(void)write_attribute(dir, "cgroup.procs", "0");
}

static bool set_limit(const char *dir, int which, const char *text)
{
	return write_attribute(dir, kinds[which].file, text) ||
	       write_attribute(dir, kinds[which].file_v1, text);
}

/* The cgroup of a preforked worker usually exists. */
static void limit_late(const char *dir, int which, int64_t max)
{
	char text[32];

	snprintf(text, sizeof text, "%lld", (long long)max);
	if (!set_limit(dir, which, text) && mkdir(dir, 0755) == 0)
		(void)set_limit(dir, which, text);
	enter_cgroup(dir, which);
}

void cgroup_enter_early(void)
{
	const char *pids = getenv(CGROUP_PIDS_DIR);
	const char *memory = getenv(CGROUP_MEMORY_DIR);

	if (pids) {
		(void)mkdir(pids, 0755);
		enter_cgroup(pids, CGROUP_PIDS);
	}
	if (memory) {
		(void)mkdir(memory, 0755);
		enter_cgroup(memory, CGROUP_MEMORY);
	}
}

void cgroup_limit_late(const struct sandbox_limits *l)
{
	const char *pids = getenv(CGROUP_PIDS_DIR);
	const char *memory = getenv(CGROUP_MEMORY_DIR);

	if (pids && l->pids > 0)
		limit_late(pids, CGROUP_PIDS, l->pids);
	if (memory && l->memory > 0 && !l->memory_set)
		limit_late(memory, CGROUP_MEMORY, l->memory);
	(void)unsetenv(CGROUP_PIDS_DIR);
}

/* --- the end ------------------------------------------------------------- */

int cgroup_oom_open(const char *dir)
{
	char path[CGROUP_PATH + 64];
	int fd;

	snprintf(path, sizeof path, "%s/memory.events", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof path, "%s/memory.oom_control", dir);
	return open(path, O_RDONLY | O_CLOEXEC);
}

int64_t cgroup_oom_read(int fd)
{
	char text[512];
	ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
	const char *at;

	text[n > 0 ? n : 0] = '\0';
	at = strstr(text, "oom_kill ");
	return at ? strtoll(at + strlen("oom_kill "), NULL, 10) : 0;
}

int64_t cgroup_oom(const struct cgroup_bases *p, const char *run)
{
	char dir[CGROUP_PATH];
	int64_t n;
	int fd;

	if (!p->base[CGROUP_MEMORY][0])
		return 0;
	dir_of(p, CGROUP_MEMORY, run, dir);
	fd = cgroup_oom_open(dir);
	n = cgroup_oom_read(fd);
	if (fd >= 0)
		close(fd);
	return n;
}

void cgroup_release(const struct cgroup_bases *p, const char *run)
{
	char dir[CGROUP_PATH];

	for (int i = 0; i < CGROUP_LIMITS; i++) {
		if (!p->base[i][0])
			continue;
		dir_of(p, i, run, dir);
		(void)rmdir(dir);
	}
}
