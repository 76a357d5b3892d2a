#include "bench/suites/tree.h"

#include "lib/base/buf.h"
#include "lib/os/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A typical source tree, the same every time: files of 100 bytes to 200 kB,
 * most of them small; lines of words, few frequent and most rare; and lines
 * that begin like others. LZ4 halves it, as it does with code.
 */
#define WORDS 6000
#define LINES 48 /* words that are reused */

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525u + 1013904223u;
	return *seed >> 8;
}

/* Small numbers are frequent: the product of two even distributions. */
static uint32_t skewed(uint32_t *seed, uint32_t n)
{
	return (uint32_t)((uint64_t)(next(seed) % n) * (next(seed) % n) / n);
}

static void make_words(char words[WORDS][16])
{
	static const char letters[] = "etaoinsrhldcumfpgwybvkxjqz_";
	uint32_t seed = 7;

	for (int i = 0; i < WORDS; i++) {
		uint32_t n = 2 + skewed(&seed, 13);

		for (uint32_t k = 0; k < n; k++)
			words[i][k] = letters[skewed(&seed, 27)];
		words[i][n] = '\0';
	}
}

/* Code repeats itself with small differences: most lines begin like an earlier
 * one. */
static void begin_line(struct buf *b, size_t *lines, uint32_t *seed)
{
	size_t from = lines[next(seed) % LINES], n = 0;

	if (next(seed) % 8 == 0)
		return;
	while (from + n < b->n && b->p[from + n] != '\n')
		n++;
	n = n * (5 + next(seed) % 4) / 8;
	for (size_t i = 0; i < n; i++)
		buf_addc(b, b->p[from + i]);
}

static void add_line(struct buf *b, char words[WORDS][16], size_t *lines,
		     uint32_t *seed)
{
	static const char *const between[] = {" ",  " ",  ", ",  "(",
					      ");", ".",  "->",  " = ",
					      "[",  "] ", " + ", ": "};
	size_t start = b->n;
	uint32_t n = b->n ? next(seed) % 3 : 5;

	begin_line(b, lines, seed);
	if (b->n == start)
		for (uint32_t i = next(seed) % 4; i > 0; i--)
			buf_addc(b, '\t');
	for (uint32_t i = 0; i < n; i++) {
		if (next(seed) % 12 == 0)
			buf_addf(b, "%u", next(seed) % 100000);
		buf_adds(b, words[skewed(seed, WORDS)]);
		buf_adds(b, between[next(seed) % 12]);
	}
	buf_addc(b, '\n');
	lines[next(seed) % LINES] = start;
}

static int write_file(const char *path, const struct buf *b, struct err *e)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	int rc;

	if (fd < 0)
		return err_errno_set(e, "%s", path);
	rc = file_write_fd(fd, path, b->p, b->n, e);
	close(fd);
	return rc;
}

int tree_make(const char *dir, int files, struct err *e)
{
	static char words[WORDS][16];
	struct buf b = BUF_MAX(1 << 20);
	size_t lines[LINES];
	uint32_t seed = 1;
	char path[4096];
	int rc = 0;

	make_words(words);
	for (int i = 0; rc == 0 && i < files; i++) {
		size_t size = 100 + next(&seed) % 4200;

		if (i % 6 == 0)
			size += next(&seed) % 20000;
		if (i % 100 == 0)
			size += 30000 + next(&seed) % 60000;
		snprintf(path, sizeof path, "%s/m%d/part%d", dir, i / 150,
			 i / 15 % 10);
		rc = file_make_dir(path, 0755, e);
		snprintf(path + strlen(path), 64, "/%s%d.c",
			 words[skewed(&seed, WORDS)], i);
		buf_clear(&b);
		memset(lines, 0, sizeof lines);
		while (b.n < size)
			add_line(&b, words, lines, &seed);
		if (rc == 0)
			rc = write_file(path, &b, e);
	}
	buf_fini(&b);
	return rc;
}
