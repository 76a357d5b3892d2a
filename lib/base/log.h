#ifndef LIB_BASE_LOG_H
#define LIB_BASE_LOG_H

#include <stdint.h>

/*
 * The log: one logfmt line per event, on stderr or in a file.
 *
 *   log_info(LT("msg", "worker started"), LT("run", id), LI("pid", pid));
 *   ts=2026-11-16T03:16:00.123Z level=info prog=skepd mod=run/start msg="worker
 *   started" run=…
 *
 * Values are quoted and escaped, so no value can forge a line. A line is one
 * write(2), so lines of several processes do not mix. Never log secrets.
 */
enum log_level {
	LOG_LEVEL_DEBUG,
	LOG_LEVEL_INFO,
	LOG_LEVEL_WARN,
	LOG_LEVEL_ERROR
};

struct log_field {
	const char *key;
	const char *text; /* NULL: use the number */
	int64_t number;
};

static inline const char *log_or_dash(const char *text)
{
	return text ? text : "-";
}

#define LT(k, v)                                     \
	{                                            \
		.key = (k), .text = log_or_dash((v)) \
	}
#define LI(k, v)                                   \
	{                                          \
		.key = (k), .number = (int64_t)(v) \
	}
#define LOG_FIELDS_(...) ((const struct log_field[]){__VA_ARGS__, {.key = 0}})

#define log_debug(...) \
	log_write(LOG_LEVEL_DEBUG, __FILE__, LOG_FIELDS_(__VA_ARGS__))
#define log_info(...) \
	log_write(LOG_LEVEL_INFO, __FILE__, LOG_FIELDS_(__VA_ARGS__))
#define log_warn(...) \
	log_write(LOG_LEVEL_WARN, __FILE__, LOG_FIELDS_(__VA_ARGS__))
#define log_error(...) \
	log_write(LOG_LEVEL_ERROR, __FILE__, LOG_FIELDS_(__VA_ARGS__))

/* prog is borrowed and appears in each line. Levels below `least` are not
 * written. fd -1 is stderr. */
void log_setup(const char *prog, enum log_level least, int fd);

/* "debug", "info", "warn", "error"; -1 for anything else. */
int log_level_from(const char *word);

/* The last field has a NULL key. file is the path of the source file; its last
 * directory and its name are the module of the line. */
void log_write(enum log_level level, const char *file,
	       const struct log_field *fields);

#endif
