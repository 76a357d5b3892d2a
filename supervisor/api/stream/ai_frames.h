#ifndef SUPERVISOR_API_STREAM_AI_FRAMES_H
#define SUPERVISOR_API_STREAM_AI_FRAMES_H

#include "lib/base/buf.h"
#include "schema/agent/transcript/tail.h"

/*
 * The events of a run as the UI message stream of the AI SDK (v1): one
 * assistant message per run, with the id of the run. Frames are JSON objects,
 * passed to `send` one by one. Events without a frame type are left out.
 */
struct ai_frames {
	void (*send)(void *arg, const struct buf *frame);
	void *arg;
	bool started;
	bool resumed;       /* the client has the first part of the message */
	bool question_open; /* the last event was a question */
	int64_t answers;    /* answers to expect before the next pause */
	int64_t output;     /* seq of the open block of plain output, or 0 */
	struct ai_part {
		int64_t seq, idx;
		bool has_input;
	} * open; /* parts that have started and not ended */
	size_t nopen, cap;
	struct buf frame;
};

void ai_frames_init(struct ai_frames *f,
		    void (*send)(void *arg, const struct buf *frame),
		    void *arg);
void ai_frames_fini(struct ai_frames *f);

void ai_frames_start(struct ai_frames *f, const char *run); /* once */
void ai_frames_item(struct ai_frames *f, const struct tail_item *item);

/* Ends the stream because the run waits for an answer: the client sends it with
 * its next request, and no request while a stream is open. The metadata of the
 * message contains `cursor`, where the next stream continues. */
#define AI_METADATA "skep"
#define AI_CURSOR   "cursor"
void ai_frames_pause(struct ai_frames *f, const char *cursor);

/* Ends the message. state: that of the run. The caller sends [DONE], which is
 * not a frame. */
void ai_frames_end(struct ai_frames *f, const char *state, const char *why);

#endif
