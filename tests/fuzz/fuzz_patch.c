/*
 * Patching a session with any bytes: either it is refused and the row is as it
 * was, or doing it again changes nothing but the revision.
 */
#include "tests/support/temp.h"

#include "schema/agent/transcript/session.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct agent_file file;
static struct temp dir;

static void clean_up(void)
{
	agent_file_close(&file);
	temp_remove(&dir);
}

static void must(bool right, const char *why)
{
	if (right)
		return;
	fprintf(stderr, "%s\n", why);
	abort();
}

static void make_session(struct session_row *row, struct arena *a)
{
	struct err e;

	if (!file.db) {
		temp_make(&dir);
		must(agent_file_open(&file, temp_join(&dir, "a.sqlite"), "ada",
				     SQL_CREATE, &e) == 0,
		     e.text);
		atexit(clean_up);
	}
	must(sql_script(file.db, "DELETE FROM session", &e) == 0, e.text);
	must(session_ensure(&file,
			    &(struct session_new){.key = "k",
						  .meta = "{\"a\":{\"b\":1}}"},
			    row, a, &e) == 1,
	     "not made");
}

static bool same_text(const char *a, const char *b)
{
	return (!a && !b) || (a && b && !strcmp(a, b));
}

static bool same_session(const struct session_row *a,
			 const struct session_row *b)
{
	return same_text(a->title, b->title) && same_text(a->model, b->model) &&
	       same_text(a->source, b->source) &&
	       same_text(a->parent, b->parent) &&
	       same_text(a->status, b->status) && same_text(a->kind, b->kind) &&
	       same_text(a->meta, b->meta) &&
	       a->is_ephemeral == b->is_ephemeral;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct session_row before, after, again;
	struct arena a = {0};
	struct err e = {0};
	char *patch = malloc(size + 1);

	if (!patch)
		abort();
	memcpy(patch, data, size);
	patch[size] = '\0';
	make_session(&before, &a);
	if (session_patch(&file, "k", patch, 0, &after, &a, &e)) {
		must(e.code == ERR_INVALID || e.code == ERR_TOOBIG, e.text);
		must(session_need(&file, "k", &after, &a, &e) == 0, e.text);
		must(same_session(&before, &after) && after.rev == before.rev,
		     "a refused patch changed the row");
	} else {
		must(session_patch(&file, "k", patch, 0, &again, &a, &e) == 0,
		     e.text);
		must(same_session(&after, &again),
		     "the second time is not the first");
		must(again.meta[0] == '{', "meta is no object");
	}
	free(patch);
	arena_fini(&a);
	return 0;
}
