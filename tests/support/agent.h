#ifndef TESTS_SUPPORT_AGENT_H
#define TESTS_SUPPORT_AGENT_H

#include "schema/agent/transcript/writer.h"

/* Agent files and transcripts for tests; whatever fails ends the test. */

void test_agent_open(struct agent_file *f, const char *path);
void test_writer_open(struct writer *w, struct agent_file *f, const char *key);

/* Appends a message whose text is `text`; its seq. */
int64_t test_append_message(struct writer *w, const char *text);

/* Texts of a session's path, one letter or word each, as "a b c". */
const char *test_path(struct agent_file *f, const char *key);
const char *test_log(struct agent_file *f, const char *key);

/* Literal SQL with printf's conversions; keep values free of quotes. */
void test_sql(struct agent_file *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
int64_t test_number(struct agent_file *f, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Fails unless PRAGMA integrity_check and foreign_key_check are content. */
void test_integrity(struct agent_file *f);

#endif
