/* Definitions in files of agents/NAME/. */
#include "schema/control/agent.h"

#include "lib/base/text.h"
#include "lib/os/file.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

static struct home_path file_of(const struct home *home, const char *name,
				const char *file)
{
	char below[160];

	snprintf(below, sizeof below, "%s/%s", name, file);
	return home_join(home, HOME_AGENTS, below);
}

/* Returns 1 and the text, 0 if there is no such file. */
static int read_text(const char *path, struct buf *b, struct err *e)
{
	if (!file_exists(path))
		return 0;
	if (file_read(path, b, e))
		return -1;
	if (memchr(b->p, 0, b->n) || !text_is_utf8(b->p, b->n))
		return err_set(e, ERR_INVALID,
			       "%s is not UTF-8 text without NUL bytes", path);
	return 1;
}

/* Two files could both set it, and then each use would change it. */
static int refuse_default(const char *path, const cJSON *def, const char *name,
			  struct err *e)
{
	if (!cJSON_GetObjectItemCaseSensitive(def, "default"))
		return 0;
	return err_set(e, ERR_INVALID,
		       "%s: a file cannot choose the default agent; use 'skep "
		       "agent set %s --default'",
		       path, name);
}

static int take_definition(const struct agent_text *from, struct agent_row *row,
			   struct arena *a, struct err *e)
{
	if (refuse_default(from->what, from->def, row->name, e) ||
	    agent_check_members(from, row, e))
		return -1;
	row->spec = "{}"; /* a member that the file no longer contains is
			   * removed */
	row->model = NULL;
	return agent_from_json(row, from->what, from->def, a, e) ? -1 : 1;
}

static int read_definition(const char *path, struct agent_row *row,
			   struct arena *a, struct err *e)
{
	struct buf text = BUF_MAX(4u * AGENT_TEXT_MAX);
	int rc = read_text(path, &text, e);
	cJSON *def = NULL;

	if (rc > 0) {
		struct agent_text from = {path, NULL, text.p};

		from.def = def = json_parse_object(path, text.p, text.n, e);
		rc = def ? take_definition(&from, row, a, e) : -1;
	}
	cJSON_Delete(def);
	buf_fini(&text);
	return rc;
}

static int read_prompt(const char *path, struct agent_row *row, struct arena *a,
		       struct err *e)
{
	struct buf text = BUF_MAX(AGENT_TEXT_MAX);
	int rc = read_text(path, &text, e);

	if (rc > 0)
		row->prompt = arena_text(a, text.p);
	buf_fini(&text);
	return rc;
}

int agent_read_files(const struct home *home, const char *name,
		     struct agent_row *row, struct arena *a, struct err *e)
{
	int def = read_definition(file_of(home, name, "agent.json").text, row,
				  a, e);
	int prompt;

	if (def < 0)
		return -1;
	prompt = read_prompt(file_of(home, name, "prompt.md").text, row, a, e);
	return prompt < 0 ? -1 : def || prompt;
}

static int sync_row(struct sql *db, const struct home *home, const char *name,
		    struct arena *a, struct err *e)
{
	struct agent_row row = {.name = name};
	int found = sql_get(db, Q_AGENT_GET,
			    &(struct agent_get_in){.name = name}, &row, a, e);
	int files;

	if (found < 0)
		return -1;
	if (!found) {
		row = (struct agent_row){.name = name,
					 .driver = "script",
					 .workspace = "disk",
					 .is_enabled = true,
					 .spec = "{}"};
		if (!file_exists(file_of(home, name, "agent.json").text))
			return 0;
	}
	files = agent_read_files(home, name, &row, a, e);
	if (files <= 0)
		return files;
	row.source = "file";
	return agents_put(db, &row, a, e);
}

int agents_sync(struct sql *db, const struct home *home, const char *name,
		struct err *e)
{
	struct arena a = {0};
	int rc = text_check_name("agent", name, e)
			 ? -1
			 : sync_row(db, home, name, &a, e);

	arena_fini(&a);
	return rc;
}

static void sync_entry(struct sql *db, const struct home *home,
		       const char *name, struct buf *bad)
{
	struct err e;

	if (name[0] == '.' ||
	    !file_exists(file_of(home, name, "agent.json").text))
		return;
	if (agents_sync(db, home, name, &e) < 0)
		buf_addf(bad, "%s\n", e.text);
}

int agents_sync_all(struct sql *db, const struct home *home, struct buf *bad,
		    struct err *e)
{
	struct home_path path = home_path(home, HOME_AGENTS);
	DIR *dir = opendir(path.text);
	const struct dirent *entry;

	if (!dir)
		return errno == ENOENT ? 0 : err_errno_set(e, "%s", path.text);
	while ((entry = readdir(dir)))
		if (strlen(entry->d_name) <= 64)
			sync_entry(db, home, entry->d_name, bad);
	closedir(dir);
	return 0;
}
