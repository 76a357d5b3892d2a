#include "worker/process/disk_limit.h"

#include "lib/base/clock.h"
#include "lib/os/process_tree.h"

#include <dirent.h>
#include <fts.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS 1000000
#define SOON_MS   100
#define LATE_MS   5000
#define BYTES_A_MS \
	((int64_t)2 << 20) /* that other programs could write
				       * meanwhile */
#define MIB     ((int64_t)1 << 20)
#define RESERVE (1024 * MIB) /* left for others; or a twentieth */
#define LITTLE  (64 * MIB)   /* that a run may add to a full disk */
#define BLOCK   512

struct place {
	const char *path;
	dev_t dev;
	int64_t free; /* at the start */
};

struct disk {
	int64_t max;
	int64_t next; /* clock_mono_ns */
	struct timespec began;
	const char *file; /* of the agent, in the vfs modes; or NULL */
	const char *log;  /* which becomes a part of it */
	int64_t file_size;
	int n;
	struct place place[SANDBOX_PATHS + 1];
};

/* --- beginning ----------------------------------------------------------- */

static int64_t size_of(const char *path)
{
	struct stat st;

	return stat(path, &st) ? 0 : (int64_t)st.st_size;
}

static int64_t file_size(const struct disk *d)
{
	return size_of(d->file) + size_of(d->log);
}

/* The free space and its minimum; -1 if they are unknown. */
static int free_at(const char *path, int64_t *bytes, int64_t *reserve)
{
	struct statvfs v;
	int64_t all;

	if (statvfs(path, &v))
		return -1;
	*bytes = (int64_t)(v.f_bavail * v.f_frsize);
	all = (int64_t)(v.f_blocks * v.f_frsize);
	*reserve = all / 20 < RESERVE ? all / 20 : RESERVE;
	return 0;
}

static void add_place(struct disk *d, const char *path)
{
	struct place *p = &d->place[d->n];
	int64_t reserve;
	struct stat st;

	if (stat(path, &st) || free_at(path, &p->free, &reserve))
		return;
	p->path = path;
	p->dev = st.st_dev;
	d->n++;
}

void disk_limit_begin(struct run *r)
{
	const struct msg_start *s = r->start;
	struct disk *d;

	if (r->sandbox_spec.mode == SANDBOX_OFF ||
	    r->sandbox_spec.limits.disk == 0)
		return;
	d = arena_alloc(&r->arena, sizeof *d);
	*d = (struct disk){.max = r->sandbox_spec.limits.disk};
	(void)clock_gettime(CLOCK_REALTIME_COARSE, &d->began);
	r->disk = d;
	for (int i = 0; i < r->sandbox_spec.write.n; i++)
		add_place(d, r->sandbox_spec.write.path[i]);
	if (strcmp(s->workspace_mode, "disk") != 0) {
		d->file = s->agent_db;
		d->log = arena_printf(&r->arena, "%s-wal", s->agent_db);
		d->file_size = file_size(d);
	} else if (s->workspace) {
		add_place(d, s->workspace);
	}
}

/* --- what the run has added ---------------------------------------------- */

static int64_t changed(const struct disk *d, const struct stat *st)
{
	bool new = st->st_ctim.tv_sec > d->began.tv_sec ||
		   (st->st_ctim.tv_sec == d->began.tv_sec &&
		    st->st_ctim.tv_nsec >= d->began.tv_nsec);

	return new ? (int64_t)st->st_blocks *BLOCK : 0;
}

static int64_t changed_below(const struct disk *d, const char *path)
{
	char *roots[] = {(char *)(uintptr_t)path, NULL};
	FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_XDEV | FTS_NOCHDIR,
			     NULL);
	int64_t sum = 0;
	FTSENT *f;

	while (walk && (f = fts_read(walk)))
		if (f->fts_info == FTS_F || f->fts_info == FTS_DEFAULT)
			sum += changed(d, f->fts_statp);
	if (walk)
		fts_close(walk);
	return sum;
}

/* Open files without a name. */
struct unseen {
	const struct disk *disk;
	dev_t dev;
	int64_t sum;
};

static void add_unseen(void *arg, pid_t pid)
{
	struct unseen *u = arg;
	char path[64];
	struct dirent *f;
	struct stat st;
	DIR *fds;

	snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
	fds = opendir(path);
	while (fds && (f = readdir(fds))) {
		snprintf(path, sizeof path, "/proc/%d/fd/%.20s", (int)pid,
			 f->d_name);
		if (stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		    st.st_nlink == 0 && st.st_dev == u->dev)
			u->sum += changed(u->disk, &st);
	}
	if (fds)
		closedir(fds);
}

/* The growth on the file system of a directory, over all directories that
 * exist; limited by the growth of the file system, since otherwise a change of
 * permissions would count as a file. */
static int64_t added_to(const struct disk *d, dev_t dev, int64_t grown)
{
	struct unseen u = {.disk = d, .dev = dev};

	tree_each(add_unseen, &u);
	for (int i = 0; i < d->n; i++)
		if (d->place[i].dev == dev)
			u.sum += changed_below(d, d->place[i].path);
	return u.sum < grown ? u.sum : grown;
}

/* --- looking ------------------------------------------------------------- */

static bool is_first(const struct disk *d, int at)
{
	for (int i = 0; i < at; i++)
		if (d->place[i].dev == d->place[at].dev)
			return false;
	return true;
}

/* -1 if the run is over its limit; else how much it may still write. */
static int64_t room_left(const struct disk *d, const struct place *p,
			 int64_t *added)
{
	int64_t bytes, reserve, grown, left, max = d->max;

	if (free_at(p->path, &bytes, &reserve))
		return d->max;
	grown = p->free - bytes;
	left = max - grown < bytes - reserve ? max - grown : bytes - reserve;
	if (left > 0)
		return left;
	if (bytes < reserve && max > LITTLE)
		max = LITTLE;
	*added = added_to(d, p->dev, grown);
	return *added > max ? -1 : 0;
}

/* The same data may also be in the WAL, and a quota applies earlier. */
static int64_t check_file_size(const struct disk *d, int64_t *added)
{
	int64_t max = 2 * d->max + LITTLE, bytes, reserve;

	if (free_at(d->file, &bytes, &reserve) == 0 && bytes < reserve)
		max = LITTLE;
	*added = file_size(d) - d->file_size;
	return *added > max ? -1 : max - *added;
}

static int64_t check_paths(const struct disk *d, int64_t *added)
{
	int64_t least = d->max;

	for (int i = 0; i < d->n && least >= 0; i++) {
		int64_t left = is_first(d, i)
				       ? room_left(d, &d->place[i], added)
				       : least;

		least = left < least ? left : least;
	}
	if (d->file && least >= 0) {
		int64_t left = check_file_size(d, added);

		least = left < least ? left : least;
	}
	return least;
}

static void end_over_limit(struct run *r, int64_t added)
{
	char why[160];

	snprintf(why, sizeof why,
		 "the run has written %" PRId64 " MiB to the disk, more than "
		 "it may (limits.disk is %" PRId64 " MiB), or the disk is "
		 "nearly full",
		 added / MIB, r->disk->max / MIB);
	commands_end(&r->commands, REASON_disk, why);
	tree_signal(SIGKILL); /* a grace period would allow further writes */
}

void disk_limit_check(struct run *r)
{
	struct disk *d = r->disk;
	int64_t now, left, added = 0, ms;

	if (!d || run_ending(r))
		return;
	now = clock_mono_ns();
	if (now < d->next)
		return;
	left = check_paths(d, &added);
	if (left < 0)
		end_over_limit(r, added);
	ms = left / BYTES_A_MS;
	if (ms < SOON_MS) /* limits the share of time of a slow walk */
		ms = SOON_MS + 10 * (clock_mono_ns() - now) / NS_PER_MS;
	d->next = now + (ms < LATE_MS ? ms : LATE_MS) * NS_PER_MS;
}

int64_t disk_limit_wait(const struct run *r, int64_t ms)
{
	int64_t left;

	if (!r->disk)
		return ms;
	left = (r->disk->next - clock_mono_ns()) / NS_PER_MS + 1;
	return left < 0 ? 0 : left < ms ? left : ms;
}
