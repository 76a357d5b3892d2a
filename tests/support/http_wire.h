#ifndef TESTS_SUPPORT_HTTP_WIRE_H
#define TESTS_SUPPORT_HTTP_WIRE_H

#include "lib/http/conn.h"

/*
 * A connection of http/ without a socket, with a small application behind it:
 *
 *   GET  /now            {"now":true}
 *   GET  /item/{name}    the name
 *   POST /echo           the body (READ is enough, 1 KiB at most)
 *   GET  /later          answered by wire_answer_held
 *   GET  /stream         two events, then open: wire_stream
 *   GET  /secret         needs ADMIN
 *   GET  /open           PUBLIC
 */
struct wire {
	struct conn_core core;
	struct conn *c;
	struct buf out; /* all that was sent */
	struct http_reply *held;
	struct http_stream *stream;
	int closed;   /* how often a stream was told so */
	int writable; /* how often a stream was asked for more */
	int woken;
};

void wire_init(struct wire *w, bool is_unix);
void wire_fini(struct wire *w);

void wire_input(struct wire *w, const char *p, size_t n);
void wire_drain(struct wire *w); /* the client reads all there is */
void wire_hang_up(struct wire *w);
void wire_answer_held(struct wire *w);

/* Reads `out` as a row of HTTP answers: statuses into *list (at most max),
 * their number returned; -1 if it is anything else. A last answer that is not
 * complete is left out if `open`. 100 Continue is passed over. Answers to HEAD
 * cannot be told apart here: ask for none. */
int wire_answers(const struct wire *w, bool open, int *list, int max);

#endif
