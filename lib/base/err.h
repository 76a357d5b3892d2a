#ifndef LIB_BASE_ERR_H
#define LIB_BASE_ERR_H

#include <stdbool.h>

/*
 * One failure, held by the caller that reports it. A function that can fail
 * takes a `struct err *` as its last parameter and returns 0, or -1 with *e
 * filled; on success *e is unchanged. The text is complete: an interface (CLI,
 * HTTP, log, FUSE) shows it once, unchanged. Programming errors are assert, not
 * err.
 */
enum err_code {
#define ERR(name, http, exit, sys, retry, word) ERR_##name,
#include "lib/base/err.def"
#undef ERR
	ERR_COUNT
};

struct err {
	enum err_code code;
	char text[480];
};

/* Fills *e and returns -1, so that a failing path is `return err_set(...)`. */
int err_set(struct err *e, enum err_code code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Prepends "context: " to the text in *e. Returns -1. */
int err_wrap(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* "context: strerror(errno)", with the code that corresponds to errno. Returns
 * -1. */
int err_errno_set(struct err *e, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

const char *err_name(enum err_code code);        /* "NOTFOUND" */
const char *err_description(enum err_code code); /* a description for users */
int err_http_status(enum err_code code);
int err_exit_status(enum err_code code);
int err_errno(enum err_code code); /* for FUSE, positive */
bool err_is_retryable(enum err_code code);

/* The code with this name, or ERR_INTERNAL for an unknown name. */
enum err_code err_from_name(const char *name);
enum err_code err_from_errno(int sys);

#endif
