#ifndef CLI_SECRET_INPUT_H
#define CLI_SECRET_INPUT_H

#include "cli/cli.h"

/*
 * Secrets that a user gives a command, and the files in credentials/ that store
 * them. A secret is never an argument: other users see those in the list of
 * processes.
 */
#define SECRET_MAX (64u << 10)

/* Where a secret comes from. None set: a terminal with hidden input, or the
 * first line of standard input. */
struct secret_source {
	const char *file; /* "-": standard input */
	const char *variable;
	const char *prompt; /* "API key" */
};

/* Reads the secret without white space at its end. ERR_USAGE if it is empty or
 * both sources are given. The caller clears `out` with secret_clear. */
int secret_read(const struct secret_source *from, struct buf *out,
		struct err *e);
void secret_clear(struct buf *b);

/* Stores it as credentials/NAME with mode 0600. Returns 1, 0 if the file exists
 * with the same content, or -1: ERR_CONFLICT if it has another one and not
 * `replace`. */
int secret_store(const struct home *home, const char *name,
		 const struct buf *secret, bool replace, struct err *e);

#endif
