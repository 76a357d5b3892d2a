#include "cli/run/run_wait_note.h"

#include "cli/remote.h"
#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "schema/control/lists.h"
#include "schema/control/run.h"

#include <inttypes.h>
#include <string.h>

#define FIRST_NS INT64_C(1000000000) /* a reason is printed within 2 s */
#define AGAIN_NS INT64_C(1000000000)

void run_wait_note_begin(struct run_wait_note *n, struct cli *cli)
{
	*n = (struct run_wait_note){.cli = cli, .since_ns = clock_mono_ns()};
}

/* Another active run of the session. */
static bool find_active(struct cli *cli, const struct run_row *row,
			const char *state, char id[ID_SIZE])
{
	struct run_filter filter = {.agent = row->agent,
				    .session = row->session,
				    .state = state,
				    .before = "~",
				    .count = 1};
	struct run_row other;
	struct lists it;
	struct err ignored;
	bool found;

	if (lists_open(&it, cli->control, LISTS_RUNS, &filter, &ignored))
		return false;
	found = lists_next(&it, &other);
	if (found)
		text_printf(id, ID_SIZE, "%s", other.id);
	(void)lists_close(&it, &ignored);
	return found;
}

static bool session_is_busy(struct cli *cli, const struct run_row *row,
			    char id[ID_SIZE])
{
	static const char *const states[] = {"starting", "running", "paused",
					     "stopping", "ending"};

	for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
		if (find_active(cli, row, states[i], id))
			return true;
	return false;
}

static void queued_reason(struct cli *cli, const struct run_row *row,
			  const cJSON *health, char *out, size_t size)
{
	int64_t active = json_i64(health, "active", 0);
	char other[ID_SIZE], human[TEXT_HUMAN];

	if (row->due_at != OPT_NONE && row->due_at > clock_now())
		text_printf(
			out, size, "run %s starts in %s", row->id,
			text_human_millis(row->due_at - clock_now(), human));
	else if (session_is_busy(cli, row, other))
		text_printf(out, size,
			    "run %s waits for run %s of the same session",
			    row->id, other);
	else if (row->works_in)
		text_printf(out, size,
			    "run %s waits for another run in workspace %s",
			    row->id, row->works_in);
	else
		text_printf(out, size,
			    "run %s is queued; %" PRId64 " %s active", row->id,
			    active, text_plural(active, "run is", "runs are"));
}

static bool approval_reason(struct cli *cli, const struct run_row *row,
			    char *out, size_t size)
{
	struct approval_filter filter = {
		.state = "open", .run = row->id, .before = "~", .count = 1};
	struct approval_row q;
	struct lists it;
	struct err ignored;
	bool found;

	if (lists_open(&it, cli->control, LISTS_APPROVALS, &filter, &ignored))
		return false;
	found = lists_next(&it, &q);
	if (found)
		text_printf(out, size,
			    "run %s waits for an answer: %s; 'skep approval "
			    "allow %s' or 'skep approval deny %s' answers it",
			    row->id, quoted(q.title).text, q.id, q.id);
	(void)lists_close(&it, &ignored);
	return found;
}

/* What the supervisor reports about itself. */
static bool host_reason(struct cli *cli, const cJSON *health, char *out,
			size_t size)
{
	const char *disk = json_text(health, "disk", "ok");

	if (!health)
		text_printf(out, size,
			    "no supervisor is running for %s; the run "
			    "continues after 'skep up'",
			    cli->home.root);
	else if (json_bool(health, "read_only", false) ||
		 strcmp(disk, "ok") != 0)
		text_printf(out, size,
			    "the disk of %s is full (%s); runs start when it "
			    "has space again",
			    cli->home.root, disk);
	else if (json_bool(health, "stopping", false))
		text_printf(out, size,
			    "the supervisor of %s is stopping; queued runs "
			    "start after the next 'skep up'",
			    cli->home.root);
	else
		return false;
	return true;
}

/* The reason in words, "" if nothing is in the way. */
static void run_wait_reason(struct cli *cli, const struct run_row *row,
			    bool approvals, char *out, size_t size)
{
	struct err ignored;
	cJSON *health = remote_call(cli, "GET", "/v1/health", NULL, &ignored);

	out[0] = '\0';
	if (approvals && approval_reason(cli, row, out, size))
		;
	else if (host_reason(cli, health, out, size))
		;
	else if (!strcmp(row->state, "queued"))
		queued_reason(cli, row, health, out, size);
	else if (!strcmp(row->state, "paused"))
		text_printf(out, size,
			    "run %s is paused; 'skep resume %s' continues it",
			    row->id, row->id);
	cJSON_Delete(health);
}

void run_wait_note_check(struct run_wait_note *n, const struct run_row *row)
{
	int64_t now = clock_mono_ns();
	char reason[sizeof n->shown];

	if (row->last_seq != n->seq) {
		n->seq = row->last_seq;
		n->since_ns = now;
	}
	if (now - n->since_ns < FIRST_NS || now - n->checked_ns < AGAIN_NS)
		return;
	n->checked_ns = now;
	run_wait_reason(n->cli, row, !n->asks, reason, sizeof reason);
	if (!reason[0] || !strcmp(reason, n->shown))
		return;
	text_printf(n->shown, sizeof n->shown, "%s", reason);
	fprintf(stderr, "skep: %s\n", reason);
}
