#ifndef OPS_MIGRATE_IMPORTER_H
#define OPS_MIGRATE_IMPORTER_H

#include "lib/base/buf.h"
#include "ops/migrate/migrate.h"
#include "ops/migrate/source.h"
#include "schema/agent/agent_file.h"

/*
 * For importers (import_*.c): the file at hand, and what they make of it. An
 * importer returns 0, also when a piece could not be taken, which is told as a
 * warning; -1 is for what no source is to blame for, and ends the migration.
 */
struct migrate_file {
	const char *path;
	struct foreign_mark mark;
	bool claimed;        /* an importer knows it */
	bool failed;         /* something in it was not taken: it stays */
	const char *blocked; /* why nothing of it can be taken now, or NULL */
	const char *with[4]; /* files that are read with it, and go with it */
	int nwith;
};

/* A file that belongs to the one at hand: a change of it is one of that too. */
void import_with(struct migrate *m, const char *path);

#define FOREIGN_MAX (512u << 20) /* bytes of a file that is read as a whole */

/* --- sessions ------------------------------------------------------------------ */

struct session_piece {
	const char *importer;
	const char *part; /* within the file, or NULL */
	const char *agent, *key, *title, *model;
	int64_t created_at;
	bool archived;
	const cJSON *row; /* what else is known of it; kept in its meta */
};

struct foreign_event {
	const char *id; /* theirs, or NULL */
	const char
		*parent;  /* an id of theirs; NULL: the one before; "": none */
	const char *type; /* ours */
	int64_t at;
	const cJSON *body;
	struct foreign_usage {
		const char *model;
		int64_t input, output, cached, cost_nano;
	} usage; /* all zero: not known */
};

/* 1: give its events, then end it; 0: it was done before. */
int migrate_session(struct migrate *m, const struct session_piece *p,
		    struct err *e);
void migrate_event(struct migrate *m, const struct foreign_event *ev);
/* Whether an event can have it as its id; else it has none. */
bool migrate_id_fits(const char *id);
/* broken: why its events could not all be read, or NULL. */
int migrate_session_end(struct migrate *m, const char *broken, struct err *e);

/* Body of a message: role, content, and what else it had. Caller frees. */
cJSON *migrate_message(const cJSON *row, const char *role,
		       const cJSON *content);
/* A row or line with role, content, id and time under their usual names. Its
 * parent is as for an event. */
void migrate_message_row(struct migrate *m, const cJSON *row,
			 const cJSON *content, const char *parent);

/* --- other pieces --------------------------------------------------------------- */

/*
 * One piece that is taken by a function: called with the agent's file open
 * (agent NULL: without one), it says how many records there were and how many
 * came in now. In a plan it is called with neither, to count.
 */
struct item_options {
	const char *importer, *part, *target;
	const char *agent;
	int (*take)(struct migrate *m, void *arg, struct agent_file *f,
		    struct migrate_piece *p, struct err *e);
	void *arg;
};

int migrate_piece(struct migrate *m, const struct item_options *ask,
		  struct err *e);

/* A file of AgentFS becomes a workspace. */
int migrate_space(struct migrate *m, const char *name, int64_t entries,
		  struct err *e);

/* A definition of an agent. */
int migrate_agent(struct migrate *m, const char *importer, const char *part,
		  const char *name, const cJSON *def, struct err *e);

/* The file at hand, as it is, to credentials/NAME. */
int migrate_credential(struct migrate *m, const char *name, struct err *e);

/* The file at hand, as it is, becomes an artifact of the agent. */
int migrate_artifact(struct migrate *m, const char *importer, const char *agent,
		     const char *kind, const char *name, struct err *e);

/* A part of the file (NULL: all of it) that nobody takes. */
void migrate_unknown(struct migrate *m, const char *part, int64_t records,
		     const char *why);

/* The name of an agent, made fit; of none, that for pieces that name none. */
const char *migrate_agent_name(struct migrate *m, const char *name);

/* --- paths ----------------------------------------------------------------------- */

/* The file at hand as seen from the source's root: "/NAME", "/DIR/NAME". Where a
 * root happens to lie says nothing about what is in it. */
const char *path_below(struct migrate *m);

bool path_ends(const char *path, const char *end);
const char *path_stem(struct arena *a, const char *path); /* no directory, no
							   * ending */
/* The n-th directory above the file, by name; "" if there is none. */
const char *path_above(struct arena *a, const char *path, int n);
/* The same, as a path: 0 is where the file is. */
const char *path_dir(struct arena *a, const char *path, int n);

/* --- importers: 0 or -1; file->claimed says whether it was theirs ----------------- */

int import_jsonl(struct migrate *m, struct err *e);
int import_json(struct migrate *m, struct err *e);
int import_database(struct migrate *m, struct err *e);
int import_other(struct migrate *m, struct err *e);

/* Rows of a table of another database that the file at hand belongs to; read
 * once. NULL: there is none. One that is there and cannot be read blocks the
 * file: whose it is would be a guess. */
const cJSON *import_aside(struct migrate *m, const char *path,
			  const char *table);

/* Tables with something in them that are not in the list are told. */
void import_list_rest(struct migrate *m, struct sql *db,
		      const char *const *taken);

/* Databases, told apart by their tables: 1 if it is theirs. */
int import_openclaw_agent(struct migrate *m, struct sql *db, struct err *e);
int import_openclaw_state(struct migrate *m, struct sql *db, struct err *e);
int import_hiro_data(struct migrate *m, struct sql *db, struct err *e);
int import_hiro_workspace(struct migrate *m, struct sql *db, struct err *e);
int import_grida(struct migrate *m, struct sql *db, struct err *e);
int import_lion(struct migrate *m, struct sql *db, struct err *e);
int import_langgraph(struct migrate *m, struct sql *db, struct err *e);
/* Checkpoints, each thread to its agent; agent_of may be NULL, or give NULL. */
int import_threads(struct migrate *m, struct sql *db,
		   const char *(*agent_of)(struct migrate *m, const char *id),
		   struct err *e);
int import_agentfs(struct migrate *m, struct sql *db, struct err *e);

/* JSON files, told apart by where they are: 1 if it is theirs. */
int import_openclaw_config(struct migrate *m, struct err *e);
int import_openclaw_index(struct migrate *m, struct err *e);
int import_hiro_character(struct migrate *m, struct err *e);
int import_lion_branch(struct migrate *m, struct err *e);
int import_lion_team(struct migrate *m, struct err *e);

/* Lines. */
void import_openclaw_line(struct migrate *m, const cJSON *v, int64_t at);
/* Key, agent and title of a session from what lies beside its lines; the rest
 * of what is known of it, which the caller frees. */
cJSON *import_openclaw_about(struct migrate *m, struct session_piece *p);
cJSON *import_hiro_about(struct migrate *m, struct session_piece *p);

#endif
