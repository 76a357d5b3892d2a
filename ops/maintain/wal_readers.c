#include "ops/maintain/wal_readers.h"

#include "lib/base/buf.h"
#include "lib/base/clock.h"
#include "lib/os/atomic_file.h"
#include "lib/os/file.h"
#include "lib/os/proc.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

SHAPE_DEFINE(wal_reader, WAL_READER);

/* https://sqlite.org/walformat.html: the bytes of the -shm file that readers
 * lock while they read, and the positions in the file that say how far they
 * read. */
#define READ_LOCKS 123
#define MARKS      5
#define AT_LAST    16  /* number of the last frame */
#define AT_MOVED   96  /* last frame that is in the file */
#define AT_MARKS   100 /* frames up to which readers read */
#define SHM_HEAD   (AT_MARKS + MARKS * 4)
#define LOCKS_MAX  4096
#define NOTES_MAX  (1u << 20)

struct lock {
	unsigned long inode;
	int pid, mark;
	int64_t start_ticks;
	int64_t frame;    /* up to which it reads; -1: unknown yet */
	int64_t since_ms; /* when it was first seen there */
};

struct wal_readers {
	char notes[PATH_MAX];
	struct lock *now, *before;
	int nnow, nbefore;
};

/* "1: POSIX  ADVISORY  READ 1234 fd:01:5678 124 124" */
static bool parse_lock(const char *line, struct lock *l)
{
	int from;

	if (sscanf(line, "%*d: %*s %*s %*s %d %*x:%*x:%lu %d", &l->pid,
		   &l->inode, &from) != 3)
		return false;
	l->mark = from - READ_LOCKS;
	l->frame = -1;
	return l->mark >= 0 && l->mark < MARKS && l->pid != getpid();
}

static bool parse_note(const char *line, struct lock *l)
{
	return sscanf(line, "%lu %d %d %" SCNd64 " %" SCNd64 " %" SCNd64,
		      &l->inode, &l->pid, &l->mark, &l->start_ticks, &l->frame,
		      &l->since_ms) == 6;
}

static int parse_locks(const char *path, unsigned max,
		       bool (*line_of)(const char *line, struct lock *l),
		       struct lock **out)
{
	struct buf b = BUF_MAX(max);
	struct err ignored;
	char *rest = NULL;
	int n = 0;

	*out = calloc(LOCKS_MAX, sizeof **out);
	if (!*out)
		abort();
	if (file_read(path, &b, &ignored) == 0 && b.n)
		for (char *line = strtok_r(b.p, "\n", &rest);
		     line && n < LOCKS_MAX; line = strtok_r(NULL, "\n", &rest))
			n += line_of(line, &(*out)[n]);
	buf_fini(&b);
	return n;
}

struct wal_readers *wal_readers_scan(const char *notes)
{
	struct wal_readers *r = calloc(1, sizeof *r);

	if (!r)
		abort();
	r->nnow = parse_locks("/proc/locks", 16u << 20, parse_lock, &r->now);
	if (notes && r->nnow) {
		snprintf(r->notes, sizeof r->notes, "%s", notes);
		r->nbefore = parse_locks(notes, NOTES_MAX, parse_note,
					 &r->before);
	}
	return r;
}

void wal_readers_free(struct wal_readers *r)
{
	if (!r)
		return;
	free(r->now);
	free(r->before);
	free(r);
}

/* --- one reader ------------------------------------------------------------- */

static int64_t process_age(int64_t start_ticks)
{
	struct timespec now;

	if (clock_gettime(CLOCK_BOOTTIME, &now))
		return 0;
	return now.tv_sec * 1000 + now.tv_nsec / 1000000 -
	       start_ticks * 1000 / sysconf(_SC_CLK_TCK);
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

static int64_t number_at(const unsigned char *head, int at)
{
	uint32_t n; /* in the machine's own order */

	memcpy(&n, head + at, sizeof n);
	return n;
}

/* The descriptor stays open until we exit: closing it would release the locks
 * that a connection of ours has on the file. */
static bool read_head(const char *shm, unsigned char head[SHM_HEAD])
{
	int fd = open(shm, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && pread(fd, head, SHM_HEAD, 0) == SHM_HEAD;
}

/* When it was first seen reading up to this frame. */
static int64_t first_seen(const struct wal_readers *r, const struct lock *l)
{
	for (int i = 0; i < r->nbefore; i++) {
		const struct lock *b = &r->before[i];

		if (b->inode == l->inode && b->pid == l->pid &&
		    b->mark == l->mark && b->frame == l->frame &&
		    b->start_ticks == l->start_ticks)
			return b->since_ms;
	}
	return clock_now();
}

static struct wal_reader describe_reader(const struct wal_readers *r,
					 struct lock *l, const char *path,
					 const unsigned char *head,
					 struct arena *a)
{
	struct proc_stat st = {0};
	struct wal_reader out = {
		.path = path, .pid = l->pid, .program = program_of(l->pid, a)};

	if (l->pid > 0 && proc_stat(l->pid, &st) == 0)
		out.process_ms = process_age(st.start_ticks);
	l->start_ticks = st.start_ticks;
	/* the first mark is for readers of the file alone: nothing newer may be
	 * copied there meanwhile */
	l->frame = number_at(head, l->mark ? AT_MARKS + 4 * l->mark : AT_MOVED);
	l->since_ms = first_seen(r, l);
	out.age_ms = clock_now() - l->since_ms;
	out.pinned_frames = number_at(head, AT_LAST) - l->frame;
	if (out.pinned_frames < 0)
		out.pinned_frames = 0;
	return out;
}

int wal_readers_of(struct wal_readers *r, const char *path,
		   struct wal_reader **out, struct arena *a)
{
	unsigned char head[SHM_HEAD];
	char shm[PATH_MAX + 8];
	struct stat st;
	int n = 0;

	*out = NULL;
	snprintf(shm, sizeof shm, "%s-shm", path);
	if (r->nnow == 0 || stat(shm, &st))
		return 0;
	for (int i = 0; i < r->nnow; i++) {
		if (r->now[i].inode != st.st_ino)
			continue;
		if (n == 0) {
			memset(head, 0, sizeof head);
			(void)read_head(shm, head);
			*out = arena_alloc(a, (size_t)r->nnow * sizeof **out);
		}
		(*out)[n++] = describe_reader(r, &r->now[i], path, head, a);
	}
	return n;
}

/* Earlier notes about files that this scan did not cover stay valid. */
static const struct lock *looked_at(const struct wal_readers *r,
				    const struct lock *l)
{
	if (l->frame >= 0)
		return l;
	for (int i = 0; i < r->nbefore; i++)
		if (r->before[i].inode == l->inode &&
		    r->before[i].pid == l->pid && r->before[i].mark == l->mark)
			return &r->before[i];
	return NULL;
}

int wal_readers_save(const struct wal_readers *r, struct err *e)
{
	struct buf b = BUF_MAX(NOTES_MAX);
	int rc = 0;

	for (int i = 0; i < r->nnow; i++) {
		const struct lock *l = looked_at(r, &r->now[i]);

		if (l)
			buf_addf(&b,
				 "%lu %d %d %" PRId64 " %" PRId64 " %" PRId64
				 "\n",
				 l->inode, l->pid, l->mark, l->start_ticks,
				 l->frame, l->since_ms);
	}
	if (b.n && *r->notes)
		rc = atomic_file_write(r->notes, b.p, b.n, 0600, e);
	buf_fini(&b);
	return rc;
}
