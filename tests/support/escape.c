/*
 * Runs inside of a sandbox and tries to get out of it, in every way that
 * escape.def lists: prints a line for each, "name outcome errno". What it needs
 * to know of the outside is in its environment
 * (tests/system/sandbox/test_escape.py).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/if_packet.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#define MIB (1u << 20)

static char room[4096], zeros[256];
static const uint64_t ones[8] = {3};
static const struct rlimit none[1] = {{0, 0}};
static pid_t other_pid, worker_pid, skepd_pid;

/* The letters of escape.def. */
#define P other_pid
#define W worker_pid
#define K skepd_pid

#define call(...) ((int)syscall(__VA_ARGS__))

/* --- what the test says ---------------------------------------------------- */

static const char *text(const char *name)
{
	const char *value = getenv(name);

	return value ? value : "/nonexistent";
}

static long number_of(const char *name)
{
	return strtol(text(name), NULL, 10);
}

/* In memory that is never given back: there are few of them. */
static const char *joined(const char *a, const char *b)
{
	static char pool[1 << 20];
	static size_t used;
	char *out = pool + used;
	int n = snprintf(out, sizeof pool - used, "%s/%s", a, b);

	used += n > 0 ? (size_t)n + 1 : 0;
	return out;
}

static const char *below(const char *name, const char *rest)
{
	return joined(text(name), rest);
}

static const char *proc(pid_t pid, const char *name)
{
	char dir[32];

	snprintf(dir, sizeof dir, "/proc/%d", (int)pid);
	return joined(dir, name);
}

/* --- tries: 0 or more when it worked ----------------------------------------- */

static int close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
	return fd;
}

/* A call with arguments that make no sense: did it come as far as to say so? */
#define reached(...)                                                     \
	(call(__VA_ARGS__) >= 0 || (errno != EPERM && errno != EACCES && \
				    errno != ENOSYS)                     \
		 ? 0                                                     \
		 : -1)

static int fd_of(const char *path, int flags)
{
	return close_fd(open(path, flags | O_CLOEXEC | O_NONBLOCK));
}

static int made(const char *path)
{
	return close_fd(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* A byte of it. */
static int rd(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char c;
	ssize_t n = fd < 0 ? -1 : read(fd, &c, 1);
	int sys = n == 0 ? ENODATA : errno;

	(void)close_fd(fd);
	errno = sys;
	return n == 1 ? 0 : -1;
}

static int rd_link(const char *path)
{
	(void)unlink("link");
	return symlink(path, "link") ? -1 : rd("link");
}

static int wr_link(const char *path)
{
	(void)unlink("link");
	return symlink(path, "link") ? -1 : fd_of("link", O_WRONLY);
}

static int stat_of(const char *path)
{
	struct stat st;

	return stat(path, &st);
}

/* With something in it. */
static int opendir_of(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n > 0 ? 0 : -1;
}

static int count_pids(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] >= '0' && e->d_name[0] <= '9';
	if (d)
		closedir(d);
	return n;
}

static int count_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 256; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Programs that open it for writing would wait for us. */
static int lease_on(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc = fd < 0 ? -1 : fcntl(fd, F_SETLEASE, F_RDLCK);

	(void)close_fd(fd);
	return rc;
}

static int lease_own(void)
{
	return close_fd(open("leased", O_WRONLY | O_CREAT | O_CLOEXEC, 0600)) <
			       0
		       ? -1
		       : lease_on("leased");
}

static int watch_path(const char *path)
{
	int fd = inotify_init1(IN_CLOEXEC);
	int rc = inotify_add_watch(fd, path, IN_ALL_EVENTS);
	int sys = errno;

	(void)close_fd(fd);
	errno = sys;
	return rc;
}

/* To what it is already: the machine must not suffer if it works. */
static int same_mode(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : chmod(path, st.st_mode & 07777);
}

static int same_owner(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : chown(path, st.st_uid, st.st_gid);
}

static int same_times(const char *path)
{
	struct stat st;
	struct timespec t[2];

	if (stat(path, &st))
		return -1;
	t[0] = st.st_atim;
	t[1] = st.st_mtim;
	return utimensat(AT_FDCWD, path, t, 0);
}

/* One that is not there: says so only if it could have been removed. */
static int no_attribute(const char *path)
{
	return removexattr(path, "user.skep.none") && errno != ENODATA ? -1 : 0;
}

static int steal_descriptor(pid_t pid)
{
	int fd = call(SYS_pidfd_open, pid, 0);
	int rc = fd < 0 ? -1 : close_fd(call(SYS_pidfd_getfd, fd, 0, 0));

	(void)close_fd(fd);
	return rc;
}

static int vm_read(pid_t pid)
{
	char c;
	struct iovec here = {&c, 1}, there = {room, 1};

	return process_vm_readv(pid, &here, 1, &there, 1, 0) < 0 &&
			       errno != EFAULT
		       ? -1
		       : 0;
}

static int enter_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int rc = setns(fd, 0), sys = errno;

	(void)close_fd(fd);
	errno = sys;
	return rc;
}

static int forked(unsigned long flags)
{
	pid_t pid = (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);

	if (pid == 0)
		_exit(0);
	if (pid > 0)
		(void)waitpid(pid, NULL, 0);
	return pid < 0 ? -1 : 0;
}

static int gain_capability(void)
{
	struct __user_cap_header_struct h = {_LINUX_CAPABILITY_VERSION_3, 0};
	struct __user_cap_data_struct d[2] = {{0}};

	d[0].permitted = d[0].effective = 1u << CAP_SYS_ADMIN;
	return call(SYS_capset, &h, d);
}

static long core_limit(void)
{
	struct rlimit r;

	return getrlimit(RLIMIT_CORE, &r) ? 0 : (long)r.rlim_max;
}

/* --- sockets ------------------------------------------------------------------- */

static int conn_to(const struct sockaddr *at, socklen_t n)
{
	int fd = socket(at->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int rc = connect(fd, at, n), sys = errno;

	(void)close_fd(fd);
	errno = sys;
	return rc;
}

static int conn(const char *path)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	snprintf(at.sun_path, sizeof at.sun_path, "%.100s", path);
	return conn_to((struct sockaddr *)&at, sizeof at);
}

static int conn_abstract(const char *name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	size_t n = strlen(name);

	memcpy(at.sun_path + 1, name, n);
	return conn_to(
		(struct sockaddr *)&at,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n));
}

static int conn_port(long port)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

	return conn_to((struct sockaddr *)&at, sizeof at);
}

static int conn_own(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t n = sizeof at;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

	if (bind(fd, (struct sockaddr *)&at, n) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)&at, &n))
		return -1;
	rc = conn_to((struct sockaddr *)&at, n);
	(void)close_fd(fd);
	return rc;
}

static int loopback_down(void)
{
	struct ifreq lo = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int rc = ioctl(fd, SIOCSIFFLAGS, &lo), sys = errno;

	(void)close_fd(fd);
	errno = sys;
	return rc;
}

/* --- too much ------------------------------------------------------------------- */

static int open_many(int n)
{
	int last = 0, made_fds = 0, sys;

	for (; made_fds < n && last >= 0; made_fds++)
		last = fcntl(0, F_DUPFD_CLOEXEC, 0);
	sys = errno;
	(void)syscall(SYS_close_range, 3U, ~0U, 0U);
	errno = sys;
	return last < 0 ? -1 : 0;
}

static int grow_file(off_t size)
{
	int fd = open("big", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	int rc = ftruncate(fd, size), sys = errno;

	(void)close_fd(fd);
	errno = sys;
	return rc;
}

static int fill_disk(const char *path, int mib)
{
	static char block[MIB];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	ssize_t n = 1;

	while (n > 0 && mib-- > 0)
		n = write(fd, block, sizeof block);
	(void)close_fd(fd);
	(void)unlink(path);
	return n > 0 ? 0 : -1;
}

static int fork_many(int n)
{
	pid_t pid[256];
	int i = 0, sys;

	while (i < n && (pid[i] = fork()) >= 0) {
		if (pid[i] == 0)
			pause();
		i++;
	}
	sys = errno;
	for (int k = 0; k < i; k++) {
		(void)kill(pid[k], SIGKILL);
		(void)waitpid(pid[k], NULL, 0);
	}
	errno = sys;
	return i == n ? 0 : -1;
}

/* In a process of its own: the kernel ends it. */
static int take_memory(int mib)
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		for (int i = 0; i < mib; i++) {
			char *p = malloc(MIB);

			if (!p)
				_exit(1);
			memset(p, 1, MIB);
		}
		_exit(0);
	}
	(void)waitpid(pid, &status, 0);
	return status == 0 ? 0 : -1;
}

static int set_id(const char *path, mode_t bit)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd >= 0)
		close(fd);
	return fd < 0 ? -1 : chmod(path, 0600 | bit);
}

/* By a call that makes a file. The kernel may ignore the bits. */
static int made_set_id(const char *path, mode_t bit)
{
	struct stat st;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600 | bit);

	if (fd < 0)
		return -1;
	close(fd);
	return stat(path, &st) == 0 && st.st_mode & bit ? 0 : -1;
}

/* socket(2) as 32-bit programs call it, with arguments in memory. */
static int old_socket(int family)
{
#if defined(__x86_64__)
	unsigned *args = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	int rc;

	if (args == MAP_FAILED)
		return -1;
	args[0] = (unsigned)family;
	args[1] = SOCK_STREAM;
	args[2] = 0;
	__asm__ volatile("int $0x80"
			 : "=a"(rc)
			 : "a"(102), "b"(1), "c"(args)
			 : "memory", "r8", "r9", "r10", "r11");
	errno = rc < 0 ? -rc : 0;
	return rc < 0 ? -1 : rc;
#else
	(void)family;
	errno = ENOSYS;
	return -1;
#endif
}

/* --- all of them ------------------------------------------------------------------ */

#define PROBE(name, expression, root, user) \
	static int try_##name(void)         \
	{                                   \
		return (int)(expression);   \
	}
#include "tests/support/escape.def"
#undef PROBE

static const struct probe {
	const char *name;
	int (*fn)(void);
	const char *root, *user;
} probes[] = {
#define PROBE(name, expression, root, user) {#name, try_##name, root, user},
#include "tests/support/escape.def"
#undef PROBE
};

int main(int argc, char **argv)
{
	static const char *const levels[] = {"strict", "default", "network",
					     "off", "partial"};
	const int n = sizeof levels / sizeof *levels;
	int level = 0;

	while (level < n && (argc < 2 || strcmp(levels[level], argv[1]) != 0))
		level++;
	if (level == n) {
		fprintf(stderr, "usage: escape "
				"strict|default|network|off|partial\n");
		return 64;
	}
	P = (pid_t)number_of("OTHER_PID");
	W = (pid_t)number_of("WORKER_PID");
	K = (pid_t)number_of("SKEPD_PID");
	(void)signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; i < sizeof probes / sizeof *probes; i++) {
		const struct probe *p = &probes[i];
		char want = (getuid() ? p->user : p->root)[level];
		int rc;

		if (want == '-')
			continue;
		errno = 0;
		rc = p->fn();
		printf("%s %c %c %s\n", p->name, want, rc < 0 ? 'r' : 'd',
		       rc < 0 ? strerror(errno) : "");
		(void)fflush(stdout);
	}
	return 0;
}
