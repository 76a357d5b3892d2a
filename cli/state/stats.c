#include "cli/remote.h"

#include "lib/base/text.h"
#include "ops/maintain/wal_readers.h"
#include "schema/control/registry.h"
#include "schema/control/stats.h"

#include <string.h>

static void print_members(struct cli *cli, const char *title, const char *json)
{
	cJSON *root = cJSON_Parse(json ? json : "{}");
	struct buf line = BUF_MAX(1u << 20);
	const cJSON *v;

	cJSON_ArrayForEach(v, root)
	{
		if (cJSON_IsNumber(v) && v->valuedouble == 0)
			continue; /* skip empty tables */
		buf_addf(&line, "%s%s ", line.n ? ", " : "", v->string);
		json_add(&line, v);
	}
	if (line.n)
		output_note(&cli->out, "  %s: %s", title, line.p);
	cJSON_Delete(root);
	buf_fini(&line);
}

/* Lists processes whose long reads keep the WAL from shrinking. */
static void find_readers(struct cli *cli, struct wal_readers *now,
			 struct stats *s)
{
	struct buf b = BUF_MAX(1 << 20);
	struct wal_reader *rows;
	int n = wal_readers_of(now, s->path, &rows, &cli->arena);

	json_begin_array(&b);
	for (int i = 0; i < n; i++) {
		char age[TEXT_HUMAN];

		json_add_shape(&b, &wal_reader_shape, &rows[i]);
		output_note(&cli->out,
			    "  being read by %s, process %lld, for at least "
			    "%s; it holds back %lld frames of the log",
			    rows[i].program, (long long)rows[i].pid,
			    text_human_millis(rows[i].age_ms, age),
			    (long long)rows[i].pinned_frames);
	}
	json_end_array(&b);
	s->readers = arena_text(&cli->arena, b.p);
	buf_fini(&b);
}

static void print_details(struct cli *cli, struct wal_readers *now,
			  struct stats *s)
{
	if (!s->problem && !s->rows)
		return; /* a second connection to a file shown already */
	output_note(&cli->out, "\n%s%s%s  %s", s->database, s->agent ? " " : "",
		    s->agent ? s->agent : "", s->path);
	if (s->problem) {
		output_note(&cli->out, "  problem: %s", s->problem);
		return;
	}
	print_members(cli, "rows", s->rows);
	print_members(cli, "statuses", s->statuses);
	print_members(cli, "langgraph", s->langgraph);
	find_readers(cli, now, s);
}

static int read_control(struct cli *cli, struct stats *s, struct err *e)
{
	int rc = stats_read(cli->control, "control", s, &cli->arena, e);

	s->process = "skep";
	return rc;
}

/* The supervisor's connection to the same file, as it reports it. */
static void read_skepd(struct cli *cli, const struct stats *control,
		       struct stats *s)
{
	struct pragmas p = {0};
	struct err e;
	cJSON *json = remote_call(cli, "GET", "/v1/health", NULL, &e);

	*s = *control;
	s->process = "skepd";
	s->rows = s->statuses = NULL;
	if (json)
		remote_read(cJSON_GetObjectItem(json, "pragmas"),
			    &pragmas_shape, &p);
	else
		s->problem = arena_text(&cli->arena, e.text);
	p.journal_mode = arena_text(&cli->arena, p.journal_mode);
	p.synchronous = arena_text(&cli->arena, p.synchronous);
	stats_set_pragmas(s, &p);
	cJSON_Delete(json);
}

/* A file that cannot be read is reported, and the list continues. */
static void read_agent(struct cli *cli, const struct agent_database_row *row,
		       struct stats *s)
{
	struct agent_file file = {.db = NULL};
	struct err e;

	if (registry_open(row, SQL_READONLY, &file, &e) ||
	    stats_read(file.db, "agent", s, &cli->arena, &e)) {
		*s = (struct stats){.database = "agent",
				    .schema_version = row->schema_version,
				    .problem = arena_text(&cli->arena, e.text)};
		stats_sizes(row->path, s);
	}
	s->process = "skep";
	s->agent = row->agent;
	if (file.db)
		agent_file_close(&file);
}

static void print_stats(struct cli *cli, struct stats *all, int count)
{
	struct home_path notes = home_path(&cli->home, HOME_READERS);
	struct wal_readers *now = wal_readers_scan(notes.text);
	struct err ignored;
	struct table *t;

	t = table_new(&cli->out, &stats_shape,
		      "database process agent bytes wal_bytes free_bytes "
		      "schema_version journal_mode synchronous busy_timeout "
		      "foreign_keys secure_delete");
	for (int i = 0; i < count; i++) {
		if (cli->out.json)
			find_readers(cli, now, &all[i]);
		table_add(t, &all[i]);
	}
	table_end(t);
	for (int i = 0; !cli->out.json && i < count; i++)
		print_details(cli, now, &all[i]);
	/* a home that is not writable has no records of readers */
	(void)wal_readers_save(now, &ignored);
	wal_readers_free(now);
}

static int state_stats(struct cli *cli, struct err *e)
{
	const char *only = cli_option(cli, "agent");
	struct agent_database_row *rows;
	struct stats *all;
	struct progress p;
	int n = sql_collect(cli->control, Q_AGENT_DATABASE_LIST, NULL, 1 << 20,
			    &rows, &cli->arena, e);
	int count = 1;

	if (n < 0)
		return -1;
	all = arena_alloc(&cli->arena, ((size_t)n + 2) * sizeof *all);
	if (read_control(cli, &all[0], e))
		return -1;
	if (cli->supervised)
		read_skepd(cli, &all[0], &all[count++]);
	progress_begin(&p, &cli->out, "reading", n);
	for (int i = 0; i < n; i++) {
		if (!only || !strcmp(only, rows[i].agent))
			read_agent(cli, &rows[i], &all[count++]);
		progress_at(&p, i + 1);
	}
	progress_end(&p);
	if (only && count == 1 + cli->supervised)
		return err_set(e, ERR_NOTFOUND, "agent '%s' has no database",
			       only);
	print_stats(cli, all, count);
	return 0;
}

const struct command cmd_state_stats = {
	.name = "state stats",
	.help = "show size, pragmas and row counts of every database",
	.about = "The pragmas are those of the connections opened by "
		 "this command, and of the connection of a running "
		 "supervisor.",
	.needs = NEEDS_CONTROL_READ,
	.options = OPTIONS(
		OPT_AGENT("show only the control plane and the database of "
			  "this agent")),
	.run = state_stats,
};
