#include "worker/run/budget.h"

#include "lib/base/text.h"
#include "lib/json/json.h"
#include "worker/run/run.h"

#include <stdio.h>
#include <string.h>

/* What the attempt used is a part of the request: the message `usage` may come
 * later. */
static void write_request(const struct run *r, const struct budget_call *call,
			  struct buf *b)
{
	const struct msg_usage *spent = &r->transcript.spent;

	json_begin_object(b);
	json_put_int(b, "tokens", call->tokens);
	json_put_int(b, "cost_micros", call->cost_micros);
	json_put_bool(b, "each", call->each);
	json_key(b, "spent");
	json_begin_object(b);
	json_put_int(b, "tokens", spent->input_tokens + spent->output_tokens);
	json_put_int(b, "cost_micros", spent->cost_micros);
	json_end_object(b);
	json_end_object(b);
}

static int ask_user(struct run *r, const cJSON *answer, char *detail,
		    struct err *e)
{
	char title[BUDGET_DETAIL + 64];
	struct msg_approval q = {
		.key = json_text(answer, "key", "budget"),
		.title = title,
		.timeout_ms = OPT_NONE,
	};
	int rc;

	text_printf(title, sizeof title, "Continue above the soft limit? %s",
		    detail);
	rc = run_ask(r, &q, e);
	if (rc == 0)
		text_printf(detail, BUDGET_DETAIL,
			    "a user did not allow more than the soft limit");
	return rc;
}

/* 0: call it; 1: end; 2: ask the supervisor again; -1. */
static int decide(struct run *r, const char *text, char *detail, struct err *e)
{
	cJSON *v = json_parse_object("the answer", text, strlen(text), e);
	const char *decision = json_text(v, "decision", "free");
	int rc = 0;

	if (!v)
		return -1;
	text_fit(detail, BUDGET_DETAIL, json_text(v, "detail", ""));
	if (strcmp(decision, "end") == 0) {
		rc = 1;
	} else if (strcmp(decision, "ask") == 0) {
		rc = ask_user(r, v, detail, e);
		rc = rc < 0 ? -1 : rc == 0 ? 1 : 2;
	}
	cJSON_Delete(v);
	return rc;
}

int run_reserve(struct run *r, const struct budget_call *call,
		char detail[BUDGET_DETAIL], struct err *e)
{
	struct buf args = BUF_MAX(4096), out = BUF_MAX(4096);
	struct run_socket_request q = {.verb = "reserve", .key = "reserve"};
	int rc = 2;

	if (r->start->has_budget != 1)
		return 0;
	write_request(r, call, &args);
	q.args = args.p;
	while (rc == 2) {
		buf_clear(&out);
		rc = request_wait(r, &q, &out, e);
		if (rc == 0)
			rc = run_wait(r, 0, e); /* until it is resumed */
		if (rc == 0)
			rc = decide(r, out.p, detail, e);
	}
	buf_fini(&args);
	buf_fini(&out);
	return rc;
}
