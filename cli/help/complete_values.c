#include "cli/help/complete_values.h"

#include "cli/output.h"
#include "lib/base/arena.h"
#include "lib/base/id.h"
#include "lib/base/text.h"
#include "schema/agent/transcript/session.h"
#include "schema/agent_queries.h"
#include "schema/control/control.h"
#include "schema/control/lists.h"
#include "schema/control/registry.h"

#include <stdio.h>
#include <string.h>

#define OFFERED 100
#define FILES   50 /* agent files that are read for sessions */

struct values {
	const struct complete_request *q;
	struct sql *control;
	struct arena arena;
};

void complete_offer(const char *start, const char *word, const char *help)
{
	struct buf b = BUF_MAX(4096);

	if (!word || strncmp(word, start, strlen(start)) != 0 ||
	    strpbrk(word, "\t\n"))
		return;
	output_safe(&b, help ? help : "", help ? strlen(help) : 0, false);
	printf("%s\t%s\n", word, b.p);
	buf_fini(&b);
}

static void offer(struct values *v, const char *word, const char *help)
{
	complete_offer(v->q->start, word, help);
}

static void offer_agents(struct values *v)
{
	struct agent_list_in in = {.after = "", .count = OFFERED};
	struct sql_rows it = sql_rows(v->control, Q_AGENT_LIST, &in);
	struct agent_row row;
	struct err ignored;

	while (sql_next(&it, &row))
		offer(v, row.name, row.driver);
	(void)sql_end(&it, &ignored);
}

static void offer_channels(struct values *v)
{
	struct sql_rows it = sql_rows(v->control, Q_CHANNEL_LIST, NULL);
	struct channel_row row;
	struct err ignored;

	while (sql_next(&it, &row))
		offer(v, row.name, row.kind);
	(void)sql_end(&it, &ignored);
}

/* Ids in the form that tables show, or complete if that was typed. */
static void offer_ids(struct values *v, enum id_kind kind, unsigned query)
{
	const char *prefix = id_prefix(kind), *start = v->q->start;
	bool whole = !strncmp(start, prefix, 3) && start[3] == '_';
	char low[ID_SIZE], high[ID_SIZE + 1], word[ID_SIZE];
	struct id_range in = {low, high, 0};
	struct sql_rows it;
	struct found_id row;
	struct err ignored;

	if (strlen(start) > ID_SIZE - 5)
		return;
	text_printf(low, sizeof low, "%s_%s", prefix,
		    whole ? start + 4 : start);
	text_printf(high, sizeof high, "%s~", low);
	it = sql_rows(v->control, query, &in);
	while (sql_next(&it, &row)) {
		text_printf(word, sizeof word, "%.*s",
			    whole ? ID_SIZE : OUTPUT_ID_SHOWN,
			    row.id + (whole ? 0 : 4));
		offer(v, word, row.label);
	}
	(void)sql_end(&it, &ignored);
}

static void offer_runs(struct values *v)
{
	struct run_filter filter = {.before = "~", .count = OFFERED};
	struct run_row row;
	struct lists it;
	struct err ignored;
	char word[OUTPUT_ID_SHOWN + 1];

	offer(v, "last", "the newest run");
	if (!strncmp(v->q->start, "run_", 4)) {
		offer_ids(v, ID_RUN, Q_RUN_PREFIX);
		return;
	}
	if (lists_open(&it, v->control, LISTS_RUNS, &filter, &ignored))
		return;
	while (lists_next(&it, &row)) {
		text_printf(word, sizeof word, "%.*s", OUTPUT_ID_SHOWN,
			    row.id + 4);
		offer(v, word,
		      arena_printf(&v->arena, "%s, %s", row.agent, row.state));
		offer(v, row.name, "name of a run");
	}
	(void)lists_close(&it, &ignored);
	offer_agents(v);
}

/* Calls fn for the file of the agent, or of the first agents. */
static void each_file(struct values *v, const char *agent,
		      void (*fn)(struct values *v, struct agent_file *f,
				 const char *agent))
{
	struct agent_database_row *rows;
	struct agent_file f;
	struct err ignored;
	int n = sql_collect(v->control, Q_AGENT_DATABASE_LIST, NULL, 1 << 20,
			    &rows, &v->arena, &ignored);

	for (int i = 0, used = 0; i < n && used < FILES; i++) {
		if ((agent && strcmp(agent, rows[i].agent) != 0) ||
		    registry_open(&rows[i], SQL_READONLY, &f, &ignored))
			continue;
		fn(v, &f, rows[i].agent);
		agent_file_close(&f);
		used++;
	}
}

static void offer_sessions_of(struct values *v, struct agent_file *f,
			      const char *agent)
{
	struct session_filter filter = {
		.prefix = *v->q->start ? v->q->start : NULL, .count = OFFERED};
	struct session_item *items;
	struct err ignored;
	int n = session_list(f, &filter, &items, &v->arena, &ignored);

	for (int i = 0; i < n; i++)
		offer(v, items[i].key, agent);
}

static void offer_sessions(struct values *v)
{
	each_file(v, v->q->agent, offer_sessions_of);
}

static void offer_namespaces_of(struct values *v, struct agent_file *f,
				const char *agent)
{
	struct vfs_ns_row *rows;
	struct err ignored;
	int n = sql_collect(f->db, Q_VFS_NS_LIST, NULL, OFFERED, &rows,
			    &v->arena, &ignored);

	for (int i = 0; i < n; i++)
		offer(v, arena_printf(&v->arena, "%s:%s", agent, rows[i].name),
		      "namespace");
}

static void offer_namespaces(struct values *v)
{
	each_file(v, NULL, offer_namespaces_of);
}

/* Snapshots of the namespace that is the first argument, AGENT[:NAME]. */
static void offer_snapshots_of(struct values *v, struct agent_file *f,
			       const char *agent)
{
	const char *colon = v->q->first ? strchr(v->q->first, ':') : NULL;
	const char *name = colon && colon[1] ? colon + 1 : "main";
	struct vfs_ns_row *rows;
	struct vfs_snap_row *snaps;
	struct err ignored;
	int n = sql_collect(f->db, Q_VFS_NS_LIST, NULL, OFFERED, &rows,
			    &v->arena, &ignored);

	(void)agent;
	for (int i = 0; i < n; i++) {
		struct vfs_key in = {.id = rows[i].id};
		int found = strcmp(rows[i].name, name)
				    ? 0
				    : sql_collect(f->db, Q_VFS_SNAP_LIST, &in,
						  OFFERED, &snaps, &v->arena,
						  &ignored);

		for (int k = 0; k < found; k++)
			if (!snaps[k].hidden)
				offer(v, snaps[k].name, "snapshot");
	}
}

static void offer_snapshots(struct values *v)
{
	const char *first = v->q->first;

	if (first && strcspn(first, ":") > 0)
		each_file(v, arena_textn(&v->arena, first, strcspn(first, ":")),
			  offer_snapshots_of);
}

static void offer_approvals(struct values *v)
{
	offer_ids(v, ID_APPROVAL, Q_APPROVAL_PREFIX);
}

static void offer_deliveries(struct values *v)
{
	offer_ids(v, ID_DELIVERY, Q_DELIVERY_PREFIX);
}

static void offer_inbound(struct values *v)
{
	offer_ids(v, ID_INBOUND, Q_INBOUND_PREFIX);
}

static const struct {
	const char *placeholder;
	void (*offer)(struct values *v);
} sources[] = {
	{"AGENT", offer_agents},         {"RUN", offer_runs},
	{"SESSION", offer_sessions},     {"CHANNEL", offer_channels},
	{"NAMESPACE", offer_namespaces}, {"SNAPSHOT", offer_snapshots},
	{"APPROVAL", offer_approvals},   {"DELIVERY", offer_deliveries},
	{"MESSAGE", offer_inbound},
};

bool complete_values(const struct complete_request *q, const char *placeholder,
		     size_t n)
{
	struct values v = {.q = q};
	struct home home;
	struct err ignored;
	size_t i = 0;

	while (i < sizeof sources / sizeof sources[0] &&
	       (strlen(sources[i].placeholder) != n ||
		strncmp(sources[i].placeholder, placeholder, n) != 0))
		i++;
	if (i == sizeof sources / sizeof sources[0])
		return false;
	if (home_find(&home, q->home, &ignored) == 0 &&
	    control_open(&v.control, &home, SQL_READONLY, &ignored) == 0) {
		sources[i].offer(&v);
		sql_close(v.control);
	}
	arena_fini(&v.arena);
	return true;
}
