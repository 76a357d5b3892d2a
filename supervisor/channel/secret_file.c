#include "supervisor/channel/secret_file.h"

#include "lib/base/clock.h"
#include "lib/os/file.h"

#define CHECK_MS       200
#define MTIME_SLACK_MS 2000 /* timestamps of file systems are coarse */

static int64_t ms_of(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino &&
	       a->st_size == b->st_size &&
	       a->st_ctim.tv_sec == b->st_ctim.tv_sec &&
	       a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

int secret_file_read(struct secret_file *f, struct buf *out, struct err *e)
{
	int64_t now = clock_now();

	f->checked_at = now;
	f->seen = (struct stat){0};
	f->unchanged = stat(f->path, &f->seen) == 0 &&
		       now - ms_of(f->seen.st_ctim) > MTIME_SLACK_MS;
	if (file_read(f->path, out, e))
		return -1;
	while (out->n && out->p[out->n - 1] == '\n')
		out->p[--out->n] = '\0';
	return out->n ? 0 : err_set(e, ERR_CONFIG, "%s is empty", f->path);
}

bool secret_file_changed(struct secret_file *f)
{
	int64_t now = clock_now();
	struct stat st = {0};

	if (now - f->checked_at < CHECK_MS && now >= f->checked_at)
		return false;
	f->checked_at = now;
	(void)stat(f->path, &st);
	return !f->unchanged || !same_file(&st, &f->seen);
}
