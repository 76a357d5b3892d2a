#include "cli/channel/channel_cli.h"
#include "lib/base/clock.h"

#include <unistd.h>

#define WAIT_ONCE INT64_C(20000) /* ms; then it sends another request */
#define AWAY_US   200000

static const char *path_of(struct cli *cli, const struct address *t,
			   const char *ack, int64_t wait)
{
	return arena_printf(
		&cli->arena, "/v1/messages/%s/%s/receive?wait=%lld%s%s",
		t->agent, url_text(cli, t->session ? t->session : "main"),
		(long long)wait, ack ? "&ack=" : "",
		ack ? url_text(cli, ack) : "");
}

/* The supervisor may be restarted while there is time left. */
static int msg_receive(struct cli *cli, struct err *e)
{
	int64_t wait = cli_number(cli, "timeout", 0), left = wait;
	int64_t end = clock_mono_ns() / 1000000 + wait;
	const char *ack = cli_option(cli, "ack");
	const char *none;
	struct address t;
	int n;

	if (address_arg(cli, 0, &t, e))
		return -1;
	none = arena_printf(&cli->arena, "no unread messages of %s/%s", t.agent,
			    t.session ? t.session : "main");
	for (;;) {
		n = print_messages(cli,
				   path_of(cli, &t, ack,
					   left < WAIT_ONCE ? left : WAIT_ONCE),
				   wait ? NULL : none, e);
		if (n > 0 || wait == 0 ||
		    (n < 0 && e->code != ERR_UNAVAILABLE && e->code != ERR_IO))
			break;
		if (n == 0)
			ack = NULL;
		else
			usleep(AWAY_US);
		left = end - clock_mono_ns() / 1000000;
		if (left <= 0)
			return n < 0 ? -1
				     : err_set(e, ERR_TIMEOUT,
					       "no message for %s arrived "
					       "within %lld ms",
					       cli_arg(cli, 0),
					       (long long)wait);
	}
	return n < 0 ? -1 : 0;
}

const struct command cmd_msg_receive = {
	.name = "msg receive",
	.args = "ADDRESS",
	.help = "print the oldest unread message of a session",
	.about = "The message stays unread until the next 'skep msg receive' "
		 "acknowledges it with --ack. A reader that fails before that "
		 "receives the message again.",
	.needs = NEEDS_SUPERVISOR,
	.options = OPTIONS(
		OPTION(TEXT, 0, "ack", "ID", "mark this message as read"),
		OPTION(MILLIS, 't', "timeout", "TIME",
		       "wait up to this time for a message; the exit status is "
		       "75 if none arrives")),
	.run = msg_receive,
};
