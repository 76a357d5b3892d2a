#ifndef WORKER_PROCESS_OUTPUT_LINE_H
#define WORKER_PROCESS_OUTPUT_LINE_H

#include "lib/base/arena.h"
#include "lib/json/lines.h"
#include "schema/agent/transcript/writer.h"

/*
 * The meaning of a line of output. An object {"type": …} on stdout is an event;
 * everything else is output, stored unchanged. This function only parses: it
 * never fails, for any input.
 *
 *   {"type":"delta","part":"p1","kind":"text","text":"…"}   a growing text
 *   {"type":"done","part":"p1"}                             and its end
 *   {"type":"approval","key":"k","title":"…","detail":…}    a question; the
 *                            answer comes on stdin as {"type":"answer",…}
 *   {"type":"usage","input_tokens":1,"output_tokens":2,…}   tokens and cost
 *   any other type           an event of that type. "key" makes it idempotent
 *                            within the run, also over attempts; "outbox":
 *                            {"target":{…},"body":{…}} requests a delivery
 *
 * Types that the worker itself uses (run_started, cancelled, …) become raw
 * events.
 */
enum exec_kind {
	EXEC_EVENT,
	EXEC_DELTA,
	EXEC_DONE,
	EXEC_APPROVAL,
};

struct exec_line {
	enum exec_kind kind;
	struct event_new event; /* EXEC_EVENT */
	struct usage_new usage;
	struct outbox_new outbox;
	const char *part; /* EXEC_DELTA, EXEC_DONE */
	const char *part_kind;
	const char *text;
	const char *key; /* EXEC_APPROVAL */
	const char *title;
	const char *detail;
	const char *fallback;
	int64_t timeout_ms;
};

/* `stream` is "output" or "stderr"; `run` is the prefix of idempotency keys.
 * Everything in *out is in a. */
void exec_line(const struct line *line, const char *stream, const char *run,
	       struct arena *a, struct exec_line *out);

#endif
