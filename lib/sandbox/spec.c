#include "lib/sandbox/spec.h"

#include "lib/base/text.h"

#include <string.h>
#include <unistd.h>

static const char *const members[] = {"sandbox", "network", "limits", "paths"};

enum kind { KIND_bytes, KIND_count };

static const struct limit {
	const char *name;
	enum kind kind;
	int64_t other, least;
	size_t offset;
} limits[] = {
#define LIMIT(name, kind, other, least, help) \
	{#name, KIND_##kind, other, least,    \
	 offsetof(struct sandbox_limits, name)},
#include "lib/sandbox/limits.def"
#undef LIMIT
};

#define NLIMITS (sizeof limits / sizeof *limits)
#define LARGEST 9007199254740992.0 /* 2^53: a double is exact below it */

/* The index of the member's value in "a|b|c"; `other` if it is absent. */
static int read_word(const cJSON *def, const char *name, const char *words,
		     int *out, struct err *e)
{
	const cJSON *v = cJSON_GetObjectItemCaseSensitive(def, name);
	const char *at;

	if (!v || cJSON_IsNull(v))
		return 0;
	if (!cJSON_IsString(v))
		return err_set(e, ERR_INVALID, "%s must be one of %s", name,
			       words);
	if (text_check_word(name, words, v->valuestring, e)) {
		e->code = ERR_INVALID;
		return -1;
	}
	*out = 0;
	for (at = words;
	     strncmp(at, v->valuestring, strlen(v->valuestring)) != 0 ||
	     strcspn(at, "|") != strlen(v->valuestring);
	     at += strcspn(at, "|") + 1)
		(*out)++;
	return 0;
}

/* A fraction must not become 0, which means no limit. */
static bool is_whole(const cJSON *v)
{
	return cJSON_IsNumber(v) && v->valuedouble > -LARGEST &&
	       v->valuedouble < LARGEST &&
	       v->valuedouble == (double)(int64_t)v->valuedouble;
}

static int read_limit(const struct limit *l, const cJSON *v, int64_t *out,
		      struct err *e)
{
	struct err why;

	if (is_whole(v))
		*out = (int64_t)v->valuedouble;
	else if (!cJSON_IsString(v) || l->kind != KIND_bytes ||
		 text_bytes(l->name, v->valuestring, out, &why))
		return err_set(e, ERR_INVALID,
			       "limits.%s must be a whole number%s", l->name,
			       l->kind == KIND_bytes
				       ? ", or a string such as \"512M\""
				       : "");
	if (*out != 0 && *out < l->least)
		return err_set(e, ERR_INVALID,
			       "limits.%s must be 0 (no limit) or at least "
			       "%lld",
			       l->name, (long long)l->least);
	return 0;
}

/* "runs" belongs to the scheduler; an unknown name is an error. */
static int check_names(const cJSON *list, struct err *e)
{
	const cJSON *v;

	cJSON_ArrayForEach(v, list)
	{
		size_t i = 0;

		while (i < NLIMITS && strcmp(limits[i].name, v->string) != 0)
			i++;
		if (i == NLIMITS && strcmp(v->string, "runs") != 0)
			return err_set(
				e, ERR_INVALID,
				"unknown limit 'limits.%s'; the limits are runs"
#define LIMIT(name, kind, other, least, help) ", " #name
#include "lib/sandbox/limits.def"
#undef LIMIT
				,
				quoted(v->string).text);
	}
	return 0;
}

/* The default leaves some of the machine's memory. */
static int64_t default_memory(int64_t max)
{
	int64_t pages = sysconf(_SC_PHYS_PAGES);
	int64_t most = pages * sysconf(_SC_PAGESIZE) / 4 * 3;

	return pages > 0 && most < max ? most : max;
}

static int read_limits(struct sandbox_limits *out, const cJSON *def,
		       struct err *e)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(def, "limits");

	if (list && !cJSON_IsObject(list) && !cJSON_IsNull(list))
		return err_set(e, ERR_INVALID, "limits must be an object");
	if (check_names(list, e))
		return -1;
	for (size_t i = 0; i < NLIMITS; i++) {
		const struct limit *l = &limits[i];
		const cJSON *v = cJSON_GetObjectItemCaseSensitive(list,
								  l->name);
		int64_t *to = (int64_t *)(void *)((char *)out + l->offset);

		*to = l->other;
		if (v && !cJSON_IsNull(v) && read_limit(l, v, to, e))
			return -1;
		if (to == &out->pids)
			out->pids_set = v && !cJSON_IsNull(v);
		if (to == &out->memory)
			out->memory_set = v && !cJSON_IsNull(v);
	}
	if (!out->memory_set)
		out->memory = default_memory(out->memory);
	return 0;
}

static int read_list(struct sandbox_paths *out, const cJSON *paths,
		     const char *name, struct arena *a, struct err *e)
{
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(paths, name);
	const cJSON *v;

	if (list && !cJSON_IsArray(list))
		return err_set(e, ERR_INVALID, "paths.%s must be an array",
			       name);
	cJSON_ArrayForEach(v, list)
	{
		if (!cJSON_IsString(v) || v->valuestring[0] != '/')
			return err_set(
				e, ERR_INVALID,
				"paths.%s must contain only absolute paths",
				name);
		if (out->n == SANDBOX_PATHS)
			return err_set(e, ERR_INVALID,
				       "paths.%s has more than %d entries",
				       name, SANDBOX_PATHS);
		out->path[out->n++] = arena_text(a, v->valuestring);
	}
	return 0;
}

/* A misspelled "read" would show the whole host to the run. */
static int check_paths(const cJSON *paths, struct err *e)
{
	const cJSON *v;

	if (paths && !cJSON_IsObject(paths) && !cJSON_IsNull(paths))
		return err_set(e, ERR_INVALID, "paths must be an object");
	cJSON_ArrayForEach(v, paths)
	{
		if (strcmp(v->string, "read") != 0 &&
		    strcmp(v->string, "write") != 0)
			return err_set(
				e, ERR_INVALID,
				"unknown member 'paths.%s'; paths has read and "
				"write",
				quoted(v->string).text);
	}
	return 0;
}

static int read_spec(struct sandbox_spec *s, const cJSON *definition,
		     int network, struct arena *a, struct err *e)
{
	const cJSON *paths = cJSON_GetObjectItemCaseSensitive(definition,
							      "paths");
	int mode = SANDBOX_ON;

	*s = (struct sandbox_spec){0};
	if (check_paths(paths, e) ||
	    read_word(definition, "sandbox", SANDBOX_MODES, &mode, e) ||
	    read_word(definition, "network", SANDBOX_NETWORKS, &network, e) ||
	    read_limits(&s->limits, definition, e) ||
	    read_list(&s->read, paths, "read", a, e) ||
	    read_list(&s->write, paths, "write", a, e))
		return -1;
	s->mode = (enum sandbox_mode)mode;
	s->network = (enum sandbox_network)network;
	return 0;
}

int sandbox_spec_read(struct sandbox_spec *s, const cJSON *definition,
		      struct arena *a, struct err *e)
{
	return read_spec(s, definition, NETWORK_NONE, a, e);
}

int sandbox_spec_read_plugin(struct sandbox_spec *s, const cJSON *settings,
			     struct arena *a, struct err *e)
{
	static const char *const of_runs[] = {"disk", "runs"};
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(settings,
							     "limits");

	for (size_t i = 0; i < sizeof of_runs / sizeof *of_runs; i++)
		if (cJSON_GetObjectItemCaseSensitive(list, of_runs[i]))
			return err_set(e, ERR_INVALID,
				       "limits.%s is not available for a "
				       "plugin",
				       of_runs[i]);
	return read_spec(s, settings, NETWORK_HOST, a, e);
}

void sandbox_spec_copy(const cJSON *definition, struct buf *out)
{
	json_begin_object(out);
	for (size_t i = 0; i < sizeof members / sizeof *members; i++)
		json_put(out, members[i], json_member(definition, members[i]));
	json_end_object(out);
}
