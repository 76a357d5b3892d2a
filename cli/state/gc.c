#include "cli/state/ops_cli.h"

#include "lib/base/text.h"
#include "lib/json/json.h"
#include "schema/agent/gc.h"
#include "schema/agent/media.h"
#include "schema/control/registry.h"
#include "vfs/core/vfs.h"

#include <limits.h>

#define OLDER_MS 3600000

struct job {
	int64_t age, chunks, cached;
	struct table *t;
};

static int gc_file(struct cli *cli, const struct agent_database_row *row,
		   void *arg, struct err *e)
{
	struct job *j = arg;
	struct agent_file file;
	struct gc_result result;
	int rc;

	if (registry_open(row, 0, &file, e))
		return -1;
	rc = vfs_gc(file.db, e) < 0 || vfs_gc_contents(file.db, e)
		     ? -1
		     : agent_gc(&file, j->age, INT_MAX, &result, e);
	if (!rc) {
		result.agent = arena_text(&cli->arena, row->agent);
		j->chunks += result.chunks;
		j->cached += result.cached;
		table_add(j->t, &result);
	}
	agent_file_close(&file);
	return rc;
}

static int collect_garbage(struct cli *cli, struct err *e)
{
	struct home_path media = home_path(&cli->home, HOME_MEDIA);
	struct job j = {.age = cli_number(cli, "older-than", OLDER_MS)};
	struct buf detail = BUF_MAX(1024);
	int rc, files;

	j.t = table_new(&cli->out, &gc_result_shape, "agent chunks cached");
	rc = ops_each_file(cli, "collecting", gc_file, &j, e);
	table_end(j.t);
	files = rc ? -1 : media_gc(media.text, j.age, e);
	if (files < 0)
		return -1;
	output_note(&cli->out, "%d temporary %s of artifacts deleted", files,
		    text_plural(files, "file", "files"));
	json_begin_object(&detail);
	json_put_int(&detail, "chunks", j.chunks);
	json_put_int(&detail, "cached", j.cached);
	json_put_int(&detail, "files", files);
	json_end_object(&detail);
	rc = ops_audit(cli, "state.gc", cli_option(cli, "agent"), detail.p, e);
	buf_fini(&detail);
	return rc;
}

const struct command cmd_state_gc = {
	.name = "state gc",
	.help = "delete unreachable data",
	.about = "Deletes the content of replaced and deleted "
		 "artifacts, expired cache entries, temporary files of "
		 "artifacts, and ephemeral namespaces of runs that have "
		 "ended.",
	.needs = NEEDS_CONTROL_WRITE,
	.options = OPTIONS(
		OPTION(MILLIS, 0, "older-than", "TIME",
		       "delete only data older than this (default 1h)"),
		OPT_AGENT("clean only the database of this agent")),
	.run = collect_garbage,
};
