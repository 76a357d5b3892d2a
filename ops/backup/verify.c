#include "ops/backup/extract.h"

/* Extracts each file into the scratch directory, checks it and deletes it. */
int backup_verify(const struct verify_options *options, struct manifest *m,
		  struct backup_sum *out, struct err *e)
{
	struct extract_options to = {.fd = options->fd,
				     .name = options->name,
				     .dir = options->scratch,
				     .size = options->size,
				     .progress = options->progress};

	return extract(&to, m, out, e);
}
