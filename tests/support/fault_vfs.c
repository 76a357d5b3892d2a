#include "tests/support/fault_vfs.h"

#include <sqlite3.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

static struct {
	int left; /* calls until the fault; 0 is disarmed */
	enum fault_kind kind;
	bool fired;
} fault;

struct file {
	sqlite3_file base;
	sqlite3_file *real; /* lives right behind this struct */
};

static bool trips(bool allocation)
{
	if (fault.left == 0 || (fault.kind == FAULT_NOMEM) != allocation ||
	    --fault.left > 0)
		return false;
	fault.fired = true;
	if (fault.kind == FAULT_DIE)
		_exit(FAULT_DIED);
	return true;
}

static int io_code(int ioerr)
{
	return fault.kind == FAULT_FULL ? SQLITE_FULL : ioerr;
}

#define REAL(f)         (((struct file *)(f))->real)
#define PASS(f, method) REAL(f)->pMethods->method

static int f_close(sqlite3_file *f)
{
	return PASS(f, xClose)(REAL(f));
}

static int f_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	return PASS(f, xRead)(REAL(f), p, n, at);
}

static int f_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	if (!trips(false))
		return PASS(f, xWrite)(REAL(f), p, n, at);
	if (fault.kind == FAULT_SHORT)
		PASS(f, xWrite)(REAL(f), p, n / 2, at);
	return io_code(SQLITE_IOERR_WRITE);
}

static int f_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	return trips(false) ? io_code(SQLITE_IOERR_TRUNCATE)
			    : PASS(f, xTruncate)(REAL(f), n);
}

static int f_sync(sqlite3_file *f, int flags)
{
	return trips(false) ? io_code(SQLITE_IOERR_FSYNC)
			    : PASS(f, xSync)(REAL(f), flags);
}

static int f_size(sqlite3_file *f, sqlite3_int64 *n)
{
	return PASS(f, xFileSize)(REAL(f), n);
}

static int f_lock(sqlite3_file *f, int l)
{
	return PASS(f, xLock)(REAL(f), l);
}

static int f_unlock(sqlite3_file *f, int l)
{
	return PASS(f, xUnlock)(REAL(f), l);
}

static int f_reserved(sqlite3_file *f, int *out)
{
	return PASS(f, xCheckReservedLock)(REAL(f), out);
}

static int f_control(sqlite3_file *f, int op, void *arg)
{
	return PASS(f, xFileControl)(REAL(f), op, arg);
}

static int f_sector(sqlite3_file *f)
{
	return PASS(f, xSectorSize)(REAL(f));
}

static int f_device(sqlite3_file *f)
{
	return PASS(f, xDeviceCharacteristics)(REAL(f));
}

static int f_shm_map(sqlite3_file *f, int pg, int sz, int ext,
		     void volatile **p)
{
	return PASS(f, xShmMap)(REAL(f), pg, sz, ext, p);
}

static int f_shm_lock(sqlite3_file *f, int off, int n, int flags)
{
	return PASS(f, xShmLock)(REAL(f), off, n, flags);
}

static void f_shm_barrier(sqlite3_file *f)
{
	PASS(f, xShmBarrier)(REAL(f));
}

static int f_shm_unmap(sqlite3_file *f, int del)
{
	return PASS(f, xShmUnmap)(REAL(f), del);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = f_close,
	.xRead = f_read,
	.xWrite = f_write,
	.xTruncate = f_truncate,
	.xSync = f_sync,
	.xFileSize = f_size,
	.xLock = f_lock,
	.xUnlock = f_unlock,
	.xCheckReservedLock = f_reserved,
	.xFileControl = f_control,
	.xSectorSize = f_sector,
	.xDeviceCharacteristics = f_device,
	.xShmMap = f_shm_map,
	.xShmLock = f_shm_lock,
	.xShmBarrier = f_shm_barrier,
	.xShmUnmap = f_shm_unmap,
};

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags,
		  int *out)
{
	sqlite3_vfs *real = v->pAppData;
	struct file *file = (struct file *)f;
	int rc;

	file->real = (sqlite3_file *)(void *)(file + 1);
	rc = real->xOpen(real, name, file->real, flags, out);
	f->pMethods = file->real->pMethods ? &methods : NULL;
	return rc;
}

void fault_vfs_install(void)
{
	static sqlite3_vfs shim;
	sqlite3_vfs *real = sqlite3_vfs_find(NULL);

	shim = *real;
	shim.zName = "fault";
	shim.szOsFile += (int)sizeof(struct file);
	shim.pAppData = real;
	shim.pNext = NULL;
	shim.xOpen = v_open;
	sqlite3_vfs_register(&shim, 1);
}

static sqlite3_mem_methods real_memory;

static void *failing_malloc(int n)
{
	return trips(true) ? NULL : real_memory.xMalloc(n);
}

static void *failing_realloc(void *p, int n)
{
	return trips(true) ? NULL : real_memory.xRealloc(p, n);
}

void fault_malloc_install(void)
{
	sqlite3_mem_methods shim;

	sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real_memory);
	shim = real_memory;
	shim.xMalloc = failing_malloc;
	shim.xRealloc = failing_realloc;
	sqlite3_config(SQLITE_CONFIG_MALLOC, &shim);
}

void fault_arm(int nth, enum fault_kind kind)
{
	fault.left = nth;
	fault.kind = kind;
	fault.fired = false;
}

void fault_disarm(void)
{
	fault.left = 0;
}

bool fault_fired(void)
{
	return fault.fired;
}
