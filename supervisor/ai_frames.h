#ifndef SUPERVISOR_AI_FRAMES_H
#define SUPERVISOR_AI_FRAMES_H

#include "base/buf.h"
#include "schema/tail.h"

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
	int64_t output; /* seq of the open block of plain output, or 0 */
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

/* The end of the run: state as in its row. Closes what is open. [DONE] is not a
 * frame, and left to the caller. */
void ai_frames_end(struct ai_frames *f, const char *state, const char *why);

#endif
