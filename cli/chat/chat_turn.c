/* One line and its answer. */
#include "cli/chat/chat.h"

#include "cli/channel/channel_cli.h"
#include "cli/run/run_view.h"
#include "cli/run/run_wait_note.h"
#include "lib/base/text.h"

#include <poll.h>
#include <signal.h>
#include <string.h>

#define WAIT_MS     500
#define STREAM_MS   20    /* until the run of a line is known */
#define DELIVERY_MS 10000 /* until the answer of a finished run arrives */

/* --- Ctrl-C stops the answer, not the chat ------------------------------ */

static volatile sig_atomic_t interrupted;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupted = 1;
}

static void catch_interrupts(const struct chat *c, bool on)
{
	struct sigaction sa = {.sa_handler = on ? on_interrupt : SIG_DFL};

	interrupted = 0;
	if (c->terminal)
		sigaction(SIGINT, &sa, NULL);
}

static int cancel_turn(struct chat *c, const char *run, struct err *e)
{
	struct cli *cli = c->line.cli;
	const char *path = arena_printf(&cli->arena, "/v1/runs/%s/cancel", run);

	interrupted = 0;
	if (!run[0])
		return 0;
	output_note(&cli->out, "(stopping the run)");
	return cli_call(cli, "POST", path, "{}", NULL, e) < 0 ? -1 : 0;
}

/* --- without a terminal: the complete answer ----------------------------- */

static int await_answer(struct chat *c, const struct chat_line *sent,
			struct err *e)
{
	bool mine = false;
	int more = 1, got;

	while (!mine) {
		got = chat_client_receive(&c->line, WAIT_MS, sent, &mine, e);
		if (got < 0)
			return -1;
		if (got > 0)
			continue;
		if (more == 0) {
			output_note(&c->line.cli->out, "(no answer)");
			return 0;
		}
		more = chat_client_pending(&c->line, sent, c->run, e);
		if (more < 0 || (interrupted && cancel_turn(c, c->run, e)))
			return -1;
	}
	return 0;
}

/* --- on a terminal: as it is written ------------------------------------- */

struct stream {
	struct chat *chat;
	struct fold_view fold;
	struct run_wait_note why;
};

static int stream_item(void *arg, const struct tail *t,
		       const struct tail_item *item)
{
	struct stream *s = arg;

	(void)t;
	fold_item(&s->fold, item);
	return 0;
}

static void end_stream_line(void *arg)
{
	struct stream *s = arg;

	fold_end_line(&s->fold);
	(void)fflush(s->chat->line.cli->out.to);
}

static int stream_tick(void *arg, const struct run_row *row, struct err *e)
{
	struct stream *s = arg;
	struct chat *c = s->chat;

	if (interrupted) {
		end_stream_line(s);
		if (cancel_turn(c, row->id, e))
			return -1;
	}
	c->approvals.before = end_stream_line;
	c->approvals.arg = s;
	if (approval_prompt_run(&c->approvals, row->id, e) < 0)
		return -1;
	run_wait_note_check(&s->why, row);
	return 0;
}

/* *wrote: text was printed. */
static int stream_run(struct chat *c, const char *run, bool *wrote,
		      struct err *e)
{
	struct stream s = {
		.chat = c,
		.fold = {.cli = c->line.cli, .notes = true},
	};
	struct run_view view = {.id = run,
				.follow = true,
				.print = stream_item,
				.print_arg = &s,
				.tick = stream_tick,
				.tick_arg = &s};
	int rc;

	run_wait_note_begin(&s.why, c->line.cli);
	s.why.asks = true;
	rc = run_view_print(c->line.cli, &view, e);
	end_stream_line(&s);
	*wrote = s.fold.wrote;
	return rc;
}

/* The answer was printed already; it is only acknowledged. */
static int take_delivery(struct chat *c, const struct chat_line *sent,
			 bool wrote, struct err *e)
{
	bool mine = false;
	int got = 1, waited = 0;

	c->line.silent = wrote;
	while (!mine && got >= 0 && waited < DELIVERY_MS) {
		got = chat_client_receive(&c->line, WAIT_MS, sent, &mine, e);
		waited += got > 0 ? 0 : WAIT_MS;
		if (got == 0 && interrupted)
			break;
	}
	c->line.silent = false;
	return got < 0 ? -1 : 0;
}

static int stream_answer(struct chat *c, const struct chat_line *sent,
			 struct err *e)
{
	bool wrote = false;
	int more = 1;

	c->run[0] = '\0';
	while (more > 0 && !c->run[0]) {
		more = chat_client_pending(&c->line, sent, c->run, e);
		if (more > 0 && !c->run[0])
			poll(NULL, 0, STREAM_MS);
		if (interrupted)
			return err_set(e, ERR_CANCELED, "interrupted");
	}
	if (!c->run[0])
		return more < 0 ? -1 : 0;
	if (stream_run(c, c->run, &wrote, e) ||
	    run_view_outcome(c->line.cli, c->run, e))
		return -1;
	return take_delivery(c, sent, wrote, e);
}

int chat_follow(struct chat *c, const char *run, struct err *e)
{
	bool wrote;
	int rc;

	text_printf(c->run, sizeof c->run, "%s", run);
	catch_interrupts(c, true);
	rc = stream_run(c, c->run, &wrote, e);
	catch_interrupts(c, false);
	return rc ? -1 : run_view_outcome(c->line.cli, c->run, e);
}

int chat_turn(struct chat *c, const char *text, size_t n, struct err *e)
{
	struct buf line = BUF_MAX(64u << 20);
	struct chat_line sent;
	int rc;

	buf_add(&line, text, n);
	rc = buf_ok(&line, "the line", e) || check_message_text(&line, e) ? -1
									  : 0;
	if (rc == 0)
		rc = chat_client_send(&c->line, line.p, &sent, e);
	catch_interrupts(c, true);
	if (rc == 0)
		rc = c->terminal ? stream_answer(c, &sent, e)
				 : await_answer(c, &sent, e);
	catch_interrupts(c, false);
	buf_fini(&line);
	return rc;
}
