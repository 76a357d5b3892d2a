/* Any bytes are an archive or are refused with one sentence; either way fsck
 * finds no fault afterwards, and nothing lies outside of the target. */
#include "tests/support/vfs_fuzz.h"
#include "vfs/check/check.h"
#include "vfs/core/node.h"
#include "vfs/core/path.h"
#include "vfs/core/vfs.h"
#include "vfs/transfer/transfer.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sql *db;

static struct vfs *space(void)
{
	static struct vfs *v;
	struct err e;

	if (v)
		return v;
	v = fuzz_space(&db);
	if (vfs_set_quota(v, 1 << 24, 1000, &e))
		abort();
	return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vfs *v = space();
	struct vfs_transfer p = {.path = "in", .keep_setuid = true};
	struct vfs_check c = {.deep = true};
	struct vfs_dir d;
	struct err e = {0};
	int fd = memfd_create("tar", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size ||
	    lseek(fd, 0, SEEK_SET) < 0)
		abort();
	if (vfs_import_tar(v, fd, &p, &e))
		fuzz_check_error(&e);
	close(fd);
	assert(!vfs_check(db, &c, &e) && c.found == 0);
	assert(!vfs_readdir(v, VFS_ROOT, &d, &e));
	assert(d.n <= 1);
	vfs_dir_fini(&d);
	vfs_remove(v, "in", true, &e);
	return 0;
}
