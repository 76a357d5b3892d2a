#include "supervisor/api/agent_file_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/base/clock.h"
#include "schema/control_queries.h"

#define UNUSED_NS (INT64_C(10) * 1000000000)

static void close_slot(struct agent_files_slot *slot)
{
	if (slot->file.db)
		agent_file_close(&slot->file);
	free(slot->path);
	*slot = (struct agent_files_slot){0};
}

void agent_files_close(struct agent_files *s)
{
	for (int i = 0; i < AGENT_FILES; i++)
		close_slot(&s->slots[i]);
}

void agent_files_expire(struct agent_files *s)
{
	int64_t old = clock_mono_ns() - UNUSED_NS;

	for (int i = 0; i < AGENT_FILES; i++)
		if (s->slots[i].file.db &&
		    (s->slots[i].used < old || sql_lost(s->slots[i].file.db)))
			close_slot(&s->slots[i]);
}

/* The slot of this file, or the slot to use for it. A file that was replaced
 * has the same name but another inode. */
static struct agent_files_slot *slot_for(struct agent_files *s,
					 const char *path, ino_t inode)
{
	struct agent_files_slot *oldest = &s->slots[0];

	for (int i = 0; i < AGENT_FILES; i++) {
		struct agent_files_slot *slot = &s->slots[i];

		if (slot->path && strcmp(slot->path, path) == 0) {
			if (slot->inode != inode)
				close_slot(slot);
			return slot;
		}
		if (slot->used < oldest->used)
			oldest = slot;
	}
	close_slot(oldest);
	return oldest;
}

static int open_at(struct agent_files *s, const struct agent_database_row *row,
		   struct agent_file **out, struct err *e)
{
	struct agent_files_slot *slot;
	struct stat st;

	if (stat(row->path, &st))
		return 0;
	slot = slot_for(s, row->path, st.st_ino);
	if (!slot->file.db) {
		if (agent_file_open(&slot->file, row->path, row->agent,
				    SQL_READONLY, e)) {
			slot->file.db = NULL;
			return -1;
		}
		slot->path = strdup(row->path);
		slot->inode = st.st_ino;
	}
	slot->used = clock_mono_ns();
	*out = &slot->file;
	return 1;
}

int agent_files_get(struct agent_files *s, struct sql *control,
		    const char *agent, struct agent_file **out, struct err *e)
{
	struct agent_database_row row;
	struct arena a = {0};
	int found = sql_get(control, Q_AGENT_DATABASE_GET,
			    &(struct agent_database_get_in){agent}, &row, &a,
			    e);

	if (found > 0)
		found = open_at(s, &row, out, e);
	arena_fini(&a);
	return found;
}
