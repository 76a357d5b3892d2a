#ifndef BENCH_LOAD_PASS_VFS_H
#define BENCH_LOAD_PASS_VFS_H

#include <sqlite3.h>

/*
 * A SQLite VFS that passes every call to the default one, for VFSes that count
 * calls or make them fail. They copy pass_methods, replace some of the
 * functions, and call those of pass_methods from there. Not for skep itself,
 * which uses SQLite's own VFS.
 */
struct pass_file {
	sqlite3_file base;
	sqlite3_file *real; /* directly after this struct */
	int flags;          /* SQLITE_OPEN_WAL, … */
};

extern const sqlite3_io_methods pass_methods;

/* Becomes the default VFS, once for each process. Borrows name and methods. */
void pass_vfs_install(const char *name, const sqlite3_io_methods *methods);

#endif
