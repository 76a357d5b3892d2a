/* --workload FILE: {"batch": 1, "bytes": 500, "think_ms": 0, "sessions": 1} */
#include "base/file.h"
#include "base/json.h"
#include "bench/contention.h"
#include "bench/events.h"

#include <string.h>

static const struct {
	const char *name;
	size_t offset;
	int64_t min;
	int64_t max;
	int64_t factor;
} keys[] = {
	{"batch", offsetof(struct workload, batch), 1, EVENTS_BATCH_MAX, 1},
	{"bytes", offsetof(struct workload, bytes), 100, EVENTS_BYTES_MAX, 1},
	{"think_ms", offsetof(struct workload, think_us), 0, 60000, 1000},
	{"sessions", offsetof(struct workload, sessions), 1, 1000, 1},
};

static int read_key(const cJSON *v, struct workload *out, struct err *e)
{
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		double n = v->valuedouble;

		if (strcmp(keys[i].name, v->string) != 0)
			continue;
		if (!cJSON_IsNumber(v) || n < (double)keys[i].min ||
		    n > (double)keys[i].max)
			return err_set(e, ERR_USAGE,
				       "%s must be a number from %d to %d",
				       v->string, (int)keys[i].min,
				       (int)keys[i].max);
		*(int64_t *)(void *)((char *)out + keys[i].offset) =
			(int64_t)(n * (double)keys[i].factor);
		return 0;
	}
	return err_set(e, ERR_USAGE, "there is no '%s' in a workload",
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
