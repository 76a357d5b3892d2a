#include "tests/support/record_vfs.h"

#include <assert.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR    512
#define FILES_MAX 16

enum op_kind { OP_WRITE, OP_TRUNCATE, OP_SYNC, OP_DELETE };

struct op {
	enum op_kind kind;
	int file;
	int life;         /* of the name: a deletion begins another one */
	sqlite3_int64 at; /* offset, or size */
	size_t n;
	char *data;
};

static struct {
	bool on;
	struct op *ops;
	size_t count, cap;
	char names[FILES_MAX][NAME_MAX + 1];
	int lives[FILES_MAX];
	int nfiles;
} tape;

struct file {
	sqlite3_file base;
	sqlite3_file *real; /* lives right behind this struct */
	int number;         /* -1: not recorded */
};

static int number_of(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	const char *name = slash ? slash + 1 : path;

	if (!name)
		return -1;
	for (int i = 0; i < tape.nfiles; i++)
		if (!strcmp(tape.names[i], name))
			return i;
	assert(tape.nfiles < FILES_MAX);
	snprintf(tape.names[tape.nfiles], NAME_MAX + 1, "%s", name);
	return tape.nfiles++;
}

static void add(enum op_kind kind, int file, sqlite3_int64 at, const void *p,
		size_t n)
{
	struct op *op;

	if (!tape.on || file < 0)
		return;
	if (tape.count == tape.cap) {
		tape.cap = tape.cap ? tape.cap * 2 : 256;
		tape.ops = realloc(tape.ops, tape.cap * sizeof *tape.ops);
		if (!tape.ops)
			abort();
	}
	op = &tape.ops[tape.count++];
	*op = (struct op){kind, file, tape.lives[file], at, n, NULL};
	if (kind == OP_DELETE)
		tape.lives[file]++;
	if (n) {
		op->data = malloc(n);
		if (!op->data)
			abort();
		memcpy(op->data, p, n);
	}
}

#define REAL(f)         (((struct file *)(f))->real)
#define NUMBER(f)       (((struct file *)(f))->number)
#define PASS(f, method) REAL(f)->pMethods->method

static int r_close(sqlite3_file *f)
{
	return PASS(f, xClose)(REAL(f));
}

static int r_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
	return PASS(f, xRead)(REAL(f), p, n, at);
}

static int r_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
	int rc = PASS(f, xWrite)(REAL(f), p, n, at);

	if (rc == SQLITE_OK)
		add(OP_WRITE, NUMBER(f), at, p, (size_t)n);
	return rc;
}

static int r_truncate(sqlite3_file *f, sqlite3_int64 n)
{
	int rc = PASS(f, xTruncate)(REAL(f), n);

	if (rc == SQLITE_OK)
		add(OP_TRUNCATE, NUMBER(f), n, NULL, 0);
	return rc;
}

static int r_sync(sqlite3_file *f, int flags)
{
	int rc = PASS(f, xSync)(REAL(f), flags);

	if (rc == SQLITE_OK)
		add(OP_SYNC, NUMBER(f), 0, NULL, 0);
	return rc;
}

static int r_size(sqlite3_file *f, sqlite3_int64 *n)
{
	return PASS(f, xFileSize)(REAL(f), n);
}

static int r_lock(sqlite3_file *f, int l)
{
	return PASS(f, xLock)(REAL(f), l);
}

static int r_unlock(sqlite3_file *f, int l)
{
	return PASS(f, xUnlock)(REAL(f), l);
}

static int r_reserved(sqlite3_file *f, int *out)
{
	return PASS(f, xCheckReservedLock)(REAL(f), out);
}

static int r_control(sqlite3_file *f, int op, void *arg)
{
	return PASS(f, xFileControl)(REAL(f), op, arg);
}

static int r_sector(sqlite3_file *f)
{
	return PASS(f, xSectorSize)(REAL(f));
}

static int r_device(sqlite3_file *f)
{
	return PASS(f, xDeviceCharacteristics)(REAL(f));
}

static int r_shm_map(sqlite3_file *f, int pg, int sz, int ext,
		     void volatile **p)
{
	return PASS(f, xShmMap)(REAL(f), pg, sz, ext, p);
}

static int r_shm_lock(sqlite3_file *f, int off, int n, int flags)
{
	return PASS(f, xShmLock)(REAL(f), off, n, flags);
}

static void r_shm_barrier(sqlite3_file *f)
{
	PASS(f, xShmBarrier)(REAL(f));
}

static int r_shm_unmap(sqlite3_file *f, int del)
{
	return PASS(f, xShmUnmap)(REAL(f), del);
}

static const sqlite3_io_methods methods = {
	.iVersion = 2,
	.xClose = r_close,
	.xRead = r_read,
	.xWrite = r_write,
	.xTruncate = r_truncate,
	.xSync = r_sync,
	.xFileSize = r_size,
	.xLock = r_lock,
	.xUnlock = r_unlock,
	.xCheckReservedLock = r_reserved,
	.xFileControl = r_control,
	.xSectorSize = r_sector,
	.xDeviceCharacteristics = r_device,
	.xShmMap = r_shm_map,
	.xShmLock = r_shm_lock,
	.xShmBarrier = r_shm_barrier,
	.xShmUnmap = r_shm_unmap,
};

static int v_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags,
		  int *out)
{
	sqlite3_vfs *real = v->pAppData;
	struct file *file = (struct file *)f;
	int rc;

	file->real = (sqlite3_file *)(void *)(file + 1);
	file->number = tape.on ? number_of(name) : -1;
	rc = real->xOpen(real, name, file->real, flags, out);
	f->pMethods = file->real->pMethods ? &methods : NULL;
	return rc;
}

static int v_delete(sqlite3_vfs *v, const char *name, int sync_dir)
{
	sqlite3_vfs *real = v->pAppData;
	int rc = real->xDelete(real, name, sync_dir);

	if (rc == SQLITE_OK && tape.on)
		add(OP_DELETE, number_of(name), 0, NULL, 0);
	return rc;
}

void record_install(void)
{
	static sqlite3_vfs shim;
	sqlite3_vfs *real = sqlite3_vfs_find(NULL);

	shim = *real;
	shim.zName = "record";
	shim.szOsFile += (int)sizeof(struct file);
	shim.pAppData = real;
	shim.pNext = NULL;
	shim.xOpen = v_open;
	shim.xDelete = v_delete;
	sqlite3_vfs_register(&shim, 1);
}

void record_start(void)
{
	tape.on = true;
}

void record_stop(void)
{
	tape.on = false;
}

size_t record_count(void)
{
	return tape.count;
}

void record_free(void)
{
	for (size_t i = 0; i < tape.count; i++)
		free(tape.ops[i].data);
	free(tape.ops);
	memset(&tape, 0, sizeof tape);
}

/* --- replay -------------------------------------------------------------- */

static uint64_t draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

static void write_part(int fd, const struct op *op, uint64_t *seed)
{
	sqlite3_int64 at = op->at, end = op->at + (sqlite3_int64)op->n;

	while (at < end) {
		sqlite3_int64 next = (at / SECTOR + 1) * SECTOR;

		if (next > end)
			next = end;
		if ((!seed || draw(seed) % 2) &&
		    pwrite(fd, op->data + (at - op->at), (size_t)(next - at),
			   at) != next - at)
			abort();
		at = next;
	}
}

/* seed NULL: all of it is there. */
static void apply(int dir, const struct op *op, uint64_t *seed)
{
	const char *name = tape.names[op->file];
	int fd;

	if (op->kind == OP_SYNC || op->kind == OP_DELETE)
		return;
	fd = openat(dir, name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		abort();
	if (op->kind == OP_WRITE)
		write_part(fd, op, seed);
	else if ((!seed || draw(seed) % 2) && ftruncate(fd, op->at))
		abort();
	close(fd);
}

struct outcome {     /* of one name */
	int life;    /* the file that it names */
	size_t sure; /* operations before this one are on the disk */
};

static int life_at(int file, size_t cut)
{
	int life = 0;

	for (size_t i = 0; i < cut; i++)
		life += tape.ops[i].file == file &&
			tape.ops[i].kind == OP_DELETE;
	return life;
}

/* The end of what is on the disk of a file in one life. */
static size_t synced(int file, int life, size_t cut)
{
	for (size_t i = cut; i-- > 0;) {
		const struct op *op = &tape.ops[i];

		if (op->kind == OP_SYNC && op->file == file && op->life == life)
			return i;
	}
	return 0;
}

static bool same_database(int a, int b)
{
	const char *x = tape.names[a], *y = tape.names[b];
	size_t n = strcspn(x, "-");

	return strcspn(y, "-") == n && !strncmp(x, y, n);
}

/* SQLite syncs the directory of a log or journal with its first sync. */
static bool syncs_directory(size_t i)
{
	const struct op *op = &tape.ops[i];

	return op->kind == OP_SYNC && strchr(tape.names[op->file], '-') &&
	       synced(op->file, op->life, i) == 0;
}

/* The first life of a name that it may still have: deletions before a sync of
 * the directory are certain, others may be lost. */
static int first_life(int file, size_t cut)
{
	int life = 0, gone = 0;

	for (size_t i = 0; i < cut; i++) {
		const struct op *op = &tape.ops[i];

		if (op->kind == OP_DELETE && op->file == file)
			gone++;
		else if (same_database(op->file, file) && syncs_directory(i))
			life = gone;
	}
	return life;
}

static struct outcome choose(int file, size_t cut, uint64_t *seed)
{
	int first = first_life(file, cut), last = life_at(file, cut);
	struct outcome o = {.life = first};

	if (*seed)
		o.life += (int)(draw(seed) % (uint64_t)(last - first + 1));
	o.sure = synced(file, o.life, cut);
	return o;
}

void record_replay(const char *path, size_t cut, uint64_t seed)
{
	int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct outcome is[FILES_MAX];

	if (dir < 0)
		abort();
	for (int f = 0; f < tape.nfiles; f++)
		is[f] = choose(f, cut, &seed);
	for (size_t i = 0; i < cut; i++) {
		const struct op *op = &tape.ops[i];

		if (op->life != is[op->file].life)
			continue;
		if (i < is[op->file].sure)
			apply(dir, op, NULL);
		else if (seed)
			apply(dir, op, &seed);
	}
	close(dir);
}
