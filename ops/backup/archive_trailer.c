#include "ops/backup/archive_trailer.h"

#include <stdio.h>
#include <string.h>

/* zstd: magic number of a skippable frame, then its length */
static const unsigned char head[8] = {0x50,
				      0x2a,
				      0x4d,
				      0x18,
				      (TRAILER_BYTES - 8) & 0xff,
				      (TRAILER_BYTES - 8) >> 8,
				      0,
				      0};
static const char word[] = "\nskep backup, sealed with sha256 ";

void trailer_make(char block[TRAILER_BYTES], const char *hex)
{
	memset(block, 0, TRAILER_BYTES);
	memcpy(block, head, sizeof head);
	snprintf(block + sizeof head, TRAILER_BYTES - sizeof head, "%s%s\n",
		 word, hex);
}

int trailer_check(const char *block, size_t n, const char *hex,
		  const char *what, struct err *e)
{
	char right[TRAILER_BYTES];

	trailer_make(right, hex);
	if (n != TRAILER_BYTES ||
	    memcmp(block, right, sizeof head + strlen(word)))
		return err_set(e, ERR_CORRUPT,
			       "%s has no checksum at its end; it is "
			       "truncated or not a backup of skep",
			       what);
	if (memcmp(block, right, TRAILER_BYTES) != 0)
		return err_set(e, ERR_CORRUPT,
			       "%s is damaged: its checksum does not match",
			       what);
	return 0;
}
