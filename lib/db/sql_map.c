#include "lib/db/sql_map.h"

#include "lib/db/internal.h"

#include <assert.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Reads through a mapping of the file. For large blobs this takes two thirds of
 * the CPU time, since otherwise SQLite makes a system call for each page of 4
 * KiB. Only for connections that do not write.
 *
 * If the disk fails to read a page, or a program other than SQLite has
 * truncated the file, touching the page raises SIGBUS. The handler maps a page
 * of zeros instead and records the failure; the caller checks sql_map_failed
 * and discards what it read. The file is mapped for one transaction at a time,
 * after SQLite has begun it, so that the handler knows the mapping: at other
 * times SQLite may create a new one.
 */
#define MAP_MAX INT64_C(0x7fff0000) /* SQLite's own limit */

/* The mapping of this thread. */
static _Thread_local struct {
	uintptr_t begin, end;
	volatile sig_atomic_t failed;
} mapped;

static void on_bus(int sig, siginfo_t *info, void *context)
{
	uintptr_t at = (uintptr_t)info->si_addr;
	uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
	/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
	void *page = (void *)(at & ~(size - 1));

	(void)context;
	if (at >= mapped.begin && at < mapped.end &&
	    mmap(page, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		 -1, 0) == page)
		mapped.failed = 1;
	else
		(void)signal(sig, SIG_DFL); /* it is raised again */
}

static void set_size(struct sql *db, int64_t bytes)
{
	sqlite3_int64 size = bytes;

	(void)sqlite3_file_control(db->conn, "main", SQLITE_FCNTL_MMAP_SIZE,
				   &size);
}

int sql_map(struct sql *db, struct err *e)
{
	struct sigaction on = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};

	if (sigaction(SIGBUS, &on, NULL))
		return err_errno_set(e, "a handler of SIGBUS");
	if (sql_run(db, "PRAGMA mmap_size=2147418112", e)) /* MAP_MAX */
		return -1;
	set_size(db, 0); /* until sql_map_begin */
	return 0;
}

void sql_map_begin(struct sql *db)
{
	const struct sqlite3_io_methods *io;
	sqlite3_file *file = NULL;
	sqlite3_int64 size;
	void *at = NULL;

	assert(!mapped.end && "one connection of a thread is mapped");
	if (sqlite3_file_control(db->conn, "main", SQLITE_FCNTL_FILE_POINTER,
				 &file) ||
	    !file || !(io = file->pMethods) || io->iVersion < 3 ||
	    io->xFileSize(file, &size))
		return;
	set_size(db, MAP_MAX);
	if (io->xFetch(file, 0, 1, &at) || !at) {
		set_size(db, 0);
		return;
	}
	io->xUnfetch(file, 0, at);
	mapped.begin = (uintptr_t)at;
	mapped.end = mapped.begin +
		     (uintptr_t)(size < MAP_MAX ? size : MAP_MAX);
}

bool sql_map_failed(void)
{
	return mapped.failed;
}

void sql_map_end(struct sql *db)
{
	mapped.begin = mapped.end = 0;
	mapped.failed = 0;
	set_size(db, 0);
}
