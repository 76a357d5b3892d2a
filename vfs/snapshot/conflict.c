#include "vfs/snapshot/conflict.h"

#include <string.h>

bool place_covers(const char *place, const char *path)
{
	const char *want = place + strspn(place, "/");
	size_t len = strlen(want);

	while (len > 0 && want[len - 1] == '/')
		len--;
	return strncmp(path, want, len) == 0 &&
	       (len == 0 || path[len] == '\0' || path[len] == '/');
}

static bool is_listed(const char *const *places, const char *path)
{
	for (; places && *places; places++)
		if (place_covers(*places, path))
			return true;
	return false;
}

enum vfs_strategy conflict_decide(struct vfs_merge *m,
				  const struct vfs_difference *d)
{
	enum vfs_strategy winner = m->strategy;

	m->conflicts++;
	if (m->report)
		m->report(m->arg, d, true);
	if (is_listed(m->ours, d->path))
		winner = VFS_STRATEGY_PARENT;
	else if (is_listed(m->theirs, d->path))
		winner = VFS_STRATEGY_FORK;
	if (winner == VFS_STRATEGY_NONE)
		m->unresolved++;
	return winner;
}
