#include "vfs/core/node_cache.h"

#include "vfs/core/core.h"

#include <stdlib.h>
#include <string.h>

static size_t slot_of(int64_t ino)
{
	return (size_t)ino % MEMO_SLOTS;
}

bool memo_on(const struct vfs *v)
{
	return v->coarse && v->batch;
}

const struct node *memo_find(const struct vfs *v, int64_t ino)
{
	const struct memo *m = &v->memo;
	size_t i = slot_of(ino);

	return m->nodes && m->state[i] != MEMO_FREE && m->nodes[i].ino == ino
		       ? &m->nodes[i]
		       : NULL;
}

static int clean(struct vfs *v, size_t i, struct err *e)
{
	struct memo *m = &v->memo;

	if (m->state[i] != MEMO_DIRTY)
		return 0;
	m->state[i] = MEMO_CLEAN;
	return node_store(v, &m->nodes[i], e);
}

int memo_put(struct vfs *v, const struct node *n, bool dirty, struct err *e)
{
	struct memo *m = &v->memo;
	size_t i = slot_of(n->ino);

	if (!m->nodes) {
		m->nodes = calloc(MEMO_SLOTS, sizeof *m->nodes);
		m->state = calloc(MEMO_SLOTS, sizeof *m->state);
		if (!m->nodes || !m->state)
			abort();
	}
	if (m->nodes[i].ino != n->ino && clean(v, i, e))
		return -1;
	m->nodes[i] = *n;
	m->state[i] = dirty ? MEMO_DIRTY : MEMO_CLEAN;
	m->changes += dirty;
	return 0;
}

bool memo_is_missing(const struct vfs *v, struct vfs_at at)
{
	return v->memo.missing.dir == at.dir &&
	       !strcmp(v->memo.missing.name, at.name);
}

void memo_missing(struct vfs *v, struct vfs_at at)
{
	size_t n = strlen(at.name);

	if (n > VFS_NAME_MAX)
		return;
	v->memo.missing.dir = at.dir;
	memcpy(v->memo.missing.name, at.name, n + 1);
}

void memo_drop(struct vfs *v, int64_t ino)
{
	if (memo_find(v, ino))
		v->memo.state[slot_of(ino)] = MEMO_FREE;
}

int memo_write(struct vfs *v, struct err *e)
{
	for (size_t i = 0; v->memo.nodes && i < MEMO_SLOTS; i++)
		if (clean(v, i, e))
			return -1;
	return 0;
}

void memo_clear(struct vfs *v)
{
	v->memo.missing.dir = 0;
	if (v->memo.nodes)
		memset(v->memo.state, 0, MEMO_SLOTS * sizeof *v->memo.state);
}

void memo_fini(struct memo *m)
{
	free(m->nodes);
	free(m->state);
	*m = (struct memo){0};
}
