#include "lib/os/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static ssize_t read_proc(pid_t pid, const char *name, char *out, size_t cap)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, out, cap - 1);
	close(fd);
	if (n >= 0)
		out[n] = '\0';
	return n;
}

int proc_stat(pid_t pid, struct proc_stat *out)
{
	char text[1024], *p;
	long long start, rss, user, kernel, ended_user, ended_kernel;
	int parent, group, session;

	if (pid <= 0 || read_proc(pid, "stat", text, sizeof text) <= 0)
		return -1;
	/* The name, field 2, may contain anything, even ") ". */
	p = strrchr(text, ')');
	if (!p ||
	    sscanf(p + 2,
		   "%c %d %d %d %*d %*d %*u %*u %*u %*u %*u %lld %lld %lld "
		   "%lld %*d %*d %*d %*d %lld %*u %lld",
		   &out->state, &parent, &group, &session, &user, &kernel,
		   &ended_user, &ended_kernel, &start, &rss) != 10)
		return -1;
	out->parent = parent;
	out->group = group;
	out->session = session;
	out->start_ticks = start;
	out->rss_pages = rss;
	out->cpu_ticks = user + kernel + ended_user + ended_kernel;
	return 0;
}

int proc_thread_cpu(pid_t thread)
{
	char text[1024], name[32], *at;

	/* /proc/PID/stat would add up the times of all threads */
	snprintf(name, sizeof name, "task/%d/stat", (int)thread);
	if (thread <= 0 || read_proc(thread, name, text, sizeof text) <= 0)
		return -1;
	at = strrchr(text, ')');
	for (int field = 2; at && field < 39; field++)
		at = strchr(at + 1, ' ');
	return at ? (int)strtol(at, NULL, 10) : -1;
}

int proc_each(bool (*fn)(void *arg, pid_t pid), void *arg)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;

	if (!dir)
		return -1;
	while ((d = readdir(dir))) {
		char *end;
		long pid = strtol(d->d_name, &end, 10);

		if (*end == '\0' && pid > 0 && !fn(arg, (pid_t)pid))
			break;
	}
	closedir(dir);
	return 0;
}

/* Scans the complete strings in buf; returns how many bytes they take. */
static size_t scan_env(const char *buf, size_t n, const char *name,
		       const char **value)
{
	size_t len = strlen(name), at = 0;

	while (!*value) {
		const char *end = memchr(buf + at, '\0', n - at);

		if (!end)
			break;
		if (!strncmp(buf + at, name, len) && buf[at + len] == '=')
			*value = buf + at + len + 1;
		at = (size_t)(end - buf) + 1;
	}
	return at;
}

bool proc_env(pid_t pid, const char *name, char *out, size_t cap)
{
	char path[64], buf[8192];
	const char *value = NULL;
	size_t held = 0;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while (!value) {
		ssize_t n = read(fd, buf + held, sizeof buf - held);
		size_t used;

		if (n <= 0)
			break;
		held += (size_t)n;
		used = scan_env(buf, held, name, &value);
		if (value)
			snprintf(out, cap, "%s", value);
		if (used == 0 && held == sizeof buf)
			used = held - 1; /* too large: not one of ours */
		memmove(buf, buf + used, held - used);
		held -= used;
	}
	close(fd);
	return value != NULL;
}

int proc_hold(pid_t pid, const struct proc_stat *seen)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct proc_stat now;

	if (fd < 0)
		return -1;
	/* The process that was examined, now held by fd. */
	if (!proc_stat(pid, &now) && now.start_ticks == seen->start_ticks)
		return fd;
	close(fd);
	return -1;
}

int proc_oom_open(int *score)
{
	int fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	char text[16] = "";

	*score = fd >= 0 && read(fd, text, sizeof text - 1) > 0
			 ? (int)strtol(text, NULL, 10)
			 : 0;
	return fd;
}

void proc_oom_set(int fd, int score)
{
	char text[16];

	snprintf(text, sizeof text, "%d", score < 1000 ? score : 1000);
	if (fd >= 0)
		(void)!pwrite(fd, text, strlen(text), 0);
}

void proc_oom_score(int score)
{
	int now, fd = proc_oom_open(&now);

	proc_oom_set(fd, score > 0 && now + 100 > score ? now + 100 : score);
	if (fd >= 0)
		close(fd);
}
