#ifndef SUPERVISOR_API_STREAM_AI_FRAMES_H
#define SUPERVISOR_API_STREAM_AI_FRAMES_H

#include "lib/base/buf.h"
#include "schema/agent/transcript/tail.h"

/*
 * What a run wrote, as the UI message stream of the AI SDK (v1): one assistant
 * message per run, whose id is the run's. Frames are JSON objects, given to
 * `send` one by one; the client takes nothing else, so events that have no
 * frame of theirs are left out.
 */
struct ai_frames {
	void (*send)(void *arg, const struct buf *frame);
	void *arg;
	bool started;
	bool resumed;       /* with a message that the client has a part of */
	bool question_open; /* the last event was a question */
	int64_t answers;    /* that are to come before it may pause again */
	int64_t output;     /* seq of the open block of plain output, or 0 */
	struct ai_part {
		int64_t seq, idx;
		bool has_input;
	} * open; /* parts that were begun and not ended */
	size_t nopen, cap;
	struct buf frame;
};

void ai_frames_init(struct ai_frames *f,
		    void (*send)(void *arg, const struct buf *frame),
		    void *arg);
void ai_frames_fini(struct ai_frames *f);

void ai_frames_start(struct ai_frames *f, const char *run); /* once */
void ai_frames_item(struct ai_frames *f, const struct tail_item *item);

/* The run waits for an answer: the client says it with its next request, and
 * sends no request while a stream is open. `cursor` is where that one goes on;
 * the message bears it (AI_CURSOR of AI_METADATA in its metadata). */
#define AI_METADATA "skep"
#define AI_CURSOR   "cursor"
void ai_frames_pause(struct ai_frames *f, const char *cursor);

/* The end of the run: state as in its row. Closes what is open. [DONE] is not a
 * frame, and left to the caller. */
void ai_frames_end(struct ai_frames *f, const char *state, const char *why);

#endif
