/* Pieces become rows of ours, and are noted. */
#include "ops/migrate_take.h"

#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "schema/agents.h"
#include "schema/control.h"
#include "schema/exchange.h"
#include "schema/registry.h"
#include "schema/session.h"
#include "vfs/port.h"
#include "vfs/vfs.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

SHAPE_DEFINE(migrate_piece, MIGRATE_PIECE);

#define LINES_MAX (512u << 20)

/* The session that is being read. */
struct migrate_session {
	struct session_piece p;
	struct migrate_piece piece;
	struct buf lines;
	size_t at; /* of the next line to be imported */
	const char **ids;
	int64_t n, cap;
	struct arena arena;
};

const char *migrate_agent_name(struct migrate *m, const char *name)
{
	char *fit;

	if (!name || !*name)
		name = m->agent ? m->agent : "imported";
	fit = arena_textn(&m->arena, name,
			  strlen(name) < 64 ? strlen(name) : 64);
	for (char *c = fit; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("._-", *c))
			*c = '-';
	if (!isalnum((unsigned char)*fit))
		*fit = 'x';
	return fit;
}

/* --- the ledger ---------------------------------------------------------------- */

static struct migrate_piece piece_of(struct migrate *m, const char *importer,
				     const char *part, const char *target)
{
	return (struct migrate_piece){
		.importer = importer,
		.path = part ? arena_printf(&m->arena, "%s#%s", m->file->path,
					    part)
			     : m->file->path,
		.target = target,
		.bytes = m->file->mark.bytes,
		.sha256 = m->file->mark.sha256,
	};
}

static void tell(struct migrate *m, const struct migrate_piece *p)
{
	m->sum.pieces++;
	m->sum.records += p->records;
	m->sum.imported += !strcmp(p->state, "imported");
	m->sum.done += !strcmp(p->state, "done");
	m->sum.unknown += !strcmp(p->state, "unknown");
	m->sum.failed += p->warning && strcmp(p->state, "unknown") != 0;
	m->tell(m->arg, p);
}

static int was_done(struct migrate *m, const struct migrate_piece *p,
		    struct err *e)
{
	struct migration_source_get_in in = {p->path, p->target};
	struct migration_source_row row;
	struct arena a = {0};
	int found = m->control ? sql_get(m->control, Q_MIGRATION_SOURCE_GET,
					 &in, &row, &a, e)
			       : 0;

	if (found > 0)
		found = !strcmp(row.state, "imported") &&
			row.bytes == p->bytes && !strcmp(row.sha256, p->sha256);
	arena_fini(&a);
	return found;
}

static int note(struct migrate *m, const struct migrate_piece *p, struct err *e)
{
	struct migration_source_row row = {
		.path = p->path,
		.target = p->target,
		.mtime_ns = m->file->mark.mtime_ns,
		.bytes = p->bytes,
		.sha256 = p->sha256,
		.run = m->run,
		.importer = p->importer,
		.state = p->state,
		.records = p->records,
		.warning = p->warning,
		.at = clock_now(),
	};

	if (!m->run)
		return 0;
	if (control_enter_alone(m->control, e))
		return -1;
	return sql_leave(
		m->control,
		sql_exec(m->control, Q_MIGRATION_SOURCE_PUT, &row, e) < 0 ? -1
									  : 0,
		e);
}

int migrate_note_removed(struct migrate *m, const char *where, struct err *e)
{
	struct migration_source_removed_in in = {m->file->path, where};

	if (control_enter_alone(m->control, e))
		return -1;
	return sql_leave(
		m->control,
		sql_exec(m->control, Q_MIGRATION_SOURCE_REMOVED, &in, e) < 0
			? -1
			: 0,
		e);
}

void migrate_unknown(struct migrate *m, const char *part, int64_t records,
		     const char *why)
{
	struct migrate_piece p = piece_of(m, "unknown", part, "-");
	struct err ignored;

	p.state = "unknown";
	p.records = records;
	p.warning = arena_text(&m->arena, why);
	m->file->failed = true; /* what is not taken is not removed */
	(void)note(m, &p, &ignored);
	tell(m, &p);
}

/* --- agents --------------------------------------------------------------------- */

static int make_agent(struct migrate *m, const char *name, struct arena *a,
		      struct err *e)
{
	struct agent_row row = {.name = name,
				.driver = "chat",
				.workspace = "disk",
				.is_enabled = true,
				.spec = "{}",
				.source = "command"};
	struct agent_row known;
	struct err none;
	int rc;

	if (agents_get(m->control, name, &known, a, &none) == 0)
		return 0;
	if (control_enter_alone(m->control, e))
		return -1;
	rc = agents_put(m->control, &row, a, e) < 0 ? -1 : 0;
	return sql_leave(m->control, rc, e);
}

static int open_agent(struct migrate *m, const char *name, struct agent_file *f,
		      struct err *e)
{
	struct agent_database_row row;
	struct arena a = {0};
	int rc = make_agent(m, name, &a, e) ||
		 registry_make(m->control, m->home, name, &row, &a, e) ||
		 registry_open(&row, 0, f, e);

	arena_fini(&a);
	return rc ? -1 : 0;
}

/* --- sessions ---------------------------------------------------------------------- */

static void add_text(struct buf *b, const char *name, const char *text)
{
	if (!text)
		return;
	buf_addf(b, ",\"%s\":", name);
	json_add_string(b, text, strlen(text));
}

static void add_head(struct migrate *m, struct migrate_session *s)
{
	struct buf *b = &s->lines;

	buf_adds(b,
		 "{\"record\":\"session\",\"version\":1,\"kind\":\"import\"");
	add_text(b, "key", s->p.key);
	add_text(b, "title", s->p.title);
	add_text(b, "model", s->p.model);
	add_text(b, "source", s->p.importer);
	if (s->p.created_at)
		buf_addf(b, ",\"created_at\":%" PRId64, s->p.created_at);
	buf_adds(b, ",\"meta\":{\"import\":{\"version\":1");
	add_text(b, "path", s->piece.path);
	add_text(b, "sha256", m->file->mark.sha256);
	buf_adds(b, "}}}\n");
}

static void session_free(struct migrate *m)
{
	if (!m->session)
		return;
	buf_fini(&m->session->lines);
	arena_fini(&m->session->arena);
	free(m->session->ids);
	free(m->session);
	m->session = NULL;
}

int migrate_session(struct migrate *m, const struct session_piece *p,
		    struct err *e)
{
	struct migrate_session *s = calloc(1, sizeof *s);
	int done;

	if (!s)
		abort();
	m->session = s;
	s->p = *p;
	s->p.agent = migrate_agent_name(m, p->agent);
	buf_init(&s->lines, LINES_MAX);
	s->piece = piece_of(
		m, p->importer, p->part,
		arena_printf(&m->arena, "%s/%s", s->p.agent, s->p.key));
	done = was_done(m, &s->piece, e);
	if (done == 0) {
		add_head(m, s);
		return 1;
	}
	s->piece.state = "done";
	if (done > 0)
		tell(m, &s->piece);
	session_free(m);
	return done < 0 ? -1 : 0;
}

/* Their parent's number; parents are near, so it is looked for from the end. */
static int64_t number_of(const struct migrate_session *s, const char *id)
{
	for (int64_t i = s->n; id && i > 0; i--)
		if (s->ids[i - 1] && !strcmp(s->ids[i - 1], id))
			return i;
	return -1;
}

void migrate_event(struct migrate *m, const struct foreign_event *ev)
{
	struct migrate_session *s = m->session;
	int64_t parent = number_of(s, ev->parent);
	struct buf *b = &s->lines;

	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 64;
		s->ids = realloc(s->ids, (size_t)s->cap * sizeof *s->ids);
		if (!s->ids)
			abort();
	}
	s->ids[s->n++] = arena_text(&s->arena, ev->id);
	buf_addf(b, "{\"record\":\"event\",\"seq\":%" PRId64, s->n);
	add_text(b, "type", ev->type);
	add_text(b, "id", ev->id);
	if (parent > 0)
		buf_addf(b, ",\"parent\":%" PRId64, parent);
	if (ev->at > 0)
		buf_addf(b, ",\"at\":%" PRId64, ev->at);
	buf_adds(b, ",\"body\":");
	json_add(b, ev->body);
	buf_adds(b, "}\n");
}

static int next_line(const char **text, size_t *n, void *ctx, struct err *e)
{
	struct migrate_session *s = ctx;
	const char *from = s->lines.p + s->at;

	(void)e;
	if (s->at >= s->lines.n)
		return 0;
	*text = from;
	*n = strcspn(from, "\n");
	s->at += *n + 1;
	return 1;
}

/* Committed by a run of ours that was killed before it could note it. */
static bool is_ours(struct agent_file *f, const struct migrate_session *s,
		    const char *sha256)
{
	struct session_row row;
	struct arena a = {0};
	struct err ignored;
	bool ours = session_get(f, s->p.key, &row, &a, &ignored) > 0 &&
		    row.meta && strstr(row.meta, sha256);

	arena_fini(&a);
	return ours;
}

static int take(struct migrate *m, struct migrate_session *s, struct err *e)
{
	struct import_result r;
	struct agent_file f;
	int rc;

	if (buf_ok(&s->lines, s->piece.path, e) ||
	    open_agent(m, s->p.agent, &f, e))
		return -1;
	rc = exchange_import(&f, s->p.key, next_line, s, &r, e);
	if (rc && e->code == ERR_CONFLICT &&
	    is_ours(&f, s, m->file->mark.sha256))
		rc = 0;
	agent_file_close(&f);
	return rc ? -1 : fault_point(FAULT_migration_piece, e);
}

int migrate_session_end(struct migrate *m, const char *broken, struct err *e)
{
	struct migrate_session *s = m->session;
	struct err why;
	int rc;

	s->piece.records = s->n;
	s->piece.state = m->run ? "imported" : "planned";
	s->piece.warning = arena_text(&m->arena, broken);
	if (m->run && take(m, s, &why)) {
		s->piece.state = "failed";
		s->piece.warning = arena_text(&m->arena, why.text);
	}
	m->file->failed = m->file->failed || s->piece.warning;
	rc = note(m, &s->piece, e);
	if (!rc)
		tell(m, &s->piece);
	session_free(m);
	return rc;
}

/* --- workspaces -------------------------------------------------------------------- */

static int fill_space(struct migrate *m, const char *agent, const char *name,
		      int64_t *records, struct err *e)
{
	struct vfs_port port = {.path = ""};
	struct agent_file f;
	struct err known;
	struct vfs *v = NULL;
	int rc;

	if (open_agent(m, agent, &f, e))
		return -1;
	/* there already: an import goes over what is there, and doubles nothing */
	(void)vfs_create(f.db, name, NULL, &known);
	rc = vfs_open(&v, f.db, name, "migrate", e) ||
	     vfs_import_agentfs(v, workdir_path(&m->work, "foreign.sqlite"),
				&port, e);
	vfs_close(v);
	agent_file_close(&f);
	*records = port.nodes;
	return rc ? -1 : fault_point(FAULT_migration_piece, e);
}

int migrate_space(struct migrate *m, const char *name, struct err *e)
{
	const char *agent = migrate_agent_name(m, NULL);
	const char *base = strrchr(m->file->path, '/') + 1;
	struct migrate_piece p;
	struct err why;
	int done, rc;

	if (!name)
		name = migrate_agent_name(
			m, arena_textn(&m->arena, base, strcspn(base, ".")));
	p = piece_of(m, "agentfs", NULL,
		     arena_printf(&m->arena, "%s:%s", agent, name));
	done = was_done(m, &p, e);
	if (done < 0)
		return -1;
	p.state = done ? "done" : m->run ? "imported" : "planned";
	if (!done && m->run && fill_space(m, agent, name, &p.records, &why)) {
		p.state = "failed";
		p.warning = arena_text(&m->arena, why.text);
		m->file->failed = true;
	}
	rc = done ? 0 : note(m, &p, e);
	if (!rc)
		tell(m, &p);
	return rc;
}
