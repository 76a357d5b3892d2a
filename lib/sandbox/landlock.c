#include "lib/sandbox/landlock.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIBLINGS_MAX \
	16384 /* entries of one directory that get their own rule */

/* Newer than the headers at build time. */
#define FS_REFER     (1ULL << 13) /* ABI 2 */
#define FS_TRUNCATE  (1ULL << 14) /* ABI 3 */
#define FS_IOCTL_DEV (1ULL << 15) /* ABI 5 */
#define SCOPE_ALL    3ULL         /* ABI 6: abstract sockets, signals */

struct ruleset_attr {
	uint64_t fs;
	uint64_t net;
	uint64_t scoped;
};

#define ON_FILE                                                      \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | \
	 LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define READING                                                      \
	(LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | \
	 LANDLOCK_ACCESS_FS_READ_DIR)
#define ALL_OF_1 ((1ULL << 13) - 1)

static uint64_t handled(int abi)
{
	return ALL_OF_1 | (abi >= 2 ? FS_REFER : 0) |
	       (abi >= 3 ? FS_TRUNCATE : 0) | (abi >= 5 ? FS_IOCTL_DEV : 0);
}

/* Write access includes neither the creation of devices nor ioctl on them. */
static uint64_t rights(const struct landlock *f, enum landlock_access may)
{
	uint64_t all = handled(f->abi);

	if (may == LANDLOCK_LIST)
		return LANDLOCK_ACCESS_FS_READ_DIR;
	if (may == LANDLOCK_READ)
		return READING;
	if (may == LANDLOCK_DEVICE)
		return all & (LANDLOCK_ACCESS_FS_READ_FILE |
			      LANDLOCK_ACCESS_FS_READ_DIR |
			      LANDLOCK_ACCESS_FS_WRITE_FILE | FS_TRUNCATE |
			      FS_IOCTL_DEV);
	return all & ~(uint64_t)(LANDLOCK_ACCESS_FS_MAKE_CHAR |
				 LANDLOCK_ACCESS_FS_MAKE_BLOCK | FS_IOCTL_DEV);
}

int landlock_begin(struct landlock *f, bool alone, struct err *e)
{
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0,
			   LANDLOCK_CREATE_RULESET_VERSION);
	struct ruleset_attr attr = {0};
	size_t size = offsetof(struct ruleset_attr, net);

	*f = (struct landlock){.ruleset = -1};
	if (abi <= 0)
		return err_set(e, ERR_UNSUPPORTED, "Landlock is not available");
	f->abi = (int)abi;
	attr.fs = handled(f->abi);
	if (f->abi >= 6) {
		attr.scoped = alone ? SCOPE_ALL : 0;
		size = sizeof attr;
	}
	f->ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	return f->ruleset < 0 ? err_errno_set(e, "landlock_create_ruleset") : 0;
}

void landlock_end(struct landlock *f)
{
	if (f->ruleset >= 0)
		close(f->ruleset);
	f->ruleset = -1;
}

void landlock_seal(struct landlock *f, const char *path)
{
	assert(f->nsealed < (int)(sizeof f->sealed / sizeof *f->sealed));
	f->sealed[f->nsealed++] = path;
}

void landlock_hide(struct landlock *f, const char *path)
{
	assert(f->nhidden < (int)(sizeof f->hidden / sizeof *f->hidden));
	f->hidden[f->nhidden++] = path;
}

int landlock_allow_fd(struct landlock *f, int fd, enum landlock_access may,
		      struct err *e)
{
	struct landlock_path_beneath_attr rule = {
		.allowed_access = rights(f, may), .parent_fd = fd};
	struct stat st;

	if (fstat(fd, &st))
		return err_errno_set(e, "a path of the sandbox");
	if (!S_ISDIR(st.st_mode))
		rule.allowed_access &= ON_FILE;
	if (syscall(SYS_landlock_add_rule, f->ruleset,
		    LANDLOCK_RULE_PATH_BENEATH, &rule, 0))
		return err_errno_set(e, "landlock_add_rule");
	return 0;
}

static int allow_one(struct landlock *f, const char *path,
		     enum landlock_access may, struct err *e)
{
	int fd = written_open(&f->written, path), rc;

	if (fd < 0)
		return 0; /* missing, not ours, or replaced by a link */
	rc = landlock_allow_fd(f, fd, may, e);
	close(fd);
	return rc;
}

/* 1: path is in the list or below an entry; -1: it contains an entry; 0:
 * neither. */
static int against(const char *const *list, int n, const char *path)
{
	int found = 0;

	for (int i = 0; i < n; i++) {
		if (path_is_below(path, list[i]))
			return 1;
		if (!path[1] || path_is_below(list[i], path))
			found = -1;
	}
	return found;
}

/* Hidden paths only matter for the rule for the host. */
static int stand_of(const struct landlock *f, const char *path, bool host)
{
	int sealed = against(f->sealed, f->nsealed, path);
	int hidden = host ? against(f->hidden, f->nhidden, path) : 0;

	return sealed > 0 || hidden > 0 ? 1 : sealed < 0 || hidden < 0 ? -1 : 0;
}

/* Directories that contain something hidden and are still to be scanned. */
struct waiting {
	char path[16][PATH_MAX];
	int n;
	bool host;
};

static int allow_entries(struct landlock *f, const char *dir,
			 enum landlock_access may, struct waiting *w,
			 struct err *e)
{
	char path[PATH_MAX];
	DIR *d = opendir(dir);
	struct dirent *entry;
	int rc = 0, n = 0;

	while (d && rc == 0 && n++ < SIBLINGS_MAX && (entry = readdir(d))) {
		int stand;

		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, ".."))
			continue;
		if (snprintf(path, sizeof path, "%s/%s",
			     strcmp(dir, "/") ? dir : "",
			     entry->d_name) >= (int)sizeof path)
			continue;
		stand = stand_of(f, path, w->host);
		if (stand == 0 && entry->d_type != DT_LNK)
			rc = allow_one(f, path, may, e);
		else if (stand < 0 && w->n < 16)
			snprintf(w->path[w->n++], PATH_MAX, "%s", path);
	}
	if (d)
		closedir(d);
	return rc;
}

static int allow_below(struct landlock *f, const char *path,
		       enum landlock_access may, bool host, struct err *e)
{
	struct waiting w; /* large: only the used part is written */
	char dir[PATH_MAX];
	int stand = stand_of(f, path, host), rc = 0;

	w.n = 0;
	w.host = host;
	if (stand >= 0)
		return stand ? 0 : allow_one(f, path, may, e);
	snprintf(w.path[w.n++], PATH_MAX, "%s", path);
	while (rc == 0 && w.n > 0) {
		memcpy(dir, w.path[--w.n], sizeof dir);
		rc = allow_entries(f, dir, may, &w, e);
	}
	return rc;
}

int landlock_allow(struct landlock *f, const char *path,
		   enum landlock_access may, struct err *e)
{
	return allow_below(f, path, may, false, e);
}

/* The host, except hidden paths. If mounts cover these, names may be listed
 * everywhere. Otherwise directories that contain a hidden path, including /,
 * cannot be listed, since a rule for / applies to everything below it. Devices
 * have rules of their own. */
static int allow_host(struct landlock *f, bool covered, struct err *e)
{
	int before = f->nhidden, rc;

	landlock_hide(f, "/dev");
	landlock_hide(f, "/tmp");
	if (covered)
		landlock_hide(f, "/run");
	rc = covered ? allow_one(f, "/", LANDLOCK_LIST, e) : 0;
	if (rc == 0)
		rc = allow_below(f, "/", LANDLOCK_READ, true, e);
	f->nhidden = before;
	return rc;
}

int landlock_allow_spec(struct landlock *f, const struct sandbox_spec *s,
			bool covered, struct err *e)
{
	static const char *const programs[] = {
#define PROGRAMS(path) path,
#include "lib/sandbox/programs.def"
#undef PROGRAMS
	};
	static const char *const devices[] = {
#define DEVICE(path) path,
#include "lib/sandbox/devices.def"
#undef DEVICE
	};
	size_t nprograms = sizeof programs / sizeof *programs;

	if (s->read.n == 0 && allow_host(f, covered, e))
		return -1;
	for (size_t i = 0; s->read.n > 0 && i < nprograms; i++)
		if (landlock_allow(f, programs[i], LANDLOCK_READ, e))
			return -1;
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
		if (landlock_allow(f, devices[i], LANDLOCK_DEVICE, e))
			return -1;
	for (int i = 0; i < s->read.n; i++)
		if (landlock_allow(f, s->read.path[i], LANDLOCK_READ, e))
			return -1;
	for (int i = 0; i < s->write.n; i++)
		if (landlock_allow(f, s->write.path[i], LANDLOCK_WRITE, e))
			return -1;
	return 0;
}

int landlock_enforce(const struct landlock *f)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -1;
	return (int)syscall(SYS_landlock_restrict_self, f->ruleset, 0);
}
