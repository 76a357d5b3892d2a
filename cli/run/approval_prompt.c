#include "cli/run/approval_prompt.h"

#include "cli/remote.h"
#include "schema/control/lists.h"

#include <string.h>
#include <unistd.h>

bool approval_prompt_works(const struct cli *cli)
{
	return isatty(STDIN_FILENO) && isatty(STDERR_FILENO) && !cli->out.json;
}

static bool is_always(const struct approval_prompt *p, const char *title)
{
	for (int i = 0; i < p->nalways; i++)
		if (!strcmp(p->always[i], title))
			return true;
	return false;
}

/* The id of the option that means "always"; NULL: the question has none. */
static const char *always_choice(struct cli *cli, const struct approval_row *q)
{
	cJSON *detail = q->detail ? cJSON_Parse(q->detail) : NULL;
	const char *id = NULL;
	const cJSON *o;

	cJSON_ArrayForEach(o, cJSON_GetObjectItem(detail, "options"))
	{
		if (!strcmp(json_text(o, "kind", ""), "allow_always"))
			id = arena_text(&cli->arena,
					json_text(o, "optionId", ""));
	}
	cJSON_Delete(detail);
	return id;
}

static int send_answer(struct approval_prompt *p, const struct approval_row *q,
		       bool allow, const char *choice, struct err *e)
{
	struct cli *cli = p->cli;
	const char *path = remote_path(cli, ID_APPROVAL, q->id, NULL, e);
	struct buf body = BUF_MAX(1u << 16);
	int rc;

	json_begin_object(&body);
	json_put_bool(&body, "allow", allow);
	json_put_text(&body, "choice", choice);
	json_end_object(&body);
	rc = path ? cli_call(cli, "POST", path, body.p, NULL, e) : -1;
	buf_fini(&body);
	/* answered by another client meanwhile */
	return rc < 0 && e->code != ERR_CONFLICT ? -1 : 0;
}

static bool read_reply(struct approval_prompt *p, char *line, int size)
{
	static const char question[] = "allow? [y]es [n]o [a]lways [w]hy: ";

	if (p->read)
		return p->read(p->arg, question, line, size);
	fputs(question, stderr);
	return fgets(line, size, stdin) != NULL;
}

static void print_why(const struct approval_row *q)
{
	struct buf b = BUF_MAX(1u << 20);

	fprintf(stderr, "approval %s of run %s\n", q->id, q->run);
	if (q->detail)
		output_safe(&b, q->detail, strlen(q->detail), true);
	fprintf(stderr, "%s\n", b.n ? b.p : "the agent gave no details");
	buf_fini(&b);
}

static int allow_always(struct approval_prompt *p, const struct approval_row *q,
			struct err *e)
{
	const char *choice = always_choice(p->cli, q);

	if (!choice && p->nalways < APPROVAL_ALWAYS_MAX)
		p->always[p->nalways++] = arena_text(&p->cli->arena, q->title);
	return send_answer(p, q, true, choice, e);
}

/* Returns 1 after an answer, 0 at the end of the input, or -1. */
static int ask_user(struct approval_prompt *p, const struct approval_row *q,
		    struct err *e)
{
	struct buf title = BUF_MAX(4096);
	char line[64];
	int rc = 0;

	if (p->before)
		p->before(p->arg);
	output_safe(&title, q->title, strlen(q->title), false);
	fprintf(stderr, "the agent asks: %s\n", title.p);
	buf_fini(&title);
	while (read_reply(p, line, sizeof line)) {
		char c = line[0];

		if (c == 'w')
			print_why(q);
		else if (c == 'a')
			rc = allow_always(p, q, e) ? -1 : 1;
		else if (c == 'y' || c == 'n')
			rc = send_answer(p, q, c == 'y', NULL, e) ? -1 : 1;
		else
			fputs("answer y, n, a or w\n", stderr);
		if (rc)
			break;
	}
	return rc;
}

int approval_prompt_run(struct approval_prompt *p, const char *run,
			struct err *e)
{
	struct approval_filter filter = {
		.state = "open", .run = run, .before = "~", .count = 16};
	struct cli *cli = p->cli;
	struct approval_row row;
	struct lists it;
	int answered = 0, rc = 1;

	if (lists_open(&it, cli->control, LISTS_APPROVALS, &filter, e))
		return -1;
	while (rc > 0 && lists_next(&it, &row)) {
		if (is_always(p, row.title))
			rc = send_answer(p, &row, true, NULL, e) ? -1 : 1;
		else
			rc = ask_user(p, &row, e);
		answered += rc > 0;
	}
	if (lists_close(&it, e) || rc < 0)
		return -1;
	return answered;
}
