#ifndef IPC_END_REASON_H
#define IPC_END_REASON_H

#include <stdbool.h>

/* Why an attempt ended. The table is end_reason.def. */
enum reason {
#define REASON(code, outcome, retryable, word) REASON_##code,
#include "ipc/end_reason.def"
#undef REASON
	REASONS
};

const char *reason_code(enum reason r);        /* "exit_code" */
const char *reason_outcome(enum reason r);     /* "failed" */
const char *reason_description(enum reason r); /* a sentence for users */
bool reason_is_retryable(enum reason r);       /* whether a retry is useful */

/* The reason with this code, or REASONS for an unknown code. */
enum reason reason_from(const char *code);

#endif
