#include "cli/schedule/schedule_cli.h"

#include "lib/base/text.h"
#include "lib/time/time_text.h"

const char *schedule_path(struct cli *cli, const char *name, const char *verb,
			  struct err *e)
{
	if (text_check_name("schedule", name, e))
		return NULL;
	return arena_printf(&cli->arena, "/v1/schedules/%s%s%s", name,
			    verb ? "/" : "", verb ? verb : "");
}

const char *schedule_rule_text(struct cli *cli, const struct schedule_row *row)
{
	char text[TIME_TEXT], human[TEXT_HUMAN];
	struct zone *z;
	struct err ignored;

	if (row->cron)
		return arena_printf(&cli->arena, "%s %s", row->cron, row->zone);
	if (row->every_ms != OPT_NONE)
		return arena_printf(&cli->arena, "every %s",
				    text_human_millis(row->every_ms, human));
	if (zone_open(&z, row->zone, &ignored) &&
	    zone_open(&z, "UTC", &ignored))
		return "once";
	time_text(z, row->at, text);
	zone_close(z);
	return arena_printf(&cli->arena, "at %s", text);
}
