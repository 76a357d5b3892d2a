#ifndef TESTS_SUPPORT_WAL_TEST_H
#define TESTS_SUPPORT_WAL_TEST_H

#include "tests/support/temp.h"
#include "tests/support/wal.h"

#include "lib/db/checkpoint.h"
#include "lib/db/internal.h"

#define FRAMES_MAX 400

/* A file with one connection of ours and one of SQLite's own, as another program
 * would have. Table x: FRAMES_MAX rows of a page each. Table y: what is counted. */
extern struct temp wal_dir;
extern const char *wal_path;
extern struct sql *wal_ours;
extern sqlite3 *wal_other;

int wal_begin(void **state);
int wal_end(void **state);
#define WITH_FILE(test) \
	cmocka_unit_test_setup_teardown(test, wal_begin, wal_end)

void wal_script(struct sql *db, const char *text);
void wal_send(const char *text); /* to wal_other */
int64_t wal_ask(sqlite3 *db, const char *text);
void wal_change_rows(struct sql *db, int rows);
void wal_enter(struct sql *db, bool full);
void wal_leave(struct sql *db, bool keep);

/* What all processes would find after a crash: the file and its log, without the
 * index. Copied by another process, since closing a descriptor of the file would
 * take our locks. */
sqlite3 *wal_crash(void);

#endif
