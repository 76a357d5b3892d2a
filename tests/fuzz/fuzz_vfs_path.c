/* Any path is understood or refused with one sentence, never leads out of the
 * namespace, and what is written under it is read back under it. */
#include "tests/support/vfs_fuzz.h"
#include "vfs/core/path.h"
#include "vfs/core/vfs.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct vfs *space(void)
{
	static struct vfs *v;
	static struct sql *db;
	struct err e;

	if (v)
		return v;
	v = fuzz_space(&db);
	if (vfs_mkdir(v, "d/e", 0755, true, &e) ||
	    vfs_symlink(v, "d/e", "in", &e) ||
	    vfs_symlink(v, "../..", "d/e/out", &e))
		abort();
	return v;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct vfs *v = space();
	char *path = malloc(size + 1);
	struct vfs_put how = {.parents = true};
	struct buf back = BUF_MAX(100);
	struct vfs_attr a;
	struct err e = {0};

	if (!path)
		abort();
	memcpy(path, data, size);
	path[size] = '\0';
	if (vfs_begin(v, &e))
		abort();
	if (vfs_write_file(v, path, (struct blob){"text", 4}, &how, &e)) {
		assert(e.text[0] && !strchr(e.text, '\n'));
		assert(e.code != ERR_INTERNAL && e.code != ERR_CORRUPT);
	} else {
		if (vfs_read_file(v, path, &back, &a, &e))
			abort();
		assert(back.n == 4 && !memcmp(back.p, "text", 4));
		buf_clear(&back);
		back.max = 1 << 20;
		assert(!vfs_path_of(v, a.ino, &back, &e));
		assert(!strstr(back.p, "//") && back.p[0] != '/');
	}
	vfs_rollback(v); /* the next path finds the same tree */
	buf_fini(&back);
	free(path);
	return 0;
}
