#include "bench/count_vfs.h"

#include <sqlite3.h>
#include <string.h>

#define FRAME_HEADER 24
#define PAGE_BYTES   4096

static struct disk_counts counts;
static int64_t wal_bytes;

struct file {
	sqlite3_file base;
	sqlite3_file *real; /* lives right behind this struct */
	int kind;           /* SQLITE_OPEN_WAL, … */
};

#define REAL(f)         (((struct file *)(f))->real)
#define PASS(f, method) REAL(f)->pMethods->method

static int c_close(sqlite3_file *f)
{
	return PASS(f, xClose)(REAL(f));
}

static int c_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	return PASS(f, xRead)(REAL(f), p, n, at);
}

static int c_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	int kind = ((struct file *)f)->kind;

	counts.bytes += n;
	if (kind & SQLITE_OPEN_WAL) /* in pieces or several at once */
		wal_bytes += n;
	else if (kind & SQLITE_OPEN_MAIN_DB)
		counts.db_pages++;
	return PASS(f, xWrite)(REAL(f), p, n, at);
}

static int c_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	return PASS(f, xTruncate)(REAL(f), n);
}

static int c_sync(sqlite3_file *f, int flags)
{
	counts.syncs++;
	return PASS(f, xSync)(REAL(f), flags);
}

static int c_size(sqlite3_file *f, sqlite3_int64 *n)
{
	return PASS(f, xFileSize)(REAL(f), n);
}

static int c_lock(sqlite3_file *f, int l)
{
	return PASS(f, xLock)(REAL(f), l);
}

static int c_unlock(sqlite3_file *f, int l)
{
	return PASS(f, xUnlock)(REAL(f), l);
}

static int c_reserved(sqlite3_file *f, int *out)
{
	return PASS(f, xCheckReservedLock)(REAL(f), out);
}

static int c_control(sqlite3_file *f, int op, void *arg)
{
	return PASS(f, xFileControl)(REAL(f), op, arg);
}

static int c_sector(sqlite3_file *f)
{
	return PASS(f, xSectorSize)(REAL(f));
}

static int c_device(sqlite3_file *f)
{
	return PASS(f, xDeviceCharacteristics)(REAL(f));
}

static int c_shm_map(sqlite3_file *f, int pg, int sz, int ext,
		     void volatile **p)
{
	return PASS(f, xShmMap)(REAL(f), pg, sz, ext, p);
}

static int c_shm_lock(sqlite3_file *f, int off, int n, int flags)
{
	return PASS(f, xShmLock)(REAL(f), off, n, flags);
}

static void c_shm_barrier(sqlite3_file *f)
{
	PASS(f, xShmBarrier)(REAL(f));
}

static int c_shm_unmap(sqlite3_file *f, int del)
{
	return PASS(f, xShmUnmap)(REAL(f), del);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = c_close,
	.xRead = c_read,
	.xWrite = c_write,
	.xTruncate = c_truncate,
	.xSync = c_sync,
	.xFileSize = c_size,
	.xLock = c_lock,
	.xUnlock = c_unlock,
	.xCheckReservedLock = c_reserved,
	.xFileControl = c_control,
	.xSectorSize = c_sector,
	.xDeviceCharacteristics = c_device,
	.xShmMap = c_shm_map,
	.xShmLock = c_shm_lock,
	.xShmBarrier = c_shm_barrier,
	.xShmUnmap = c_shm_unmap,
};

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags,
		  int *out)
{
	sqlite3_vfs *real = v->pAppData;
	struct file *file = (struct file *)f;
	int rc;

	file->real = (sqlite3_file *)(void *)(file + 1);
	file->kind = flags;
	rc = real->xOpen(real, name, file->real, flags, out);
	f->pMethods = file->real->pMethods ? &methods : NULL;
	return rc;
}

void count_vfs_install(void)
{
	static sqlite3_vfs shim;
	sqlite3_vfs *real = sqlite3_vfs_find(NULL);

	if (shim.xOpen)
		return;
	shim = *real;
	shim.zName = "count";
	shim.szOsFile += (int)sizeof(struct file);
	shim.pAppData = real;
	shim.pNext = NULL;
	shim.xOpen = v_open;
	sqlite3_vfs_register(&shim, 1);
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
