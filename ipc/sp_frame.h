#ifndef IPC_SP_FRAME_H
#define IPC_SP_FRAME_H

#include "lib/base/buf.h"
#include "lib/base/err.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * nng's wire format on an ipc:// connection between a REQ and a REP. Each side
 * first sends 8 bytes with its protocol; after that a frame is 0x01, a 64-bit
 * length, a 32-bit request number with its top bit set, and the payload.
 *
 * Both ends use this instead of libnng, which starts 13 threads in every
 * process that uses it, and leaks descriptors (README.md).
 */
#define SP_GREETING 8
#define SP_OVERHEAD 13 /* bytes of a frame in addition to its payload */

extern const unsigned char sp_req[SP_GREETING]; /* sent by a REQ */
extern const unsigned char sp_rep[SP_GREETING]; /* sent by a REP */

bool sp_is_rep(const unsigned char greeting[SP_GREETING]);

/* Appends a frame. Only the low 31 bits of request are used. */
void sp_put(struct buf *out, uint32_t request, const void *p, size_t n);

struct sp_frame {
	uint32_t request;
	const char *p; /* borrows from the buffer */
	size_t n;
	size_t size; /* of the whole frame: buf_drop(in, size) when done */
};

/* The frame at the start of n bytes: 1, or 0 if it is incomplete, or -1 if it
 * is invalid or its payload is over max. */
int sp_get(const char *p, size_t n, size_t max, struct sp_frame *out,
	   struct err *e);

#endif
