#include "vfs/core/node_cache.h"

#include "vfs/core/core.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(int64_t ino)
{
	return (size_t)ino % NODE_CACHE_SLOTS;
}

bool node_cache_on(const struct vfs *v)
{
	return v->batch_atomic && v->batch;
}

const struct node *node_cache_find(const struct vfs *v, int64_t ino)
{
	const struct node_cache *m = &v->node_cache;
	size_t i = slot_of(ino);

	return m->nodes && m->state[i] != NODE_CACHE_FREE &&
			       m->nodes[i].ino == ino
		       ? &m->nodes[i]
		       : NULL;
}

static int write_if_dirty(struct vfs *v, size_t i, struct err *e)
{
	struct node_cache *m = &v->node_cache;

	if (m->state[i] != NODE_CACHE_DIRTY)
		return 0;
	m->state[i] = NODE_CACHE_CLEAN;
	return node_store(v, &m->nodes[i], e);
}

int node_cache_put(struct vfs *v, const struct node *n, bool dirty,
		   struct err *e)
{
	struct node_cache *m = &v->node_cache;
	size_t i = slot_of(n->ino);

	if (!m->nodes) {
		m->nodes = calloc(NODE_CACHE_SLOTS, sizeof *m->nodes);
		m->state = calloc(NODE_CACHE_SLOTS, sizeof *m->state);
		if (!m->nodes || !m->state)
			abort();
	}
	if (m->nodes[i].ino != n->ino && write_if_dirty(v, i, e))
		return -1;
	m->nodes[i] = *n;
	m->state[i] = dirty ? NODE_CACHE_DIRTY : NODE_CACHE_CLEAN;
	m->changes += dirty;
	return 0;
}

bool node_cache_is_missing(const struct vfs *v, struct vfs_at at)
{
	return v->node_cache.missing.dir == at.dir &&
	       !strcmp(v->node_cache.missing.name, at.name);
}

void node_cache_missing(struct vfs *v, struct vfs_at at)
{
	size_t n = strlen(at.name);

	if (n > VFS_NAME_MAX)
		return;
	v->node_cache.missing.dir = at.dir;
	memcpy(v->node_cache.missing.name, at.name, n + 1);
}

void node_cache_drop(struct vfs *v, int64_t ino)
{
	if (node_cache_find(v, ino))
		v->node_cache.state[slot_of(ino)] = NODE_CACHE_FREE;
}

int node_cache_write(struct vfs *v, struct err *e)
{
	for (size_t i = 0; v->node_cache.nodes && i < NODE_CACHE_SLOTS; i++)
		if (write_if_dirty(v, i, e))
			return -1;
	return 0;
}

void node_cache_clear(struct vfs *v)
{
	v->node_cache.missing.dir = 0;
	if (v->node_cache.nodes)
		memset(v->node_cache.state, 0,
		       NODE_CACHE_SLOTS * sizeof *v->node_cache.state);
}

void node_cache_fini(struct node_cache *m)
{
	free(m->nodes);
	free(m->state);
	*m = (struct node_cache){0};
}
