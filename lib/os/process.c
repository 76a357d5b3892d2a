#include "lib/os/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool read_small(const char *path, char *out, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return false;
	n = read(fd, out, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	out[n] = '\0';
	return true;
}

/* The state letter and the start time are after the last ')': a process can put
 * anything into its name. */
static bool read_stat(int64_t pid, char *state, int64_t *start_ticks)
{
	char path[64], text[1024];
	const char *at;

	snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
	if (!read_small(path, text, sizeof text))
		return false;
	at = strrchr(text, ')');
	return at && sscanf(at + 1,
			    " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u "
			    "%*u %*d %*d %*d %*d %*d %*d %" SCNd64,
			    state, start_ticks) == 2;
}

static void read_boot(char *out, size_t size)
{
	if (!read_small("/proc/sys/kernel/random/boot_id", out, size))
		snprintf(out, size, "unknown");
	out[strcspn(out, "\n")] = '\0';
}

bool process_identity(int64_t pid, struct process_identity *out)
{
	char state;

	*out = (struct process_identity){.pid = pid};
	read_boot(out->boot_id, sizeof out->boot_id);
	return pid > 0 && read_stat(pid, &state, &out->start_ticks);
}

struct process_identity process_self(void)
{
	struct process_identity m;

	process_identity(getpid(), &m);
	return m;
}

bool process_is_alive(const struct process_identity *m)
{
	int64_t start_ticks;
	char state, boot[sizeof m->boot_id];

	if (m->pid <= 0 || !read_stat(m->pid, &state, &start_ticks))
		return false;
	read_boot(boot, sizeof boot);
	return state != 'Z' && state != 'X' && start_ticks == m->start_ticks &&
	       !strcmp(boot, m->boot_id);
}

/* NSpid is the PID in each namespace, from ours to its own. Everyone may read
 * it, unless hidepid hides the processes of other users. */
bool process_is_inside_or_gone(int64_t pid)
{
	char path[64], text[4096];
	const char *line;

	if (pid == 0)
		return false;
	snprintf(path, sizeof path, "/proc/%" PRId64 "/status", pid);
	if (!read_small(path, text, sizeof text))
		return kill((pid_t)pid, 0) != 0 && errno == ESRCH;
	line = strstr(text, "\nNSpid:\t");
	if (!line)
		return false;
	line += strlen("\nNSpid:\t");
	return line[strcspn(line, "\t\n")] == '\t';
}

int process_pidfd(int64_t pid, int64_t start_ticks)
{
	int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
	struct process_identity m;

	if (fd >= 0 &&
	    (!process_identity(pid, &m) || m.start_ticks != start_ticks ||
	     !process_is_alive(&m))) {
		close(fd);
		return -1;
	}
	return fd;
}
