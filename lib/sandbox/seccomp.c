#include "lib/sandbox/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btrfs.h>
#include <linux/ioprio.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ANY (-1)

#ifndef __NR_fchmodat2
#define __NR_fchmodat2 452 /* Linux 6.6, on every architecture */
#endif

static const struct call {
	int nr;
	enum seccomp_for from; /* and those after it */
	int pid;               /* the argument that may only be 0; ANY: none */
} calls[] = {
#define CALL(name)          {SCMP_SYS(name), SECCOMP_FOR_WORKER, ANY},
#define CALL_COMMAND(name)  {SCMP_SYS(name), SECCOMP_FOR_COMMAND, ANY},
#define CALL_PIDS(name, at) {SCMP_SYS(name), SECCOMP_FOR_HOST_PIDS, at},
#define CALL_HOST(name)     {SCMP_SYS(name), SECCOMP_FOR_HOST_MOUNTS, ANY},
#include "lib/sandbox/syscalls.def"
#undef CALL
#undef CALL_COMMAND
#undef CALL_PIDS
#undef CALL_HOST
};

#define NAMESPACES                                                   \
	(CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWNET | CLONE_NEWPID | \
	 CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP)

/* A new namespace would circumvent the sandbox. clone3 has its flags in memory;
 * the C library falls back to clone if clone3 is missing. */
static int refuse_spaces(scmp_filter_ctx ctx)
{
	int rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3),
				  0);

	for (unsigned bit = 1U << 31; bit && rc == 0; bit >>= 1)
		if (NAMESPACES & bit)
			rc = seccomp_rule_add(
				ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(clone), 1,
				SCMP_A0(SCMP_CMP_MASKED_EQ, bit, bit));
	return rc;
}

/* All processes of a user at once: PRIO_USER and IOPRIO_WHO_USER. */
static int refuse_users(scmp_filter_ctx ctx)
{
	const uint64_t low = 0xffffffffU;
	int rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM),
				  SCMP_SYS(setpriority), 1,
				  SCMP_A0(SCMP_CMP_MASKED_EQ, low, PRIO_USER));

	if (rc == 0)
		rc = seccomp_rule_add(
			ctx, SCMP_ACT_ERRNO(EPERM), SCMP_SYS(ioprio_set), 1,
			SCMP_A0(SCMP_CMP_MASKED_EQ, low, IOPRIO_WHO_USER));
	return rc;
}

/* PIDs have 32 bits: the upper half of the register is ignored. */
static int refuse_call(scmp_filter_ctx ctx, const struct call *c)
{
	const uint64_t low = 0xffffffffU;
	int rc = 0;

	if (c->pid == ANY)
		return seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), c->nr, 0);
	for (uint64_t bit = 1; bit <= low && rc == 0; bit <<= 1)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), c->nr, 1,
				      SCMP_CMP((unsigned)c->pid,
					       SCMP_CMP_MASKED_EQ, bit, bit));
	return rc;
}

/* Only sockets that belong to the network namespace, or are files. Others reach
 * the hypervisor, hardware, or rarely used parts of the kernel. */
static bool may_have(enum seccomp_for who, unsigned family)
{
	switch (family) {
	case AF_UNIX: /* a filter cannot see the address of connect */
		return who < SECCOMP_FOR_HOST_MOUNTS;
	case AF_INET:
	case AF_INET6:
	case AF_NETLINK:
		return who < SECCOMP_FOR_HOST_NETWORK;
	default:
		return false;
	}
}

/* libseccomp denies the whole call to 32-bit programs that use socketcall,
 * which has its arguments in memory. */
static int refuse_families(scmp_filter_ctx ctx, enum seccomp_for who)
{
	int rc = 0;

	for (unsigned f = 0; f < AF_MAX && rc == 0; f++)
		if (!may_have(who, f))
			rc = seccomp_rule_add(
				ctx, SCMP_ACT_ERRNO(EAFNOSUPPORT),
				SCMP_SYS(socket), 1,
				SCMP_A0(SCMP_CMP_MASKED_EQ, 0xffffffffU, f));
	return rc;
}

/* Calls with a mode that matters always, or only with a flag. */
static const struct mode_call {
	int nr;
	unsigned mode;        /* the argument */
	unsigned flags, flag; /* the argument and its bit; 0: none */
} mode_calls[] = {
	{SCMP_SYS(chmod), 1, 0, 0},
	{SCMP_SYS(fchmod), 1, 0, 0},
	{SCMP_SYS(fchmodat), 2, 0, 0},
	{SCMP_SYS(fchmodat2), 2, 0, 0},
	{SCMP_SYS(mknod), 1, 0, 0},
	{SCMP_SYS(mknodat), 2, 0, 0},
	{SCMP_SYS(creat), 1, 0, 0},
	{SCMP_SYS(open), 2, 1, O_CREAT},
	{SCMP_SYS(open), 2, 1, O_TMPFILE & ~O_DIRECTORY},
	{SCMP_SYS(openat), 3, 2, O_CREAT},
	{SCMP_SYS(openat), 3, 2, O_TMPFILE & ~O_DIRECTORY},
};

static int refuse_mode(scmp_filter_ctx ctx, const struct mode_call *c,
		       unsigned bit)
{
	struct scmp_arg_cmp mode = SCMP_CMP(c->mode, SCMP_CMP_MASKED_EQ, bit,
					    bit);
	struct scmp_arg_cmp flag = SCMP_CMP(c->flags, SCMP_CMP_MASKED_EQ,
					    c->flag, c->flag);

	return c->flag ? seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), c->nr, 2,
					  flag, mode)
		       : seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), c->nr, 1,
					  mode);
}

/* Set-user-ID and set-group-ID bits of files of the host. openat2 has its mode
 * in memory; programs work without it. */
static int refuse_set_id(scmp_filter_ctx ctx)
{
	int rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS),
				  SCMP_SYS(openat2), 0);

	for (size_t i = 0; i < sizeof mode_calls / sizeof *mode_calls; i++) {
		if (rc == 0)
			rc = refuse_mode(ctx, &mode_calls[i], S_ISUID);
		if (rc == 0)
			rc = refuse_mode(ctx, &mode_calls[i], S_ISGID);
	}
	return rc;
}

/* Requests of ioctl and fcntl, in the second argument. A snapshot of btrfs
 * contains all files of its source, also those that mounts cover. A lease on a
 * file delays every program of the host that opens it for writing. */
static int refuse_requests(scmp_filter_ctx ctx)
{
	static const struct {
		int nr;
		unsigned request;
	} refused[] = {
		{SCMP_SYS(ioctl), TIOCSTI}, /* types into a terminal */
		{SCMP_SYS(ioctl), BTRFS_IOC_SNAP_CREATE},
		{SCMP_SYS(ioctl), BTRFS_IOC_SNAP_CREATE_V2},
		{SCMP_SYS(fcntl), F_SETLEASE},
		{SCMP_SYS(fcntl64), F_SETLEASE},
	};
	int rc = 0;

	for (size_t i = 0; i < sizeof refused / sizeof *refused && rc == 0; i++)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(EPERM), refused[i].nr,
				      1,
				      SCMP_A1(SCMP_CMP_MASKED_EQ, 0xffffffffU,
					      refused[i].request));
	return rc;
}

static int add_rules(scmp_filter_ctx ctx, enum seccomp_for who)
{
	int rc = 0;

	for (size_t i = 0; i < sizeof calls / sizeof *calls && rc == 0; i++)
		if (who >= calls[i].from)
			rc = refuse_call(ctx, &calls[i]);
	if (rc == 0)
		rc = refuse_requests(ctx);
	/* an old way around filters that programs do not need */
	if (rc == 0)
		rc = seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOSYS),
				      SCMP_SYS(io_uring_setup), 0);
	if (rc == 0 && who >= SECCOMP_FOR_COMMAND)
		rc = refuse_spaces(ctx) || refuse_families(ctx, who) ? -1 : 0;
	if (rc == 0 && who >= SECCOMP_FOR_HOST_PIDS)
		rc = refuse_users(ctx);
	if (rc == 0 && who >= SECCOMP_FOR_HOST_MOUNTS)
		rc = refuse_set_id(ctx);
	return rc;
}

/* The program as bytes, in memory that is never freed. */
static int compile(scmp_filter_ctx ctx, struct sock_fprog *out)
{
	int fd = memfd_create("filter", MFD_CLOEXEC), rc = -1;
	struct stat st;

	if (fd >= 0 && seccomp_export_bpf(ctx, fd) == 0 &&
	    fstat(fd, &st) == 0 && st.st_size > 0) {
		out->filter = malloc((size_t)st.st_size);
		if (!out->filter)
			abort();
		out->len = (unsigned short)((size_t)st.st_size /
					    sizeof *out->filter);
		if (pread(fd, out->filter, (size_t)st.st_size, 0) == st.st_size)
			rc = 0;
	}
	if (fd >= 0)
		close(fd);
	return rc;
}

const struct sock_fprog *seccomp_get(enum seccomp_for who, struct err *e)
{
	static struct sock_fprog made[SECCOMP_KINDS];
	scmp_filter_ctx ctx;
	int rc = -1;

	if (made[who].filter)
		return &made[who];
	ctx = seccomp_init(SCMP_ACT_ALLOW);
	if (ctx) {
		(void)seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
#if defined(__x86_64__)
		(void)seccomp_arch_add(ctx, SCMP_ARCH_X86);
#endif
		rc = add_rules(ctx, who);
		if (rc == 0)
			rc = compile(ctx, &made[who]);
		seccomp_release(ctx);
	}
	if (rc) {
		err_set(e, ERR_UNSUPPORTED,
			"cannot install the system call filter");
		return NULL;
	}
	return &made[who];
}

int seccomp_enforce(const struct sock_fprog *program, bool all_threads)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		       all_threads ? SECCOMP_FILTER_FLAG_TSYNC : 0,
		       program) == 0
		       ? 0
		       : -1;
}
