#include "db/wal_vfs.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FRAME_HEADER 24
#define GATHER_MAX   (256 << 10) /* more than this is written as it comes */
#define WRITE_MAX \
	(64 << 10) /* what SQLite's own VFS takes at a time: its
				  * counter of bytes has 17 bits */

struct wal {
	sqlite3_file base;
	sqlite3_file *real; /* lives right behind this struct */
	sqlite3_int64 at;   /* where what is gathered belongs */
	int n;              /* bytes gathered */
	int cap;
	char *bytes;
	bool last_frame; /* the page that comes next completes a commit */
};

#define ROOM_KEPT (128 << 10)

#define WAL(f)  ((struct wal *)(f))
#define REAL(f) (WAL(f)->real)

/* Writes what was gathered. After a failure nothing is kept: SQLite rolls the
 * transaction back and writes over whatever got through. */
static int put(struct wal *w)
{
	int n = w->n, done = 0, rc = SQLITE_OK;

	w->n = 0;
	w->last_frame = false;
	while (done < n && rc == SQLITE_OK) {
		int piece = n - done < WRITE_MAX ? n - done : WRITE_MAX;

		rc = w->real->pMethods->xWrite(w->real, w->bytes + done, piece,
					       w->at + done);
		done += piece;
	}
	if (w->cap > ROOM_KEPT) { /* a large commit is rare */
		free(w->bytes);
		w->bytes = NULL;
		w->cap = 0;
	}
	return rc;
}

static bool make_room(struct wal *w, int n)
{
	int cap = w->cap ? w->cap : 16 << 10;
	char *more;

	if (w->n + n <= w->cap)
		return true;
	while (cap < w->n + n)
		cap *= 2;
	more = realloc(w->bytes, (size_t)cap);
	if (!more)
		return false;
	w->bytes = more;
	w->cap = cap;
	return true;
}

/* Bytes 4 to 7 of a frame's header are the size of the database after the
 * commit, and 0 in all frames of a transaction but the last. */
static bool ends_commit(const void *header)
{
	static const char zero[4];

	return memcmp((const char *)header + 4, zero, sizeof zero) != 0;
}

static int w_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	struct wal *w = WAL(f);
	bool follows = w->n > 0 && at == w->at + w->n;
	bool page = follows && n > FRAME_HEADER;
	int rc = SQLITE_OK;

	if (!follows || w->n + n > GATHER_MAX)
		rc = put(w);
	if (rc != SQLITE_OK)
		return rc;
	/* only the pieces of frames are gathered, headers first */
	if ((n != FRAME_HEADER && !page) || !make_room(w, n)) {
		rc = put(w);
		return rc ? rc : REAL(f)->pMethods->xWrite(REAL(f), p, n, at);
	}
	if (w->n == 0)
		w->at = at;
	memcpy(w->bytes + w->n, p, (size_t)n);
	w->n += n;
	if (n == FRAME_HEADER)
		w->last_frame = ends_commit(p);
	else if (w->last_frame)
		return put(w);
	return SQLITE_OK;
}

static int w_close(sqlite3_file *f)
{
	/* what is left belongs to no commit */
	free(WAL(f)->bytes);
	WAL(f)->bytes = NULL;
	return REAL(f)->pMethods->xClose(REAL(f));
}

static int w_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	int rc = put(WAL(f));

	return rc ? rc : REAL(f)->pMethods->xRead(REAL(f), p, n, at);
}

static int w_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	int rc = put(WAL(f));

	return rc ? rc : REAL(f)->pMethods->xTruncate(REAL(f), n);
}

static int w_sync(sqlite3_file *f, int flags)
{
	int rc = put(WAL(f));

	return rc ? rc : REAL(f)->pMethods->xSync(REAL(f), flags);
}

static int w_size(sqlite3_file *f, sqlite3_int64 *n)
{
	int rc = put(WAL(f));

	return rc ? rc : REAL(f)->pMethods->xFileSize(REAL(f), n);
}

static int w_lock(sqlite3_file *f, int level)
{
	return REAL(f)->pMethods->xLock(REAL(f), level);
}

static int w_unlock(sqlite3_file *f, int level)
{
	return REAL(f)->pMethods->xUnlock(REAL(f), level);
}

static int w_reserved(sqlite3_file *f, int *out)
{
	return REAL(f)->pMethods->xCheckReservedLock(REAL(f), out);
}

static int w_control(sqlite3_file *f, int op, void *arg)
{
	return REAL(f)->pMethods->xFileControl(REAL(f), op, arg);
}

static int w_sector(sqlite3_file *f)
{
	return REAL(f)->pMethods->xSectorSize(REAL(f));
}

static int w_device(sqlite3_file *f)
{
	return REAL(f)->pMethods->xDeviceCharacteristics(REAL(f));
}

/* Version 1: shared memory and mapped reads belong to the database file. */
static const sqlite3_io_methods methods = {
	.iVersion = 1,
	.xClose = w_close,
	.xRead = w_read,
	.xWrite = w_write,
	.xTruncate = w_truncate,
	.xSync = w_sync,
	.xFileSize = w_size,
	.xLock = w_lock,
	.xUnlock = w_unlock,
	.xCheckReservedLock = w_reserved,
	.xFileControl = w_control,
	.xSectorSize = w_sector,
	.xDeviceCharacteristics = w_device,
};

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags,
		  int *out)
{
	sqlite3_vfs *real = v->pAppData;
	struct wal *w = WAL(f);
	int rc;

	if (!(flags & SQLITE_OPEN_WAL))
		return real->xOpen(real, name, f, flags, out);
	*w = (struct wal){.real = (sqlite3_file *)(void *)(w + 1)};
	rc = real->xOpen(real, name, w->real, flags, out);
	f->pMethods = w->real->pMethods ? &methods : NULL;
	return rc;
}

static sqlite3_vfs shim;

static void install(void)
{
	sqlite3_vfs *real;

	/* Nobody asks SQLite how much memory it has in all, and counting costs a
	 * lock and an eighth of the time at every allocation. */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	real = sqlite3_vfs_find(NULL);
	shim = *real;
	shim.zName = "skep";
	shim.szOsFile += (int)sizeof(struct wal);
	shim.pAppData = real;
	shim.pNext = NULL;
	shim.xOpen = v_open;
	sqlite3_vfs_register(&shim, 0);
}

const char *wal_vfs_name(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, install);
	return shim.zName;
}
