#include "cli/cli.h"
#include "cli/follow_rows.h"
#include "lib/base/clock.h"

#include <string.h>

#define PAGE 256

/* The audit log, read from its rows: it needs no supervisor. */
struct audit_view {
	const char *actor, *act, *subject; /* only these; NULL: all */
	int64_t since;                     /* milliseconds since 1970 */
	int64_t limit;                     /* of rows to begin with */
	int64_t last;                      /* row that was read */
};

/* "agent" selects agent.add, agent.set and so on. */
static bool is_act(const char *act, const char *wanted)
{
	size_t n = strlen(wanted);

	return strncmp(act, wanted, n) == 0 &&
	       (act[n] == '\0' || act[n] == '.');
}

static bool is_selected(const struct audit_view *v, const struct audit_row *row)
{
	return row->at >= v->since &&
	       (!v->actor || strcmp(v->actor, row->actor) == 0) &&
	       (!v->act || is_act(row->act, v->act)) &&
	       (!v->subject ||
		(row->subject && strcmp(v->subject, row->subject) == 0));
}

static void add_word(struct buf *line, const char *word)
{
	buf_adds(line, "  ");
	output_safe(line, word, strlen(word), false);
}

/* One line each, printed at once: later rows must not change the widths. */
static void print_row(struct cli *cli, const struct audit_row *row)
{
	struct buf line = BUF_MAX(1 << 20);
	char at[CLOCK_TEXT];
	struct table *t;

	if (cli->out.json) {
		t = table_new(&cli->out, &audit_row_shape, "id");
		table_add(t, row);
		table_end(t);
		return;
	}
	buf_addf(&line, "%.19s", clock_text(row->at, at));
	add_word(&line, row->actor);
	add_word(&line, row->act);
	add_word(&line, row->subject ? row->subject : "-");
	if (strcmp(row->detail, "{}") != 0)
		add_word(&line, row->detail);
	buf_addc(&line, '\n');
	fwrite(line.p, 1, line.n, cli->out.to);
	buf_fini(&line);
}

/* Selected rows; the newest one is the last of the list. */
struct selected {
	const struct audit_row *row;
	struct selected *newer;
};

/* Adds the selected rows of a page, newest first. Returns whether older rows may
 * be selected too. */
static bool select_rows(struct audit_view *v, const struct audit_row *rows,
			int n, struct arena *a, struct selected **oldest)
{
	for (int i = 0; i < n && v->limit > 0; i++) {
		struct selected *s;

		if (rows[i].at < v->since)
			return false;
		if (!is_selected(v, &rows[i]))
			continue;
		s = arena_alloc(a, sizeof *s);
		*s = (struct selected){&rows[i], *oldest};
		*oldest = s;
		v->limit--;
	}
	return n == PAGE && v->limit > 0;
}

/* Reads backwards until enough rows are selected, and prints these in the order
 * in which they were written. */
static int print_newest(struct cli *cli, struct audit_view *v, struct err *e)
{
	struct audit_before_in in = {INT64_MAX, PAGE};
	struct selected *s = NULL;
	struct audit_row *rows;
	int n;

	do {
		n = sql_collect(cli->control, Q_AUDIT_BEFORE, &in, PAGE, &rows,
				&cli->arena, e);
		if (n < 0)
			return -1;
		if (n > 0 && in.before == INT64_MAX)
			v->last = rows[0].id;
		if (n > 0)
			in.before = rows[n - 1].id;
	} while (select_rows(v, rows, n, &cli->arena, &s));
	if (!s && !cli->out.json)
		fprintf(stderr, "the audit log has no such entries\n");
	for (; s; s = s->newer)
		print_row(cli, s->row);
	return output_end(&cli->out, e);
}

static int print_new_rows(struct cli *cli, void *arg, struct err *e)
{
	struct audit_view *v = arg;
	int n = PAGE;

	while (n == PAGE) {
		struct audit_after_in in = {v->last, PAGE};
		struct audit_row *rows;
		struct arena a = {0};

		n = sql_collect(cli->control, Q_AUDIT_AFTER, &in, PAGE, &rows,
				&a, e);
		for (int i = 0; i < n; i++) {
			v->last = rows[i].id;
			if (is_selected(v, &rows[i]))
				print_row(cli, &rows[i]);
		}
		arena_fini(&a);
	}
	return n < 0 || output_end(&cli->out, e) ? -1 : 0;
}

static int audit_ls(struct cli *cli, struct err *e)
{
	int64_t age = cli_number(cli, "since", -1);
	struct audit_view v = {
		.actor = cli_option(cli, "actor"),
		.act = cli_option(cli, "act"),
		.subject = cli_option(cli, "subject"),
		.since = age < 0 ? INT64_MIN : clock_now() - age,
		.limit = cli_number(cli, "limit", 100),
	};

	if (print_newest(cli, &v, e))
		return -1;
	return cli_flag(cli, "follow")
		       ? follow_control_rows(cli, print_new_rows, &v, e)
		       : 0;
}

const struct command cmd_audit_ls = {
	.name = "audit ls",
	.help = "print the audit log, oldest entry first",
	.about = "The audit log records every change by a user or a program: "
		 "when, who, what and on which object. GET /v1/audit returns "
		 "the same rows.\n"
		 "\n"
		 "Example:\n"
		 "  skep audit ls --act agent --since 7d",
	.needs = NEEDS_CONTROL_READ | NEEDS_NO_SETTING,
	.options = OPTIONS(
		OPT_FOLLOW("continue with new entries until interrupted"),
		OPTION(TEXT, 0, "actor", "ACTOR",
		       "print only changes by this user or program, such as "
		       "cli:root"),
		OPTION(TEXT, 0, "act", "ACT",
		       "print only changes of this kind: agent.add, or agent "
		       "for all changes of agents"),
		OPTION(TEXT, 0, "subject", "SUBJECT",
		       "print only changes of this object"),
		OPTION(MILLIS, 0, "since", "TIME",
		       "print only entries newer than this, such as 12h"),
		OPT_LIMIT("start with the newest N entries (default 100)")),
	.run = audit_ls,
};
