#include "supervisor/daemon.h"

#include "lib/db/migrate.h"
#include "lib/http/server.h"
#include "schema/config.h"
#include "schema/control/control.h"
#include "schema/home.h"

/* The version may still be in the log and not in the header of the file, so the
 * database is opened. An older schema is updated by the new supervisor. */
static int check_schema(const struct home *home, struct err *e)
{
	struct home_path path = home_path(home, HOME_CONTROL_DB);
	struct sql *db;

	if (control_open(&db, home, SQL_READONLY, e) == 0) {
		sql_close(db);
		return 0;
	}
	return e->code == ERR_VERSION && db_peek_version(path.text) <
						 control_schema.version
		       ? 0
		       : -1;
}

int skepd_check(const struct skepd_options *o, struct err *e)
{
	struct home home;
	struct config c;
	int rc;

	if (home_find(&home, o->home, e) ||
	    config_load(&c, home_path(&home, HOME_CONFIG).text, e))
		return -1;
	rc = c.http_listen[0] ? http_check_address(c.http_listen, o->check, e)
			      : 0;
	config_fini(&c);
	if (rc)
		return err_wrap(e, "http.listen");
	return check_schema(&home, e);
}
