#include "supervisor/core/full_disk.h"

#include "lib/os/file.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define RESERVE ((int64_t)1 << 20)
#define AMPLE   ((int64_t)16 << 20)
#define LOW     ((int64_t)256 << 20)
#define FULL    (2 * RESERVE) /* commits may still fit, runs do not */

struct disk disk_status(const struct home *h)
{
	struct disk d = {.state = "ok"};
	struct statvfs st;

	if (statvfs(h->root, &st))
		return d;
	d.free = (int64_t)st.f_bavail * (int64_t)st.f_frsize;
	if (st.f_flag & ST_RDONLY)
		d.state = "read-only";
	else if (d.free < FULL)
		d.state = "full";
	else if (d.free < LOW)
		d.state = "low";
	return d;
}

bool disk_has_space(const struct home *h)
{
	return disk_status(h).free >= FULL;
}

void disk_full_error(const struct home *h, struct err *e)
{
	err_set(e, ERR_FULL,
		"the disk of %s is full (%lld bytes free); "
		"skepd is read-only until %lld bytes are free",
		h->root, (long long)disk_status(h).free, (long long)FULL);
}

void disk_reserve(const struct home *h)
{
	struct home_path path = home_path(h, HOME_RESERVE);
	int fd;

	if (file_exists(path.text) || disk_status(h).free < AMPLE)
		return;
	fd = open(path.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (posix_fallocate(fd, 0, RESERVE))
		(void)unlink(path.text);
	close(fd);
}

bool disk_release(const struct home *h)
{
	return unlink(home_path(h, HOME_RESERVE).text) == 0;
}
