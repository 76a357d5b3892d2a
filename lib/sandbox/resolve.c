/* The real paths of a plan. */
#include "lib/sandbox/sandbox.h"

#include <limits.h>

struct resolving {
	struct homes homes;
	struct written written;
	struct arena *arena;
	bool all_covered; /* with paths.read: links elsewhere, too */
};

/* A path that leads into a home through a link elsewhere gets its real name,
 * too: the cover of the home is below that name. */
static const char *resolve_path(const struct resolving *r, const char *path)
{
	char real[PATH_MAX];

	path = homes_real(&r->homes, path, r->arena);
	if (path && !r->all_covered && !homes_contain(&r->homes, path) &&
	    written_resolve(&r->written, path, real) &&
	    homes_contain(&r->homes, real))
		return arena_text(r->arena, real);
	return path;
}

static void resolve_all(struct sandbox_paths *list, const struct resolving *r)
{
	for (int i = 0; i < list->n; i++)
		list->path[i] = resolve_path(r, list->path[i]);
}

void sandbox_plan_resolve(struct sandbox_plan *p, struct arena *a)
{
	struct resolving r = {.written = written_by(p->spec, p->workspace),
			      .arena = a,
			      .all_covered = p->spec->read.n > 0};
	struct sandbox_spec *spec = arena_alloc(a, sizeof *spec);

	homes_list(&r.homes, p->home);
	*spec = *p->spec;
	resolve_all(&spec->read, &r);
	resolve_all(&spec->write, &r);
	resolve_all(&p->shown, &r);
	p->spec = spec;
	p->workspace = resolve_path(&r, p->workspace);
	p->namespaces.hidden = resolve_path(&r, p->namespaces.hidden);
	p->home = homes_real(&r.homes, p->home, a);
}
