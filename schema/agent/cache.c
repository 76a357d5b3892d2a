#include "schema/agent/cache.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"
#include "schema/agent_queries.h"

#define NAME_MAX_BYTES 1024
#define SWEEP_BATCH    256

static int check_names(const char *scope, const char *key, struct err *e)
{
	return text_check_key("the cache's scope", scope, NAME_MAX_BYTES, e) ||
			       text_check_key("the cache's key", key,
					      NAME_MAX_BYTES, e)
		       ? -1
		       : 0;
}

int cache_put(struct sql *db, const char *scope, const char *key,
	      struct blob value, int64_t ttl, struct err *e)
{
	struct cache_put_in in = {
		.scope = scope,
		.key = key,
		.value = {value.p ? value.p : "", value.n},
		.now = clock_now(),
		.expires_at = OPT_NONE,
	};

	if (check_names(scope, key, e))
		return -1;
	if (value.n > CACHE_VALUE_MAX)
		return err_set(e, ERR_TOOBIG,
			       "the value of '%s' has %zu bytes; a cache entry "
			       "is limited to %zu bytes, so store it as an "
			       "artifact",
			       quoted(key).text, value.n, CACHE_VALUE_MAX);
	if (ttl < 0 || ttl > INT64_MAX - in.now)
		return err_set(e, ERR_USAGE,
			       "the retention time of '%s' is out of range",
			       quoted(key).text);
	if (ttl > 0)
		in.expires_at = in.now + ttl;
	return sql_exec(db, Q_CACHE_PUT, &in, e) < 0 ? -1 : 0;
}

int cache_get(struct sql *db, const char *scope, const char *key,
	      struct blob *value, struct arena *a, struct err *e)
{
	struct cache_get_row row;
	int found = sql_get(db, Q_CACHE_GET,
			    &(struct cache_get_in){.scope = scope,
						   .key = key,
						   .now = clock_now()},
			    &row, a, e);

	if (found > 0)
		*value = row.value;
	return found;
}

int cache_delete(struct sql *db, const char *scope, const char *key,
		 struct err *e)
{
	return sql_exec(db, Q_CACHE_DELETE,
			&(struct cache_delete_in){.scope = scope, .key = key},
			e);
}

int cache_clear(struct sql *db, const char *scope, struct err *e)
{
	return sql_exec(db, Q_CACHE_CLEAR, &(struct cache_clear_in){scope}, e);
}

int cache_sweep(struct sql *db, int max, struct err *e)
{
	int64_t now = clock_now();
	int total = 0;

	while (total < max) {
		int batch = max - total < SWEEP_BATCH ? max - total
						      : SWEEP_BATCH;
		int n;

		if (sql_enter_relaxed(db, e))
			return -1;
		n = sql_leave(db,
			      sql_exec(db, Q_CACHE_SWEEP,
				       &(struct cache_sweep_in){.now = now,
								.count = batch},
				       e),
			      e);
		if (n < 0)
			return -1;
		total += n;
		if (n < batch)
			break;
	}
	return total;
}
