#include "vfs/snapshot/diff_list.h"

#include <stdlib.h>

int diff_list_add(void *deltas, const struct vfs_difference *d, struct err *e)
{
	struct diff_list *l = deltas;

	(void)e;
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 64;
		l->list = realloc(l->list, l->cap * sizeof *l->list);
		l->decision = realloc(l->decision,
				      l->cap * sizeof *l->decision);
		if (!l->list || !l->decision)
			abort();
	}
	l->list[l->n] = *d;
	l->decision[l->n] = 0;
	l->list[l->n++].path = arena_text(&l->mem, d->path);
	return 0;
}

void diff_list_fini(struct diff_list *d)
{
	arena_fini(&d->mem);
	free(d->list);
	free(d->decision);
	*d = (struct diff_list){0};
}
