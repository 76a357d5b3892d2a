#include "bench/load/pass_vfs.h"

static const sqlite3_io_methods *own;

#define REAL(f)         (((struct pass_file *)(f))->real)
#define PASS(f, method) REAL(f)->pMethods->method

static int p_close(sqlite3_file *f)
{
	return PASS(f, xClose)(REAL(f));
}

static int p_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	return PASS(f, xRead)(REAL(f), p, n, at);
}

static int p_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	return PASS(f, xWrite)(REAL(f), p, n, at);
}

static int p_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	return PASS(f, xTruncate)(REAL(f), n);
}

static int p_sync(sqlite3_file *f, int flags)
{
	return PASS(f, xSync)(REAL(f), flags);
}

static int p_size(sqlite3_file *f, sqlite3_int64 *n)
{
	return PASS(f, xFileSize)(REAL(f), n);
}

static int p_lock(sqlite3_file *f, int l)
{
	return PASS(f, xLock)(REAL(f), l);
}

static int p_unlock(sqlite3_file *f, int l)
{
	return PASS(f, xUnlock)(REAL(f), l);
}

static int p_reserved(sqlite3_file *f, int *out)
{
	return PASS(f, xCheckReservedLock)(REAL(f), out);
}

static int p_control(sqlite3_file *f, int op, void *arg)
{
	return PASS(f, xFileControl)(REAL(f), op, arg);
}

static int p_sector(sqlite3_file *f)
{
	return PASS(f, xSectorSize)(REAL(f));
}

static int p_device(sqlite3_file *f)
{
	return PASS(f, xDeviceCharacteristics)(REAL(f));
}

static int p_shm_map(sqlite3_file *f, int pg, int sz, int ext,
		     void volatile **p)
{
	return PASS(f, xShmMap)(REAL(f), pg, sz, ext, p);
}

static int p_shm_lock(sqlite3_file *f, int off, int n, int flags)
{
	return PASS(f, xShmLock)(REAL(f), off, n, flags);
}

static void p_shm_barrier(sqlite3_file *f)
{
	PASS(f, xShmBarrier)(REAL(f));
}

static int p_shm_unmap(sqlite3_file *f, int del)
{
	return PASS(f, xShmUnmap)(REAL(f), del);
}

const sqlite3_io_methods pass_methods = {
	.iVersion = 2,
	.xClose = p_close,
	.xRead = p_read,
	.xWrite = p_write,
	.xTruncate = p_truncate,
	.xSync = p_sync,
	.xFileSize = p_size,
	.xLock = p_lock,
	.xUnlock = p_unlock,
	.xCheckReservedLock = p_reserved,
	.xFileControl = p_control,
	.xSectorSize = p_sector,
	.xDeviceCharacteristics = p_device,
	.xShmMap = p_shm_map,
	.xShmLock = p_shm_lock,
	.xShmBarrier = p_shm_barrier,
	.xShmUnmap = p_shm_unmap,
};

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags,
		  int *out)
{
	sqlite3_vfs *real = v->pAppData;
	struct pass_file *file = (struct pass_file *)f;
	int rc;

	file->real = (sqlite3_file *)(void *)(file + 1);
	file->flags = flags;
	rc = real->xOpen(real, name, file->real, flags, out);
	f->pMethods = file->real->pMethods ? own : NULL;
	return rc;
}

void pass_vfs_install(const char *name, const sqlite3_io_methods *methods)
{
	static sqlite3_vfs shim;
	sqlite3_vfs *real = sqlite3_vfs_find(NULL);

	if (own)
		return;
	own = methods;
	shim = *real;
	shim.zName = name;
	shim.szOsFile += (int)sizeof(struct pass_file);
	shim.pAppData = real;
	shim.pNext = NULL;
	shim.xOpen = v_open;
	sqlite3_vfs_register(&shim, 1);
}
