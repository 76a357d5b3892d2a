#include "ops/readers.h"

#include "base/buf.h"
#include "base/file.h"
#include "base/proc.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

SHAPE_DEFINE(reader, READER);

/* Bytes of the -shm file that readers lock, each as long as it reads:
 * https://sqlite.org/walformat.html */
#define READ_LOCKS 123
#define MARKS      5
#define READERS    256

static int64_t age_ms(pid_t pid)
{
	struct proc_stat st;
	struct timespec now;

	if (pid <= 0 || proc_stat(pid, &st) ||
	    clock_gettime(CLOCK_BOOTTIME, &now))
		return 0;
	return now.tv_sec * 1000 + now.tv_nsec / 1000000 -
	       st.start_ticks * 1000 / sysconf(_SC_CLK_TCK);
}

static const char *program_of(pid_t pid, struct arena *a)
{
	struct buf b = BUF_MAX(256);
	struct err ignored;
	const char *name = "?";
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
	if (file_read(path, &b, &ignored) == 0 && b.n > 1)
		name = arena_textn(a, b.p, b.n - 1);
	buf_fini(&b);
	return name;
}

/* "1: POSIX  ADVISORY  READ 1234 fd:01:5678 124 124" */
static bool is_reader(const char *line, ino_t shm, int *pid)
{
	unsigned long inode;
	char kind[16];
	int from;

	if (sscanf(line, "%*d: %*s %*s %15s %d %*x:%*x:%lu %d", kind, pid,
		   &inode, &from) != 4)
		return false;
	return inode == shm && from >= READ_LOCKS &&
	       from < READ_LOCKS + MARKS && *pid != getpid();
}

/* The -shm file is not opened: closing it would drop the locks that a
 * connection of ours has on it. */
int readers_of(const char *path, struct reader **out, struct arena *a)
{
	struct buf b = BUF_MAX(16u << 20);
	char shm[PATH_MAX + 8], *rest = NULL;
	struct err ignored;
	struct stat st;
	int n = 0, pid;

	*out = NULL;
	snprintf(shm, sizeof shm, "%s-shm", path);
	if (stat(shm, &st) || file_read("/proc/locks", &b, &ignored)) {
		buf_fini(&b);
		return 0;
	}
	*out = arena_alloc(a, READERS * sizeof **out);
	for (char *line = strtok_r(b.p, "\n", &rest); line && n < READERS;
	     line = strtok_r(NULL, "\n", &rest))
		if (is_reader(line, st.st_ino, &pid))
			(*out)[n++] = (struct reader){
				.path = path,
				.pid = pid,
				.program = program_of(pid, a),
				.age_ms = age_ms(pid),
			};
	buf_fini(&b);
	return n;
}
