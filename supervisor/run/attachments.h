#ifndef SUPERVISOR_RUN_ATTACHMENTS_H
#define SUPERVISOR_RUN_ATTACHMENTS_H

#include "lib/base/arena.h"
#include "schema/control/run.h"

/*
 * Attachments of a run: bytes that a client gave beside the prompt. They are
 * rows of media, used by the run, and named in its options ("attachments"). When
 * the run starts they become files, and its prompt names them, as that of a
 * message from a channel does.
 */
struct supervisor;

/* Stores ask->attachments. *options is ask->options with the list in it, or as
 * it was if there is none. In the arena. */
int run_attach_store(struct supervisor *s, const struct run_request *req,
		     const char **options, struct arena *a, struct err *e);

/* Records that the run uses them. */
int run_attach_use(struct supervisor *s, const char *run, const char *options,
		   struct err *e);

/* Makes the files and adds a line for each to the prompt. */
int run_attach_prompt(struct supervisor *s, const char *run,
		      const char **prompt, struct arena *a, struct err *e);

#endif
