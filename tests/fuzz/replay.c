/* Runs a fuzz target over the files of its corpus, in builds without libFuzzer,
 * so that every past finding is a test from then on. */
#include "lib/base/buf.h"
#include "lib/os/file.h"

#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void replay(const char *dir, const char *name)
{
	struct buf b = BUF_MAX(64u << 20);
	char path[4096];
	struct err e;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	if (file_read(path, &b, &e)) {
		fprintf(stderr, "%s\n", e.text);
		exit(74);
	}
	LLVMFuzzerTestOneInput((const uint8_t *)b.p, b.n);
	buf_fini(&b);
}

int main(int argc, char **argv)
{
	struct dirent **names = NULL;
	int n = 0, found = -1;

	if (argc == 2) /* sorted, so that every run does the same */
		found = scandir(argv[1], &names, NULL, alphasort);
	if (found < 0) {
		fprintf(stderr, "usage: %s CORPUS-DIRECTORY\n", argv[0]);
		return 64;
	}
	for (int i = 0; i < found; i++) {
		if (names[i]->d_name[0] != '.') {
			replay(argv[1], names[i]->d_name);
			n++;
		}
		free(names[i]);
	}
	free(names);
	printf("%d inputs replayed\n", n);
	return n > 0 ? 0 : 65;
}
