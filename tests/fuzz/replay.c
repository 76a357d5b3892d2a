/* Runs a fuzz target over the files of its corpus, in builds without libFuzzer,
 * so that every past finding is a test from then on. */
#include "base/buf.h"
#include "base/file.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	struct dirent *d;
	int n = 0;
	DIR *dir;

	if (argc != 2 || !(dir = opendir(argv[1]))) {
		fprintf(stderr, "usage: %s CORPUS-DIRECTORY\n", argv[0]);
		return 64;
	}
	while ((d = readdir(dir))) {
		struct buf b = BUF_MAX(64u << 20);
		char path[4096];
		struct err e;

		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof path, "%s/%s", argv[1], d->d_name);
		if (file_read(path, &b, &e)) {
			fprintf(stderr, "%s\n", e.text);
			return 74;
		}
		LLVMFuzzerTestOneInput((const uint8_t *)b.p, b.n);
		buf_fini(&b);
		n++;
	}
	closedir(dir);
	printf("%d inputs replayed\n", n);
	return n > 0 ? 0 : 65;
}
