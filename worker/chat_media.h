#ifndef WORKER_CHAT_MEDIA_H
#define WORKER_CHAT_MEDIA_H

#include "base/buf.h"
#include "worker/run.h"

/*
 * Attachments of a message, for the chat driver: pictures go into the request,
 * and the tools that read files may read every attachment that the run's prompt
 * names.
 */

/* The pictures that the text names, as parts of a message's content, each with a
 * comma before it; how many. */
int chat_media_add(struct run *r, const char *text, bool responses,
		   struct buf *out);

/* 1: it is an attachment of this run, and out is what it holds; 0: it is none; -1:
 * it cannot be read. */
int chat_media_read(struct run *r, const char *path, struct buf *out,
		    struct err *e);

#endif
