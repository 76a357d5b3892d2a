#include "supervisor/sup.h"

#include "base/log.h"

/*
 * A control plane that was deleted or replaced under us: nothing more is
 * acknowledged. We stay, and keep the lock of the home, so that no second
 * supervisor starts with an empty control plane while our runs are alive. If the
 * file comes back to its place (mv), work goes on.
 */
bool sup_in_place(struct sup *s)
{
	struct err e;
	bool in_place = sql_in_place(s->db, &e) == 0;

	if (in_place == !s->step.refused)
		return in_place;
	if (!in_place) {
		log_error(LT("msg", "the control plane is not in its place"),
			  LT("error", e.text));
		step_refuse(&s->step, &e);
		return false;
	}
	log_info(LT("msg", "the control plane is in its place again"));
	step_refuse(&s->step, NULL);
	sup_step_failed(s, NULL); /* reads the rows again */
	return true;
}
