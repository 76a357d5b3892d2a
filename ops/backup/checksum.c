#include "ops/backup/checksum.h"

#include <stdio.h>
#include <string.h>

/* zstd: magic number of a skippable frame, then its length */
static const unsigned char head[8] = {
	0x50, 0x2a, 0x4d, 0x18, (SEAL_BYTES - 8) & 0xff, (SEAL_BYTES - 8) >> 8,
	0,    0};
static const char word[] = "\nskep backup, sealed with sha256 ";

void seal_make(char block[SEAL_BYTES], const char *hex)
{
	memset(block, 0, SEAL_BYTES);
	memcpy(block, head, sizeof head);
	snprintf(block + sizeof head, SEAL_BYTES - sizeof head, "%s%s\n", word,
		 hex);
}

int seal_check(const char *block, size_t n, const char *hex, const char *what,
	       struct err *e)
{
	char right[SEAL_BYTES];

	seal_make(right, hex);
	if (n != SEAL_BYTES || memcmp(block, right, sizeof head + strlen(word)))
		return err_set(e, ERR_CORRUPT,
			       "%s has no checksum at its end; it is "
			       "truncated or not a backup of skep",
			       what);
	if (memcmp(block, right, SEAL_BYTES) != 0)
		return err_set(e, ERR_CORRUPT,
			       "%s is damaged: its checksum does not match",
			       what);
	return 0;
}
