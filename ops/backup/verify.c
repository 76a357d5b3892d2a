#include "ops/backup/extract.h"

/* Extracts each file into the scratch directory, checks it and deletes it. */
int backup_verify(const struct verify_options *ask, struct manifest *m,
		  struct backup_sum *out, struct err *e)
{
	struct extract_options to = {.fd = ask->fd,
				     .name = ask->name,
				     .dir = ask->scratch,
				     .size = ask->size,
				     .progress = ask->progress};

	return extract(&to, m, out, e);
}
