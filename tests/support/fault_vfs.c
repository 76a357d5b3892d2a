#include "tests/support/fault_vfs.h"

#include "bench/load/pass_vfs.h"

#include <stddef.h>
#include <string.h>
#include <unistd.h>

static struct {
	int left; /* calls until the fault; 0 is disarmed */
	enum fault_kind kind;
	bool fired;
} fault;

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

static int f_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	if (!trips(false))
		return pass_methods.xWrite(f, p, n, at);
	if (fault.kind == FAULT_SHORT)
		pass_methods.xWrite(f, p, n / 2, at);
	return io_code(SQLITE_IOERR_WRITE);
}

static int f_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	return trips(false) ? io_code(SQLITE_IOERR_TRUNCATE)
			    : pass_methods.xTruncate(f, n);
}

static int f_sync(sqlite3_file *f, int flags)
{
	return trips(false) ? io_code(SQLITE_IOERR_FSYNC)
			    : pass_methods.xSync(f, flags);
}

void fault_vfs_install(void)
{
	static sqlite3_io_methods methods;

	methods = pass_methods;
	methods.xWrite = f_write;
	methods.xTruncate = f_truncate;
	methods.xSync = f_sync;
	pass_vfs_install("fault", &methods);
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
