/* Any path is understood or refused with one sentence, never leads out of the
 * namespace, and what is written under it is read back under it. */
#include "db/sql.h"
#include "schema/agent_queries.h"
#include "vfs/path.h"
#include "vfs/vfs.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char dir[] = "/tmp/fuzz-vfs-XXXXXX";

static void clean_up(void)
{
	static const char *const names[] = {"a.sqlite", "a.sqlite-wal",
					    "a.sqlite-shm"};
	char path[64];

	for (size_t i = 0; i < 3; i++) {
		snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir);
}

static struct vfs *space(void)
{
	static struct vfs *v;
	static struct sql *db;
	char path[64];
	struct err e;

	if (v)
		return v;
	if (!mkdtemp(dir) || atexit(clean_up))
		abort();
	snprintf(path, sizeof path, "%s/a.sqlite", dir);
	if (db_open(&db, path, &agent_schema, SQL_CREATE, &e) ||
	    vfs_create(db, "main", NULL, &e) ||
	    vfs_open(&v, db, "main", "fuzz", &e) ||
	    vfs_mkdir(v, "d/e", 0755, true, &e) ||
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
