#include "cli/delivery/delivery_find.h"

#include "lib/base/text.h"

int delivery_find(struct cli *cli, const char *id, struct delivery_row *row,
		  struct err *e)
{
	struct delivery_get_in key = {id};
	int found = sql_get(cli->control, Q_DELIVERY_GET, &key, row,
			    &cli->arena, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND, "there is no delivery '%s'",
			       quoted(id).text);
	return found < 0 ? -1 : 0;
}
