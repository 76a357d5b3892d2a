#include "lib/sandbox/prepared.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static bool write_proc(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) > 0;

	if (fd >= 0)
		close(fd);
	return done;
}

bool ready_map_ids(unsigned uid, unsigned gid)
{
	char users[64], groups[64];

	snprintf(users, sizeof users, "%u %u 1", uid, uid);
	snprintf(groups, sizeof groups, "%u %u 1", gid, gid);
	return write_proc("/proc/self/setgroups", "deny") &&
	       write_proc("/proc/self/uid_map", users) &&
	       write_proc("/proc/self/gid_map", groups);
}

bool ready_loopback_up(void)
{
	struct ifreq lo = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool done;

	lo.ifr_flags = IFF_UP | IFF_RUNNING;
	done = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
	if (fd >= 0)
		close(fd);
	return done;
}

/* Creates them, reports it, and keeps them until the caller holds them. */
static void run_maker(uid_t uid, gid_t gid, int report, int go)
{
	int users = uid == 0 ? 0 : CLONE_NEWUSER;
	char c = 0;

	if (unshare(users | CLONE_NEWNET | CLONE_NEWIPC) == 0 &&
	    (uid == 0 || ready_map_ids(uid, gid)) && ready_loopback_up() &&
	    write(report, &c, 1) == 1)
		(void)!read(go, &c, 1);
	_exit(0);
}

static int open_one(pid_t pid, const char *what)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, what);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static bool open_prepared(struct ready *out, pid_t pid)
{
	bool root = geteuid() == 0;

	*out = (struct ready){.user = root ? -1 : open_one(pid, "user"),
			      .net = open_one(pid, "net"),
			      .ipc = open_one(pid, "ipc")};
	if (out->net >= 0 && out->ipc >= 0 && (root || out->user >= 0))
		return true;
	ready_close(out);
	return false;
}

static bool make_prepared(struct ready *out, const int report[2],
			  const int go[2])
{
	bool done = false;
	uid_t uid = geteuid();
	gid_t gid = getegid();
	pid_t pid = fork();
	char c;

	if (pid == 0) {
		close(report[0]);
		close(go[1]);
		run_maker(uid, gid, report[1], go[0]);
	}
	close(report[1]);
	close(go[0]);
	if (pid > 0 && read(report[0], &c, 1) == 1)
		done = open_prepared(out, pid);
	close(report[0]);
	close(go[1]);
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return done;
}

bool ready_make(struct ready *out)
{
	int report[2], go[2];

	*out = (struct ready)READY_NONE;
	if (pipe2(report, O_CLOEXEC))
		return false;
	if (pipe2(go, O_CLOEXEC)) {
		close(report[0]);
		close(report[1]);
		return false;
	}
	return make_prepared(out, report, go);
}

void ready_close(struct ready *r)
{
	if (r->user >= 0)
		close(r->user);
	if (r->net >= 0)
		close(r->net);
	if (r->ipc >= 0)
		close(r->ipc);
	*r = (struct ready)READY_NONE;
}
