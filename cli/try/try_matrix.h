#ifndef CLI_TRY_TRY_MATRIX_H
#define CLI_TRY_TRY_MATRIX_H

#include "lib/base/buf.h"
#include "lib/base/err.h"
#include "lib/json/json.h"

#include <stdbool.h>

/*
 * The variants of an experiment: agents × prompts × settings. A list that is
 * missing has one element: the agent or the prompt of the command line, no
 * settings. try_matrix_fini frees what was read.
 */
struct try_matrix {
	const char *agent,
		*prompt; /* of the command line; prompt may be NULL */
	cJSON *file;     /* owns from and check, if they are from
				     * there */
	cJSON *agents;   /* names, or NULL */
	const char *from, *check;
	int64_t runs, seed; /* 0: default */
	bool keep;
};

/* Reads the members from a file. ERR_INVALID names the wrong one. */
int try_matrix_read(struct try_matrix *m, const char *path, struct err *e);
/* Writes the body of POST /v1/experiments. */
int try_matrix_write(const struct try_matrix *m, struct buf *out,
		     struct err *e);
void try_matrix_fini(struct try_matrix *m);

#endif
