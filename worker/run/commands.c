#include "worker/run/commands.h"

#include "lib/base/buf.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* A queued command, as JSON: it must outlive the copy of the thread. */
struct commands_note {
	struct commands_note *next;
	size_t n;
	char json[];
};

int commands_init(struct commands *c, struct err *e)
{
	*c = (struct commands){.grace_ms = -1};
	pthread_mutex_init(&c->lock, NULL);
	c->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return c->fd < 0 ? err_errno_set(e, "eventfd") : 0;
}

static void drop_notes(struct commands *c)
{
	while (c->notes) {
		struct commands_note *next = c->notes->next;

		free(c->notes);
		c->notes = next;
	}
}

void commands_reset(struct commands *c)
{
	pthread_mutex_lock(&c->lock);
	drop_notes(c);
	c->ending = false;
	c->grace_ms = -1;
	pthread_mutex_unlock(&c->lock);
}

void commands_fini(struct commands *c)
{
	drop_notes(c);
	if (c->fd >= 0)
		close(c->fd);
	pthread_mutex_destroy(&c->lock);
}

static void wake(struct commands *c)
{
	uint64_t one = 1;

	(void)!write(c->fd, &one, sizeof one);
}

/* With the lock held. */
static void request_end(struct commands *c, enum reason reason, const char *why)
{
	if (c->ending)
		return;
	c->ending = true;
	c->reason = reason;
	text_fit(c->why, sizeof c->why, why);
	if (c->db)
		sql_interrupt(c->db);
}

void commands_end(struct commands *c, enum reason reason, const char *why)
{
	pthread_mutex_lock(&c->lock);
	request_end(c, reason, why);
	pthread_mutex_unlock(&c->lock);
	wake(c);
}

static struct commands_note *note_of(const struct msg *m)
{
	struct buf b = BUF_MAX(MSG_MAX_BYTES);
	struct commands_note *n = NULL;
	struct err e;

	if (msg_encode(m, &b, &e) == 0) { /* it was decoded, so this always
					   * succeeds */
		n = malloc(sizeof *n + b.n);
		if (!n)
			abort();
		*n = (struct commands_note){.n = b.n};
		memcpy(n->json, b.p, b.n);
	}
	buf_fini(&b);
	return n;
}

/* With the lock held. */
static void add_note(struct commands *c, const struct msg *m)
{
	struct commands_note **at = &c->notes;

	while (*at)
		at = &(*at)->next;
	*at = note_of(m);
}

void commands_command(struct commands *c, const struct msg *m)
{
	pthread_mutex_lock(&c->lock);
	if (m->type == MSG_TYPE_CANCEL) {
		if (!c->ending)
			c->grace_ms = m->u.cancel.grace_ms;
		request_end(c, REASON_cancelled, m->u.cancel.reason);
	} else if (m->type == MSG_TYPE_STOP) {
		request_end(c, REASON_stopped, m->u.stop.reason);
	} else {
		add_note(c, m);
	}
	pthread_mutex_unlock(&c->lock);
	wake(c);
}

void commands_guard(struct commands *c, struct sql *db)
{
	pthread_mutex_lock(&c->lock);
	c->db = db;
	pthread_mutex_unlock(&c->lock);
}

bool commands_ending(struct commands *c)
{
	bool ending;

	pthread_mutex_lock(&c->lock);
	ending = c->ending;
	pthread_mutex_unlock(&c->lock);
	return ending;
}

enum reason commands_reason(struct commands *c, char *why, int64_t *grace_ms)
{
	enum reason reason;

	pthread_mutex_lock(&c->lock);
	reason = c->reason;
	if (c->grace_ms >= 0)
		*grace_ms = c->grace_ms;
	snprintf(why, COMMANDS_WHY, "%s", c->why);
	pthread_mutex_unlock(&c->lock);
	return reason;
}

int commands_next(struct commands *c, struct arena *a, struct msg *m)
{
	struct commands_note *n;
	struct err e;
	int rc;

	pthread_mutex_lock(&c->lock);
	n = c->notes;
	if (n)
		c->notes = n->next;
	pthread_mutex_unlock(&c->lock);
	if (!n)
		return 0;
	rc = msg_decode(n->json, n->n, SIDE_SUPERVISOR, a, m, &e);
	free(n);
	return rc == 0;
}

void commands_quiet(struct commands *c)
{
	uint64_t count;

	(void)!read(c->fd, &count, sizeof count);
}
