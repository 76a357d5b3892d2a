#include "supervisor/core/budget.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "schema/control/control.h"
#include "supervisor/core/supervisor.h"

static int record_change(struct supervisor *s, const char *act,
			 const char *name, const char *by, struct err *e)
{
	if (sql_exec(s->db, Q_BUDGET_WAKE_RUNS, NULL, e) < 0 ||
	    control_audit(s->db, by, act, name, NULL, e))
		return -1;
	send_hint(s, &(struct hint){.kind = HINT_BUDGET});
	return 0;
}

static int put_budget(struct supervisor *s, const struct budget_row *row,
		      const char *by, struct completion done, struct err *e)
{
	struct budget_row own = *row;
	int made;

	if (txn_begin(&s->txn, e))
		return -1;
	made = budget_store(s->db, &own, clock_now(), e);
	if (made < 0 || record_change(s, made ? "budget.add" : "budget.set",
				      row->name, by, e))
		return -1;
	complete_later(s, done, row->name, true, made ? "added" : "changed");
	return 0;
}

int supervisor_budget_put(struct supervisor *s, const struct budget_row *row,
			  const char *by, struct completion done, struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, put_budget(s, row, by, done, e), e);
}

static int delete_budget(struct supervisor *s, const char *name, const char *by,
			 struct completion done, struct err *e)
{
	struct budget_delete_in key = {name};
	int n;

	if (txn_begin(&s->txn, e))
		return -1;
	n = sql_exec(s->db, Q_BUDGET_DELETE, &key, e);
	if (n == 0)
		return err_set(e, ERR_NOTFOUND,
			       "there is no budget '%s'; 'skep budget ls' "
			       "lists them",
			       quoted(name).text);
	if (n < 0 || record_change(s, "budget.rm", name, by, e))
		return -1;
	complete_later(s, done, name, true, NULL);
	return 0;
}

int supervisor_budget_delete(struct supervisor *s, const char *name,
			     const char *by, struct completion done,
			     struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, delete_budget(s, name, by, done, e), e);
}
