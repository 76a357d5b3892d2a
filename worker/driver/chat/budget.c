#include "worker/driver/chat/chat.h"

#include "worker/run/budget.h"

#define TOKEN_BYTES 4.0  /* until the server has counted some */
#define ANSWER      1024 /* tokens, unless the configuration limits them */

/* Ends the run if a budget does not allow the call: 1. */
int chat_reserve(struct chat *x, size_t bytes, struct err *e)
{
	const struct chat_config *c = &x->config;
	double per_token = x->token_bytes > 0 ? x->token_bytes : TOKEN_BYTES;
	int64_t input = (int64_t)((double)bytes / per_token);
	int64_t output = c->limits.max_output_tokens > 0
				 ? c->limits.max_output_tokens
				 : ANSWER;
	struct budget_call call = {
		.tokens = input + output,
		/* dollars per million tokens */
		.cost_micros = (int64_t)((double)input * c->price_input +
					 (double)output * c->price_output),
		.each = true,
	};
	char detail[BUDGET_DETAIL] = "";
	int rc = run_reserve(x->run, &call, detail, e);

	if (rc == 1)
		chat_end(x, REASON_budget, "%s", detail);
	return rc;
}
