#include "supervisor/core/supervisor.h"

#include "lib/base/log.h"
#include "lib/db/checkpoint.h"

#include <string.h>

/* Acknowledged commits may exist only in the WAL that this process has open. */
static void save_log(struct supervisor *s)
{
	struct err e;

	if (sql_save_log(s->db, &e))
		log_error(LT("msg", "cannot save the deleted WAL"),
			  LT("error", e.text));
	else
		log_info(LT("msg",
			    "the deleted WAL was saved into the database"));
}

/*
 * Handles a control plane that was deleted or replaced while skepd uses it. All
 * changes are refused. skepd keeps running and keeps the lock of the home, so
 * that no second supervisor starts with an empty control plane while runs are
 * active. If the file comes back to its path, work continues.
 */
bool control_file_in_place(struct supervisor *s)
{
	struct err e;
	bool in_place = sql_in_place(s->db, &e) == 0;
	const char *lost;

	if (in_place == !s->txn.refused)
		return in_place;
	if (!in_place) {
		log_error(LT("msg", "the file of the control plane is missing "
				    "or was replaced"),
			  LT("error", e.text));
		txn_refuse(&s->txn, &e);
		lost = sql_lost(s->db);
		if (lost && strcmp(lost, "-wal") == 0)
			save_log(s);
		return false;
	}
	log_info(
		LT("msg", "the file of the control plane is back at its path"));
	txn_refuse(&s->txn, NULL);
	s->txn.calls.failed(s->txn.calls.arg, NULL); /* reads the rows again */
	return true;
}

/* A new supervisor would use the file that has the path now, or create an empty
 * one. A missing WAL or index alone is recreated without loss. */
int supervisor_may_restart(struct supervisor *s, struct err *e)
{
	const char *lost = s->read_only ? NULL : sql_lost(s->db);

	return lost && !*lost ? sql_in_place(s->db, e) : 0;
}
