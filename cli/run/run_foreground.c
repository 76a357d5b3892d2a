#include "cli/run/run_foreground.h"

#include "cli/remote.h"
#include "cli/run/approval_prompt.h"
#include "cli/run/event_view.h"
#include "cli/run/fold_view.h"
#include "cli/run/run_view.h"
#include "cli/run/run_wait_note.h"
#include "schema/agent/transcript/answer.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#define ANSWER_MAX (64u << 20)

struct foreground {
	struct cli *cli;
	const char *id;
	struct fold_view fold;
	struct approval_prompt prompt;
	struct run_wait_note why;
	bool full;      /* every event with its content */
	bool cancelled; /* requested by Ctrl-C */
};

/* --- Ctrl-C ------------------------------------------------------------- */

static volatile sig_atomic_t interrupts;

static void count_interrupt(int sig)
{
	(void)sig;
	interrupts++;
}

static void catch_interrupts(bool on)
{
	struct sigaction sa = {.sa_handler = on ? count_interrupt : SIG_DFL};

	if (isatty(STDIN_FILENO))
		sigaction(SIGINT, &sa, NULL);
}

/* The first Ctrl-C cancels the run, the second one leaves it. */
static int handle_interrupts(struct foreground *f, struct err *e)
{
	const char *path;

	if (interrupts > 1)
		return err_set(e, ERR_CANCELED,
			       "interrupted; run %s continues, 'skep logs -f "
			       "%s' shows its output",
			       f->id, f->id);
	if (interrupts == 0 || f->cancelled)
		return 0;
	f->cancelled = true;
	fold_end_line(&f->fold);
	fprintf(stderr, "skep: cancelling run %s; Ctrl-C again leaves it\n",
		f->id);
	path = arena_printf(&f->cli->arena, "/v1/runs/%s/cancel", f->id);
	return cli_call(f->cli, "POST", path, "{}", NULL, e) < 0 ? -1 : 0;
}

/* --- while the run works ------------------------------------------------- */

static void end_line_of(void *arg)
{
	struct foreground *f = arg;

	fold_end_line(&f->fold);
	(void)fflush(f->cli->out.to);
}

static int on_tick(void *arg, const struct run_row *row, struct err *e)
{
	struct foreground *f = arg;

	if (handle_interrupts(f, e))
		return -1;
	if (f->why.asks && approval_prompt_run(&f->prompt, f->id, e) < 0)
		return -1;
	run_wait_note_check(&f->why, row);
	return 0;
}

static int print_live(void *arg, const struct tail *t,
		      const struct tail_item *item)
{
	struct foreground *f = arg;

	(void)t;
	if (f->full)
		event_print_new(f->cli, item);
	else
		fold_item(&f->fold, item);
	return 0;
}

/* --- the answer ---------------------------------------------------------- */

/* The last message of the agent, or the output of its command. */
static int print_answer(struct cli *cli, const struct run_row *row,
			struct err *e)
{
	struct buf answer = BUF_MAX(ANSWER_MAX);
	int found = run_view_open_file(cli, row->agent, e), rc = found;

	if (found == 1)
		rc = answer_of_run(&cli->agent, row->id, row->session, &answer,
				   e);
	if (rc >= 0 && answer.n == 0)
		fprintf(stderr, "skep: run %s succeeded without an answer\n",
			row->id);
	else if (rc >= 0)
		output_text(&cli->out, answer.p, answer.n);
	if (rc >= 0 && answer.n > 0 && answer.p[answer.n - 1] != '\n')
		output_note(&cli->out, "%s", "");
	buf_fini(&answer);
	return rc < 0 ? -1 : 0;
}

static int print_end(struct foreground *f, bool final_only, struct err *e)
{
	struct cli *cli = f->cli;
	struct run_row row;

	fold_end_line(&f->fold);
	if (run_view_get(cli, f->id, &row, e))
		return -1;
	if (cli->out.json && !cli_flag(cli, "follow"))
		output_object(&cli->out, &run_row_shape, &row);
	if (run_view_outcome(cli, f->id, e))
		return -1;
	if (final_only && !cli->out.json)
		return print_answer(cli, &row, e);
	if (!f->full && !f->fold.wrote)
		fprintf(stderr, "skep: run %s succeeded without an answer\n",
			f->id);
	return 0;
}

int run_foreground(struct cli *cli, const char *id, struct err *e)
{
	bool follow = cli_flag(cli, "follow");
	bool final_only = cli_flag(cli, "print") || cli_flag(cli, "wait") ||
			  (!follow && !cli->out.json && !cli->out.width);
	struct foreground f = {
		.cli = cli,
		.id = id,
		.fold = {.cli = cli,
			 .notes = isatty(STDERR_FILENO),
			 .to_error = true,
			 .no_text = final_only},
		.prompt = {.cli = cli, .before = end_line_of},
		.full = follow || cli->out.json,
	};
	struct run_view view = {
		.id = id,
		.follow = true,
		.quiet = final_only &&
			 (cli->out.json || !isatty(STDERR_FILENO)),
		.print = print_live,
		.print_arg = &f,
		.tick = on_tick,
		.tick_arg = &f,
	};
	int rc;

	f.prompt.arg = &f;
	run_wait_note_begin(&f.why, cli);
	f.why.asks = approval_prompt_works(cli);
	catch_interrupts(true);
	rc = run_view_print(cli, &view, e);
	catch_interrupts(false);
	return rc ? -1 : print_end(&f, final_only, e);
}
