#include "bench/contention/workload.h"
#include "lib/json/json.h"
#include "lib/os/file.h"

#include <string.h>

static const char *const names[OPERATIONS] = {
#define OPERATION(name, what) #name,
#include "bench/contention/operations.def"
#undef OPERATION
};

const char *operation_name(enum operation o)
{
	return names[o];
}

static int read_number(const cJSON *v, const char *name, int64_t min,
		       int64_t max, double *out, struct err *e)
{
	*out = v->valuedouble;
	if (cJSON_IsNumber(v) && *out >= (double)min && *out <= (double)max)
		return 0;
	return err_set(e, ERR_USAGE, "%s must be a number from %d to %d", name,
		       (int)min, (int)max);
}

static int read_sizes(const cJSON *v, struct event_sizes *out, struct err *e)
{
	const cJSON *one = cJSON_IsArray(v) ? v->child : v;
	double n;

	for (out->n = 0; one; one = cJSON_IsArray(v) ? one->next : NULL) {
		if (out->n == EVENT_SIZES_MAX)
			return err_set(e, ERR_USAGE, "bytes: at most %d sizes",
				       EVENT_SIZES_MAX);
		if (read_number(one, "bytes", 100, EVENTS_BYTES_MAX, &n, e))
			return -1;
		out->of[out->n++] = (int64_t)n;
	}
	return 0;
}

static int read_share(const cJSON *v, struct workload *out, struct err *e)
{
	double n;

	for (int o = 0; o < OPERATIONS; o++) {
		if (strcmp(names[o], v->string) != 0)
			continue;
		if (read_number(v, v->string, 0, 1000, &n, e))
			return -1;
		out->mix[o] = (int64_t)n;
		return 0;
	}
	return err_set(e, ERR_USAGE,
		       "unknown operation '%s'; the operations are append, "
		       "tail and patch",
		       v->string);
}

static int read_mix(const cJSON *v, struct workload *out, struct err *e)
{
	memset(out->mix, 0, sizeof out->mix);
	for (const cJSON *share = v->child; share; share = share->next)
		if (!share->string || read_share(share, out, e))
			return share->string ? -1
					     : err_set(e, ERR_USAGE,
						       "mix must be an object "
						       "of shares");
	if (out->mix[OPERATION_append] == 0)
		return err_set(e, ERR_USAGE,
			       "mix: at least some of it must be append");
	return 0;
}

static int read_key(const cJSON *v, struct workload *out, struct err *e)
{
	static const struct {
		const char *name;
		size_t offset;
		int64_t min;
		int64_t max;
		int64_t factor;
	} keys[] = {
		{"batch", offsetof(struct workload, batch), 1, EVENTS_BATCH_MAX,
		 1},
		{"think_ms", offsetof(struct workload, think_us), 0, 60000,
		 1000},
		{"sessions", offsetof(struct workload, sessions), 1, 1000, 1},
	};
	double n;

	if (!strcmp(v->string, "bytes"))
		return read_sizes(v, &out->bytes, e);
	if (!strcmp(v->string, "mix"))
		return read_mix(v, out, e);
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		if (strcmp(keys[i].name, v->string) != 0)
			continue;
		if (read_number(v, v->string, keys[i].min, keys[i].max, &n, e))
			return -1;
		*(int64_t *)(void *)((char *)out + keys[i].offset) =
			(int64_t)(n * (double)keys[i].factor);
		return 0;
	}
	return err_set(e, ERR_USAGE,
		       "unknown member '%s' of a workload; the members are "
		       "mix, bytes, batch, think_ms and sessions",
		       v->string);
}

int workload_load(const char *path, struct workload *out, struct err *e)
{
	struct buf b = BUF_MAX(65536);
	cJSON *root = NULL, *v;
	int rc = file_read(path, &b, e);

	if (!rc && !(root = json_parse_object(path, b.p, b.n, e)))
		rc = -1;
	for (v = root ? root->child : NULL; v && !rc; v = v->next)
		rc = read_key(v, out, e);
	cJSON_Delete(root);
	buf_fini(&b);
	return rc ? err_wrap(e, "workload") : 0;
}

bool workload_is_mixed(const struct workload *w)
{
	for (int o = 0; o < OPERATIONS; o++)
		if (o != OPERATION_append && w->mix[o] > 0)
			return true;
	return false;
}

enum operation workload_deal(const struct workload *w, struct op_mix *d)
{
	int64_t total = 0;
	int best = OPERATION_append;

	for (int o = 0; o < OPERATIONS; o++) {
		total += w->mix[o];
		d->credit[o] += w->mix[o];
		if (d->credit[o] > d->credit[best])
			best = o;
	}
	d->credit[best] -= total;
	return (enum operation)best;
}
