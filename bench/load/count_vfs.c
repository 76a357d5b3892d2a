#include "bench/load/count_vfs.h"

#include "bench/load/pass_vfs.h"

#define FRAME_HEADER 24
#define PAGE_BYTES   4096

static struct disk_counts counts;
static int64_t wal_bytes;

static int c_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	int flags = ((struct pass_file *)f)->flags;

	counts.bytes += n;
	if (flags & SQLITE_OPEN_WAL) /* in pieces or several at once */
		wal_bytes += n;
	else if (flags & SQLITE_OPEN_MAIN_DB)
		counts.db_pages++;
	return pass_methods.xWrite(f, p, n, at);
}

static int c_sync(sqlite3_file *f, int flags)
{
	counts.syncs++;
	return pass_methods.xSync(f, flags);
}

void count_vfs_install(void)
{
	static sqlite3_io_methods methods;

	methods = pass_methods;
	methods.xWrite = c_write;
	methods.xSync = c_sync;
	pass_vfs_install("count", &methods);
}

struct disk_counts count_vfs_now(void)
{
	counts.wal_pages = wal_bytes / (FRAME_HEADER + PAGE_BYTES);
	return counts;
}

struct disk_counts count_vfs_since(struct disk_counts before)
{
	struct disk_counts now = count_vfs_now();

	return (struct disk_counts){now.wal_pages - before.wal_pages,
				    now.db_pages - before.db_pages,
				    now.bytes - before.bytes,
				    now.syncs - before.syncs};
}
