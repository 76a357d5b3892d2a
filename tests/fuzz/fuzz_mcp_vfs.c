/* Whatever a model asks of tools that work in its agent's file: every answer is
 * a message, no call leaves a transaction open, and fsck finds no fault. */
#include "tests/support/fuzz.h"
#include "tests/support/vfs_fuzz.h"
#include "vfs/check/check.h"
#include "vfs/core/path.h"
#include "vfs/core/vfs.h"
#include "vfs/snapshot/snapshot.h"
#include "worker/mcp/mcp.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int check_reply_line(void *arg, const struct line *line, struct err *e)
{
	cJSON *v = json_parse_object("sent", line->p, line->n, e);

	(void)arg;
	require(v && cJSON_GetObjectItemCaseSensitive(v, "id"));
	require((!cJSON_GetObjectItemCaseSensitive(v, "result")) !=
		(!cJSON_GetObjectItemCaseSensitive(v, "error")));
	cJSON_Delete(v);
	return 0;
}

static void clean_namespace(struct vfs *v)
{
	struct vfs_snapshot *snaps;
	struct arena mem = {0};
	struct vfs_dir d;
	struct err e;
	int n = vfs_snapshots(v, &snaps, &mem, &e);

	for (int i = 0; i < n; i++)
		require(vfs_snapshot_drop(v, snaps[i].name, &e) == 0);
	arena_fini(&mem);
	require(vfs_readdir(v, VFS_ROOT, &d, &e) == 0);
	for (size_t i = 0; i < d.n; i++)
		require(vfs_remove(v, d.entries[i].name, true, &e) == 0);
	vfs_dir_fini(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct files store;
	static struct sql *db;
	struct vfs_check c = {.deep = true};
	struct lines sent;
	struct mcp m;
	struct err e;

	if (!db) {
		vfs_close(fuzz_space(&db));
		require(files_vfs(&store, "/mnt/workspace", db,
				  &(struct files_plan){.name = "main",
						       .make = "missing",
						       .run = "run_x"},
				  &e) == 0);
		require(vfs_set_quota(store.vfs, 1 << 24, 1000, &e) == 0);
	}
	mcp_init(&m, &store);
	require(mcp_feed(&m, (const char *)data, size, &e) == 0);
	lines_init(&sent, 64u << 20);
	require(lines_add(&sent, m.out.p, m.out.n, check_reply_line, NULL,
			  &e) == 0);
	lines_fini(&sent);
	mcp_fini(&m);
	require(!vfs_in_batch(store.vfs));
	require(vfs_check(db, &c, &e) == 0 && c.found == 0);
	clean_namespace(store.vfs);
	return 0;
}
