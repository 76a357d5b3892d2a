#include "cli/cli.h"
#include "cli/follow_rows.h"
#include "lib/base/clock.h"

#include <stdio.h>
#include <string.h>

#define PAGE 256

/* The host log. It is read from the rows, so it continues over a restart of the
 * supervisor. */
struct log {
	const char *kind, *subject; /* only these; NULL: all */
	int64_t after;
	int64_t printed;
};

static bool is_wanted(const struct log *l, const struct host_event_row *row)
{
	return (!l->kind || !strcmp(l->kind, row->kind)) &&
	       (!l->subject || strstr(row->subject, l->subject) ||
		strstr(row->body, l->subject));
}

/* One line each, printed at once: later rows must not change the widths. */
static void print_event(struct cli *cli, const struct host_event_row *row)
{
	struct table *t;

	if (!cli->out.json) {
		char at[CLOCK_TEXT];
		struct buf line = BUF_MAX(1 << 20);

		buf_addf(&line, "%lld  %.19s  %s ", (long long)row->seq,
			 clock_text(row->at, at), row->kind);
		output_safe(&line, row->subject, strlen(row->subject), false);
		buf_addc(&line, ' ');
		output_safe(&line, row->body, strlen(row->body), false);
		buf_addc(&line, '\n');
		fwrite(line.p, 1, line.n, cli->out.to);
		buf_fini(&line);
		return;
	}
	t = table_new(&cli->out, &host_event_row_shape, "seq");
	table_add(t, row);
	table_end(t);
}

/* Prints all available rows. */
static int print_new_events(struct cli *cli, void *arg, struct err *e)
{
	struct log *l = arg;
	int n = PAGE;

	while (n == PAGE) {
		struct host_event_list_in in = {l->after, PAGE};
		struct host_event_row *rows;
		struct arena a = {0};

		n = sql_collect(cli->control, Q_HOST_EVENT_LIST, &in, PAGE,
				&rows, &a, e);
		for (int i = 0; i < n; i++) {
			l->after = rows[i].seq;
			if (!is_wanted(l, &rows[i]))
				continue;
			print_event(cli, &rows[i]);
			l->printed++;
		}
		arena_fini(&a);
	}
	return n < 0 || output_end(&cli->out, e) ? -1 : 0;
}

/* The start position: after --after, the newest --limit rows, or now. */
static int find_start(struct cli *cli, struct log *l, struct err *e)
{
	struct host_event_bounds_row b;
	int64_t limit = cli_number(cli, "limit", 100);

	if (sql_get(cli->control, Q_HOST_EVENT_BOUNDS, NULL, &b, NULL, e) < 0)
		return -1;
	l->after = cli_number(cli, "after",
			      b.last > limit ? b.last - limit : 0);
	if (cli_flag(cli, "new"))
		l->after = b.last;
	return 0;
}

static int events(struct cli *cli, struct err *e)
{
	struct log l = {.kind = cli_option(cli, "kind"),
			.subject = cli_option(cli, "subject")};
	bool follow = cli_flag(cli, "follow");

	if (cli_flag(cli, "new") && !follow)
		return err_set(e, ERR_USAGE, "--new requires --follow");
	if (find_start(cli, &l, e))
		return -1;
	if (follow)
		return follow_control_rows(cli, print_new_events, &l, e);
	if (print_new_events(cli, &l, e))
		return -1;
	if (l.printed == 0 && !cli->out.json)
		fprintf(stderr, "no events\n");
	return 0;
}

const struct command cmd_events = {
	.name = "events",
	.help = "print the event log of this host",
	.about = "Every change of a run, approval, agent, channel, "
		 "delivery or inbound message is an event with a "
		 "sequence number. GET /v1/events streams the same "
		 "log.",
	.needs = NEEDS_CONTROL_READ | NEEDS_NO_SETTING,
	.options = OPTIONS(
		OPT_FOLLOW("continue until interrupted"),
		OPTION(WORD, 0, "kind",
		       "run|approval|agent|channel|delivery|deliveries|inbound",
		       "print only events of this kind"),
		OPTION(TEXT, 0, "subject", "TEXT",
		       "print only events whose subject or body contains TEXT"),
		OPTION(INT, 0, "after", "SEQ",
		       "start after this sequence number"),
		OPT_LIMIT("without --after, start with the newest N events "
			  "(default 100)"),
		FLAG(0, "new", "with --follow, print only new events")),
	.run = events,
};
