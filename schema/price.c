#include "schema/price.h"

#include "lib/base/text.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "schema/home.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX  (4u << 20)
#define PRICE_MAX 1e6
#define FILE_NAME "prices.json"

static int read_number(const char *model, const cJSON *m, double *out,
		       struct err *e)
{
	if (!cJSON_IsNumber(m) || !(m->valuedouble >= 0) ||
	    m->valuedouble > PRICE_MAX)
		return err_set(e, ERR_INVALID,
			       FILE_NAME ": %s.%s must be a number of dollars "
					 "per million tokens",
			       quoted(model).text, quoted(m->string).text);
	*out = m->valuedouble;
	return 0;
}

static int read_price(const cJSON *v, struct model_price *out, struct err *e)
{
	const cJSON *m;

	*out = (struct model_price){0};
	if (!cJSON_IsObject(v))
		return err_set(e, ERR_INVALID,
			       FILE_NAME ": %s must be an object with input, "
					 "cached and output",
			       quoted(v->string).text);
	cJSON_ArrayForEach(m, v)
	{
		double *to = strcmp(m->string, "input") == 0    ? &out->input
			     : strcmp(m->string, "cached") == 0 ? &out->cached
			     : strcmp(m->string, "output") == 0 ? &out->output
								: NULL;

		if (!to)
			return err_set(e, ERR_INVALID,
				       FILE_NAME ": %s has the unknown member "
						 "'%s'; the members are input, "
						 "cached and output",
				       quoted(v->string).text,
				       quoted(m->string).text);
		if (read_number(v->string, m, to, e))
			return -1;
	}
	return 0;
}

/* How well an entry fits the model; 0: not at all. */
static size_t match_length(const char *entry, const char *model)
{
	size_t n = strlen(entry);

	if (strcmp(entry, model) == 0)
		return SIZE_MAX;
	if (n > 0 && entry[n - 1] == '*' && strncmp(entry, model, n - 1) == 0)
		return n;
	return 0;
}

static int search(const cJSON *all, const char *model, struct model_price *out,
		  struct err *e)
{
	size_t best = 0;
	const cJSON *v;

	cJSON_ArrayForEach(v, all)
	{
		struct model_price price;
		size_t n = model ? match_length(v->string, model) : 0;

		if (read_price(v, &price, e))
			return -1;
		if (n > best) {
			best = n;
			*out = price;
		}
	}
	return best > 0;
}

int price_find(const char *home, const char *model, struct model_price *out,
	       struct err *e)
{
	struct buf b = BUF_MAX(FILE_MAX);
	char path[PATH_MAX];
	cJSON *all;
	int rc;

	text_printf(path, sizeof path, "%s/" FILE_NAME, home);
	if (!file_exists(path))
		return 0;
	rc = file_read(path, &b, e);
	all = rc ? NULL : json_parse_object(FILE_NAME, b.p, b.n, e);
	rc = all ? search(all, model, out, e) : -1;
	cJSON_Delete(all);
	buf_fini(&b);
	return rc;
}
