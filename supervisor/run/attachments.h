#ifndef SUPERVISOR_RUN_ATTACHMENTS_H
#define SUPERVISOR_RUN_ATTACHMENTS_H

#include "lib/base/arena.h"
#include "schema/control/run.h"

/*
 * Attachments of a run: files that a client sends with the prompt. They are
 * rows of media that the run uses, and are named in its options
 * ("attachments"). When the run starts, they become files, and a line of the
 * prompt names each, as for a message from a channel.
 */
struct supervisor;

/* Stores req->attachments. *options becomes req->options with the list of
 * attachments, in the arena; without attachments it is req->options. */
int run_attach_store(struct supervisor *s, const struct run_request *req,
		     const char **options, struct arena *a, struct err *e);

/* Records that the run uses the attachments in its options. */
int run_attach_use(struct supervisor *s, const char *run, const char *options,
		   struct err *e);

/* Creates the files and adds a line for each to *prompt, in the arena. */
int run_attach_prompt(struct supervisor *s, const char *run,
		      const char **prompt, struct arena *a, struct err *e);

#endif
