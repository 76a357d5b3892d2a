#include "supervisor/core/supervisor.h"

#include "lib/base/log.h"
#include "lib/db/checkpoint.h"

#include <string.h>

/* Commits that were acknowledged are only in the log that our descriptor has. */
static void save_log(struct supervisor *s)
{
	struct err e;

	if (sql_save_log(s->db, &e))
		log_error(LT("msg", "the lost log cannot be saved"),
			  LT("error", e.text));
	else
		log_info(LT("msg", "the lost log was saved into the file"));
}

/*
 * A control plane that was deleted or replaced under us: nothing more is
 * acknowledged. We stay, and keep the lock of the home, so that no second
 * supervisor starts with an empty control plane while our runs are alive. If the
 * file comes back to its place (mv), work goes on.
 */
bool control_file_in_place(struct supervisor *s)
{
	struct err e;
	bool in_place = sql_in_place(s->db, &e) == 0;
	const char *lost;

	if (in_place == !s->txn.refused)
		return in_place;
	if (!in_place) {
		log_error(LT("msg", "the control plane is not in its place"),
			  LT("error", e.text));
		txn_refuse(&s->txn, &e);
		lost = sql_lost(s->db);
		if (lost && strcmp(lost, "-wal") == 0)
			save_log(s);
		return false;
	}
	log_info(LT("msg", "the control plane is in its place again"));
	txn_refuse(&s->txn, NULL);
	s->txn.calls.failed(s->txn.calls.arg, NULL); /* rows are read again */
	return true;
}

/* A new supervisor would take whatever has the name now, or an empty file. Log
 * and index are made anew without a loss. */
int supervisor_may_restart(struct supervisor *s, struct err *e)
{
	const char *lost = s->read_only ? NULL : sql_lost(s->db);

	return lost && !*lost ? sql_in_place(s->db, e) : 0;
}
