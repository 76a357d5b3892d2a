#include "tests/support/wal.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAGIC      0x377f0682U /* | 1: checksums of big-endian words */
#define VERSION    3007000U
#define HEADER     32
#define FRAME      24
#define PAGE_MAX   65536
#define REGION     32768
#define INDEX_LAST 16 /* offsets in the first region of the index */
#define INDEX_DONE 96
#define WITH_SUM   24 /* bytes of the header that its checksum covers */
#define FRAME_SUM  8  /* and of a frame's header */

static uint32_t big(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	       (uint32_t)p[2] << 8 | p[3];
}

static uint32_t little(const unsigned char *p)
{
	return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 |
	       (uint32_t)p[1] << 8 | p[0];
}

static void add_checksum(uint32_t sum[2], const unsigned char *p, size_t n,
			 bool be)
{
	for (size_t i = 0; i < n; i += 8) {
		sum[0] += (be ? big(p + i) : little(p + i)) + sum[1];
		sum[1] += (be ? big(p + i + 4) : little(p + i + 4)) + sum[0];
	}
}

static bool sum_is(const uint32_t sum[2], const unsigned char *p)
{
	return sum[0] == big(p) && sum[1] == big(p + 4);
}

static bool read_header(int fd, unsigned char *h, uint32_t sum[2])
{
	sum[0] = sum[1] = 0;
	if (pread(fd, h, HEADER, 0) != HEADER || (big(h) & ~1U) != MAGIC ||
	    big(h + 4) != VERSION)
		return false;
	add_checksum(sum, h, WITH_SUM, big(h) & 1);
	return sum_is(sum, h + WITH_SUM);
}

static bool read_frame(int fd, struct wal *w, uint32_t page, bool be)
{
	static unsigned char raw[FRAME + PAGE_MAX];
	ssize_t n = (ssize_t)(FRAME + page);
	off_t at = HEADER + (off_t)w->frames * n;
	uint32_t sum[2] = {w->sum[0], w->sum[1]};

	if (pread(fd, raw, (size_t)n, at) != n || big(raw + 8) != w->salt[0] ||
	    big(raw + 12) != w->salt[1])
		return false;
	add_checksum(sum, raw, FRAME_SUM, be);
	add_checksum(sum, raw + FRAME, page, be);
	if (!sum_is(sum, raw + 16))
		return false;
	w->frames++;
	if (big(raw + 4))
		w->commit = w->frames;
	memcpy(w->sum, sum, sizeof sum);
	return true;
}

bool wal_read(const char *db_path, uint32_t last, struct wal *w)
{
	unsigned char h[HEADER];
	char path[PATH_MAX];
	uint32_t sum[2];
	bool good;
	int fd;

	snprintf(path, sizeof path, "%s-wal", db_path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	good = fd >= 0 && read_header(fd, h, sum);
	if (good && (w->salt[0] != big(h + 16) || w->salt[1] != big(h + 20) ||
		     w->frames > last))
		*w = (struct wal){
			{big(h + 16), big(h + 20)}, {sum[0], sum[1]}, 0, 0};
	while (good && w->frames < last &&
	       read_frame(fd, w, big(h + 8), big(h) & 1))
		;
	if (fd >= 0)
		close(fd);
	return good;
}

struct wal_index wal_index(sqlite3 *conn)
{
	volatile void *region = NULL;
	struct wal_index at = {0};
	sqlite3_file *f = NULL;

	sqlite3_file_control(conn, "main", SQLITE_FCNTL_FILE_POINTER, &f);
	if (!f || f->pMethods->xShmMap(f, 0, REGION, 0, &region) || !region)
		abort();
	memcpy(&at.last, (char *)(uintptr_t)region + INDEX_LAST, 4);
	memcpy(&at.copied, (char *)(uintptr_t)region + INDEX_DONE, 4);
	return at;
}

const char *wal_check(sqlite3 *conn, const char *db_path, struct wal *w)
{
	static char why[200];
	struct wal_index at;

	why[0] = '\0';
	if (sqlite3_exec(conn, "BEGIN IMMEDIATE", NULL, NULL, NULL)) {
		snprintf(why, sizeof why, "begin: %s", sqlite3_errmsg(conn));
		return why;
	}
	at = wal_index(conn);
	if (at.copied > at.last)
		snprintf(why, sizeof why, "%u frames are copied of %u",
			 at.copied, at.last);
	else if (at.last && !wal_read(db_path, at.last, w))
		snprintf(why, sizeof why, "no header");
	else if (at.last && (w->frames != at.last || w->commit != at.last))
		snprintf(why, sizeof why,
			 "%u frames are valid of %u, the last commit is %u",
			 w->frames, at.last, w->commit);
	sqlite3_exec(conn, "ROLLBACK", NULL, NULL, NULL);
	return why[0] ? why : NULL;
}
