#include "lib/os/newfile.h"

#include "lib/base/id.h"
#include "lib/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int newfile_open(struct newfile *f, const char *path, mode_t mode,
		 struct err *e)
{
	bool is_file = true;
	struct stat st;
	uint64_t noise;

	*f = (struct newfile){.fd = -1, .path = path};
	if (stat(path, &st) == 0)
		is_file = S_ISREG(st.st_mode);
	id_random(&noise, sizeof noise);
	if (is_file &&
	    (size_t)snprintf(f->tmp, sizeof f->tmp, "%s.new.%016" PRIx64, path,
			     noise) >= sizeof f->tmp)
		return err_set(e, ERR_USAGE, "%s: the path is too long", path);
	f->fd = is_file ? open(f->tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			       mode)
			: open(path, O_WRONLY | O_CLOEXEC);
	return f->fd < 0 ? err_errno_set(e, "%s", path) : 0;
}

int newfile_end(struct newfile *f, int rc, struct err *e)
{
	/* pipes and terminals cannot be synced */
	if (rc == 0 && f->fd >= 0 && fsync(f->fd) && errno != EINVAL &&
	    errno != EROFS)
		rc = err_errno_set(e, "%s", f->path);
	if (f->fd >= 0 && close(f->fd) && rc == 0)
		rc = err_errno_set(e, "%s", f->path);
	if (rc == 0 && f->tmp[0] && rename(f->tmp, f->path))
		rc = err_errno_set(e, "%s", f->path);
	if (rc && f->tmp[0])
		unlink(f->tmp);
	if (rc == 0 && f->tmp[0])
		rc = file_sync_parent(f->path, e);
	f->fd = -1;
	return rc;
}
