#include "lib/base/err.h"

#include "lib/base/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name;
	int http;
	int exit;
	int sys;
	bool retry;
	const char *word;
} info[ERR_COUNT] = {

#define ERR(name, http, exit, sys, retry, word) \
	[ERR_##name] = {#name, http, exit, sys, retry, word},
#include "lib/base/err.def"
#undef ERR
};

static void format_text(struct err *e, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

/* A text that does not fit ends in "…". */
static void format_text(struct err *e, const char *fmt, va_list ap)
{
	if (vsnprintf(e->text, sizeof e->text, fmt, ap) >= (int)sizeof e->text)
		text_mark_cut(e->text, sizeof e->text);
	else
		text_end_whole(e->text); /* a precision may have cut it */
}

int err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
	va_list ap;

	e->code = code;
	va_start(ap, fmt);
	format_text(e, fmt, ap);
	va_end(ap);
	return -1;
}

/* Appends ": text" to the context that was just printed into e->text. */
static void append_reason(struct err *e, const char *reason)
{
	size_t n = strlen(e->text);

	if (snprintf(e->text + n, sizeof e->text - n, ": %s", reason) >=
	    (int)(sizeof e->text - n))
		text_mark_cut(e->text, sizeof e->text);
}

int err_wrap(struct err *e, const char *fmt, ...)
{
	char was[sizeof e->text];
	va_list ap;

	memcpy(was, e->text, sizeof was);
	va_start(ap, fmt);
	format_text(e, fmt, ap);
	va_end(ap);
	append_reason(e, was);
	return -1;
}

int err_errno_set(struct err *e, const char *fmt, ...)
{
	int sys = errno;
	char why[128];
	va_list ap;

	va_start(ap, fmt);
	format_text(e, fmt, ap);
	va_end(ap);
	e->code = err_from_errno(sys);
	append_reason(e, strerror_r(sys, why, sizeof why));
	return -1;
}

const char *err_name(enum err_code code)
{
	return info[code].name;
}

const char *err_description(enum err_code code)
{
	return info[code].word;
}

int err_http_status(enum err_code code)
{
	return info[code].http;
}

int err_exit_status(enum err_code code)
{
	return info[code].exit;
}

int err_errno(enum err_code code)
{
	return info[code].sys;
}

bool err_is_retryable(enum err_code code)
{
	return info[code].retry;
}

enum err_code err_from_name(const char *name)
{
	for (int i = 0; i < ERR_COUNT; i++)
		if (!strcmp(info[i].name, name))
			return (enum err_code)i;
	return ERR_INTERNAL;
}

enum err_code err_from_errno(int sys)
{
	switch (sys) {
	case EPERM:
	case EACCES:
		return ERR_DENIED;
	case ENOENT:
	case ENOTDIR:
	case ESRCH:
		return ERR_NOTFOUND;
	case EEXIST:
		return ERR_CONFLICT;
	case EROFS:
		return ERR_READONLY;
	case ENOSPC:
		return ERR_FULL;
	case EDQUOT:
		return ERR_QUOTA;
	case EFBIG:
	case E2BIG:
		return ERR_TOOBIG;
	case EINVAL:
		return ERR_USAGE;
	case ENAMETOOLONG:
		return ERR_LONGNAME;
	case EISDIR:
		return ERR_ISDIR;
	case ENOTEMPTY:
		return ERR_NOTEMPTY;
	case ELOOP:
		return ERR_LOOP;
	case EXDEV:
		return ERR_ESCAPE;
	case ENODATA:
		return ERR_NOATTR;
	case EAGAIN:
	case EBUSY:
	case EMFILE:
	case ENFILE:
		return ERR_BUSY;
	case ETIMEDOUT:
		return ERR_TIMEOUT;
	case ECONNREFUSED:
		return ERR_UNAVAILABLE;
	case EOPNOTSUPP:
	case ENOSYS:
		return ERR_UNSUPPORTED;
	default:
		return ERR_IO;
	}
}
