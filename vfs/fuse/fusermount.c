#include "vfs/fuse/fusermount.h"

#include "lib/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM "fusermount3"
#define COMM_FD "_FUSE_COMMFD" /* the protocol of libfuse */
#define OTHERS  "or root, or a user and mount namespace (unshare -rm)"

/* --- what is missing ----------------------------------------------------- */

static bool find_program(char out[PATH_MAX])
{
	static const char *const dirs[] = {"/usr/bin", "/bin", "/usr/local/bin",
					   "/run/wrappers/bin"};

	for (size_t i = 0; i < sizeof dirs / sizeof dirs[0]; i++) {
		text_printf(out, PATH_MAX, "%s/" PROGRAM, dirs[i]);
		if (access(out, X_OK) == 0)
			return true;
	}
	return false;
}

static int check_program(char path[PATH_MAX], const char *dir, struct err *e)
{
	struct stat st;

	if (!find_program(path))
		return err_set(e, ERR_UNSUPPORTED,
			       "mounting on %s needs " PROGRAM
			       " (package fuse3), which is not "
			       "installed; " OTHERS,
			       dir);
	if (stat(path, &st) || st.st_uid != 0 || !(st.st_mode & S_ISUID))
		return err_set(e, ERR_UNSUPPORTED,
			       "mounting on %s needs %s to be set-user-ID "
			       "root, which it is not; " OTHERS,
			       dir, path);
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return err_set(e, ERR_UNSUPPORTED,
			       "mounting on %s needs " PROGRAM ", but this "
			       "process cannot gain privileges "
			       "(no_new_privs); " OTHERS,
			       dir);
	return 0;
}

/* --- the program --------------------------------------------------------- */

struct helper {
	pid_t pid;
	int says; /* its error output */
};

static void become(const char *path, char *const argv[], int comm, int says)
{
	char number[16];

	snprintf(number, sizeof number, "%d", comm);
	if (comm >= 0) {
		(void)fcntl(comm, F_SETFD, 0);
		(void)setenv(COMM_FD, number, 1);
	}
	(void)dup2(says, STDERR_FILENO);
	execv(path, argv);
	_exit(127);
}

static int start_helper(struct helper *h, const char *path, char *const argv[],
			int comm, struct err *e)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return err_errno_set(e, "cannot create a pipe");
	h->pid = fork();
	if (h->pid == 0)
		become(path, argv, comm, ends[1]);
	close(ends[1]);
	h->says = ends[0];
	if (h->pid > 0)
		return 0;
	close(ends[0]);
	return err_errno_set(e, "cannot start %s", path);
}

/* 0 if it succeeded; otherwise the first line that it printed is the reason. */
static int end_helper(struct helper *h, const char *what, const char *dir,
		      struct err *e)
{
	char why[256] = "";
	size_t n = 0;
	ssize_t got;
	int status = 0;

	while (n < sizeof why - 1 &&
	       (got = read(h->says, why + n, sizeof why - 1 - n)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	why[n] = '\0';
	why[strcspn(why, "\n")] = '\0';
	close(h->says);
	while (waitpid(h->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	return err_set(e, ERR_UNSUPPORTED, "cannot %s %s: %s", what, dir,
		       why[0] ? why : PROGRAM " failed");
}

/* The descriptor that the program sends; -1: none came. */
static int receive_fd(int comm)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = control.room,
			   .msg_controllen = sizeof control.room};
	struct cmsghdr *c;
	ssize_t n;
	int fd;

	do
		n = recvmsg(comm, &m, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n > 0 ? CMSG_FIRSTHDR(&m) : NULL;
	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(c), sizeof fd);
	return fd;
}

static char *word(const char *text)
{
	char *p = strdup(text);

	if (!p)
		abort();
	return p;
}

static void free_words(char **argv)
{
	for (size_t i = 0; argv[i]; i++)
		free(argv[i]);
}

int fusermount_mount(const char *dir, const char *options, struct err *e)
{
	char path[PATH_MAX];
	char *argv[] = {word(PROGRAM), word("-o"), word(options),
			word("--"),    word(dir),  NULL};
	struct helper h;
	int ends[2], fd = -1, rc = check_program(path, dir, e);

	if (rc == 0 && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		rc = err_errno_set(e, "cannot create a socket");
	if (rc == 0) {
		rc = start_helper(&h, path, argv, ends[1], e);
		close(ends[1]);
		if (rc == 0) {
			fd = receive_fd(ends[0]);
			rc = end_helper(&h, "mount on", dir, e);
		}
		close(ends[0]);
	}
	free_words(argv);
	if (rc == 0 && fd < 0)
		rc = err_set(e, ERR_UNSUPPORTED,
			     "cannot mount on %s: " PROGRAM " sent nothing",
			     dir);
	if (rc == 0)
		(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	else if (fd >= 0)
		close(fd);
	return rc ? -1 : fd;
}

int fusermount_unmount(const char *dir, struct err *e)
{
	char path[PATH_MAX];
	char *argv[] = {word(PROGRAM), word("-u"), word("-z"),
			word("--"),    word(dir),  NULL};
	struct helper h;
	int rc = check_program(path, dir, e);

	if (rc == 0)
		rc = start_helper(&h, path, argv, -1, e);
	if (rc == 0)
		rc = end_helper(&h, "unmount", dir, e);
	free_words(argv);
	return rc;
}
