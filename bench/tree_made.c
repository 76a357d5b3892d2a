#include "bench/tree.h"

#include "base/buf.h"
#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * A source tree as there are many, the same every time: files of 100 bytes to
 * 200 kB, most of them small, lines of words of which few are frequent and most
 * are rare, indented, with some numbers and comments. It compresses about as
 * code does.
 */
#define WORDS 6000

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

static void add_line(struct buf *b, char words[WORDS][16], uint32_t *seed)
{
	static const char *const between[] = {" ",  " ",  ", ",  "(",
					      ");", ".",  "->",  " = ",
					      "[",  "] ", " + ", ": "};
	uint32_t n = 1 + next(seed) % 9;

	for (uint32_t i = next(seed) % 4; i > 0; i--)
		buf_addc(b, '\t');
	if (next(seed) % 8 == 0)
		buf_adds(b, "// ");
	for (uint32_t i = 0; i < n; i++) {
		if (next(seed) % 12 == 0)
			buf_addf(b, "%u", next(seed) % 100000);
		buf_adds(b, words[skewed(seed, WORDS)]);
		buf_adds(b, between[next(seed) % 12]);
	}
	buf_addc(b, '\n');
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
	uint32_t seed = 1;
	char path[4096];
	int rc = 0;

	make_words(words);
	for (int i = 0; rc == 0 && i < files; i++) {
		size_t size = 100 + next(&seed) % 6000;

		if (i % 16 == 0)
			size += next(&seed) % 24000;
		if (i % 200 == 0)
			size += 40000 + next(&seed) % 120000;
		snprintf(path, sizeof path, "%s/m%d/part%d", dir, i / 150,
			 i / 15 % 10);
		rc = file_make_dir(path, 0755, e);
		snprintf(path + strlen(path), 64, "/%s%d.c",
			 words[skewed(&seed, WORDS)], i);
		buf_clear(&b);
		while (b.n < size)
			add_line(&b, words, &seed);
		if (rc == 0)
			rc = write_file(path, &b, e);
	}
	buf_fini(&b);
	return rc;
}
