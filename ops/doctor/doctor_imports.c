/* State of other programs that could be imported: what `skep import` does, for
 * the usual locations. */
#include "ops/doctor/doctor.h"

#include "lib/json/json.h"
#include "lib/os/file.h"
#include "ops/import/import.h"
#include "ops/import/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REGISTRY_MAX (1u << 20)

static const struct {
	const char *program, *env, *below;
} places[] = {
#define PLACE(program, env, below) {program, env, below},
#include "ops/import/locations.def"
#undef PLACE
};

static void ignore_item(void *arg, const struct import_item *p)
{
	(void)arg;
	(void)p;
}

/* Locations may be links to each other. */
struct seen {
	const char *paths[32];
	int n;
};

static bool again(struct seen *s, struct doctor *d, const char *full)
{
	for (int i = 0; i < s->n; i++)
		if (!strcmp(s->paths[i], full))
			return true;
	if (s->n < (int)(sizeof s->paths / sizeof s->paths[0]))
		s->paths[s->n++] = arena_text(&d->arena, full);
	return false;
}

/* --quick does not read it. */
static void inspect_place(struct doctor *d, struct seen *s, const char *program,
			  const char *path)
{
	struct import_run m = {.home = d->home,
			       .root = path,
			       .control = d->control,
			       .report = ignore_item};
	char full[PATH_MAX];
	struct err why;

	if (!realpath(path, full) || again(s, d, full))
		return;
	if (d->quick)
		doctor_report(d, FINDING_importable_state, full,
			      "%s keeps its state there", program);
	else if (import_plan(&m, &why) == 0 && m.sum.planned > 0)
		doctor_report(d, FINDING_importable_state, full,
			      "%s keeps its state there; %" PRId64
			      " items of it can be imported, %" PRId64
			      " were before",
			      program, m.sum.planned, m.sum.done);
	arena_fini(&m.arena);
}

/* Workspaces may be anywhere; the registry has the path of each. */
static void check_hiro(struct doctor *d, struct seen *s, const char *home)
{
	struct buf b = BUF_MAX(REGISTRY_MAX);
	char path[PATH_MAX];
	struct err ignored;
	const cJSON *all, *w;
	cJSON *v;

	snprintf(path, sizeof path, "%s/.local/share/hiro/registry.json", home);
	v = source_read(path, &b, &ignored) == 0
		    ? json_parse_object(path, b.p, b.n, &ignored)
		    : NULL;
	all = source_pick(v, "workspaces");
	cJSON_ArrayForEach(w, all)
	{
		const char *at = source_text(w, "path", NULL);

		if (at)
			inspect_place(d, s, "Hiro", at);
	}
	cJSON_Delete(v);
	buf_fini(&b);
}

void doctor_imports(struct doctor *d)
{
	const char *home = home_env("HOME");
	struct seen seen = {0};
	char path[PATH_MAX];

	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		const char *location = places[i].env ? home_env(places[i].env)
						     : NULL;

		snprintf(path, sizeof path, "%s/%s", home ? home : "",
			 places[i].below);
		if (location || home)
			inspect_place(d, &seen, places[i].program,
				      location ? location : path);
	}
	if (home)
		check_hiro(d, &seen, home);
}
