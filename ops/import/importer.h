#ifndef OPS_IMPORT_IMPORTER_H
#define OPS_IMPORT_IMPORTER_H

#include "lib/base/buf.h"
#include "ops/import/import.h"
#include "ops/import/source.h"
#include "schema/agent/agent_file.h"

/*
 * For importers (import_*.c): the current file, and the functions that import
 * from it. An importer returns 0, even if an item could not be imported, which
 * is reported as a warning; -1 is for failures that are not the source's, and
 * ends the import.
 */
struct import_file {
	const char *path;
	struct source_stamp mark;
	bool claimed;        /* an importer recognized it */
	bool failed;         /* not completely imported: it is kept */
	const char *blocked; /* why nothing can be imported now, or NULL */
	const char *with[4]; /* files that are read and removed with it */
	int nwith;
};

/* A file that belongs to the current one: a change of it is a change of that,
 * too. */
void import_add_file(struct import_run *m, const char *path);

#define SOURCE_MAX (512u << 20) /* limit for files that are read at once */

/* --- sessions ------------------------------------------------------------------ */

struct source_session {
	const char *importer;
	const char *part; /* within the file, or NULL */
	const char *agent, *key, *title, *model;
	int64_t created_at;
	bool archived;
	const cJSON *row; /* other data about it; kept in its meta */
};

struct source_event {
	const char *id;     /* theirs, or NULL */
	const char *parent; /* one of their ids; NULL: the previous; "": none */
	const char *type;   /* ours */
	int64_t at;
	const cJSON *body;
	struct source_usage {
		const char *model;
		int64_t input, output, cached, cost_nano;
	} usage; /* all zero: unknown */
};

/* 1: add its events, then end it; 0: already imported. */
int import_session(struct import_run *m, const struct source_session *p,
		   struct err *e);
void import_event(struct import_run *m, const struct source_event *ev);
/* Whether it can be the id of an event; otherwise the event gets none. */
bool import_id_is_valid(const char *id);
/* broken: why some of its events could not be read, or NULL. */
int import_session_end(struct import_run *m, const char *broken, struct err *e);

/* A row or line with role, content, id and time under their usual names.
 * `parent` as for an event. */
void import_message_row(struct import_run *m, const cJSON *row,
			const cJSON *content, const char *parent);

/* --- other items --------------------------------------------------------------- */

/*
 * One item that a function imports. It is called with the agent's file open
 * (agent NULL: without one), and returns how many records there are and how
 * many were added. In a plan it is called without either, to count.
 */
struct item_options {
	const char *importer, *part, *target;
	const char *agent;
	int (*take)(struct import_run *m, void *arg, struct agent_file *f,
		    struct import_item *p, struct err *e);
	void *arg;
};

int import_once(struct import_run *m, const struct item_options *options,
		struct err *e);

/* Imports an AgentFS file as a workspace. */
int import_workspace(struct import_run *m, const char *name, int64_t entries,
		     struct err *e);

/* A definition of an agent. */
int import_agent(struct import_run *m, const char *importer, const char *part,
		 const char *name, const cJSON *def, struct err *e);

/* Copies the current file unchanged to credentials/NAME. */
int import_credential(struct import_run *m, const char *name, struct err *e);

/* Imports the current file unchanged as an artifact of the agent. */
int import_artifact(struct import_run *m, const char *importer,
		    const char *agent, const char *kind, const char *name,
		    struct err *e);

/* A part of the file (NULL: all of it) that no importer supports. */
void import_unknown(struct import_run *m, const char *part, int64_t records,
		    const char *why);

/* The name of an agent in valid form; without a name, the agent for such
 * items. */
const char *import_agent_name(struct import_run *m, const char *name);

/* --- paths ----------------------------------------------------------------------- */

/* The path of the current file relative to the root of the source: "/NAME",
 * "/DIR/NAME". The location of the root itself is irrelevant. */
const char *path_below(struct import_run *m);

bool path_ends(const char *path, const char *end);
const char *path_stem(struct arena *a, const char *path); /* no directory, no
							   * ending */
/* The name of the n-th directory above the file; "" if there is none. */
const char *path_above(struct arena *a, const char *path, int n);
/* The same as a path: 0 is the file's directory. */
const char *path_dir(struct arena *a, const char *path, int n);

/* --- importers: 0 or -1; file->claimed says whether it was theirs ----------------- */

int import_jsonl(struct import_run *m, struct err *e);
int import_json(struct import_run *m, struct err *e);
int import_database(struct import_run *m, struct err *e);
int import_other(struct import_run *m, struct err *e);

/* Rows of a table of another database that the current file belongs to; read
 * once. NULL: there is none. If it exists and cannot be read, the file is
 * blocked: its owner would be a guess. */
const cJSON *import_sidecar(struct import_run *m, const char *path,
			    const char *table);

/* Reports non-empty tables that are not in the list. */
void import_report_rest(struct import_run *m, struct sql *db,
			const char *const *imported);

/* Databases, recognized by their tables: 1 if it is one of theirs. */
int import_openclaw_agent(struct import_run *m, struct sql *db, struct err *e);
int import_openclaw_state(struct import_run *m, struct sql *db, struct err *e);
int import_hiro_data(struct import_run *m, struct sql *db, struct err *e);
int import_hiro_workspace(struct import_run *m, struct sql *db, struct err *e);
int import_grida(struct import_run *m, struct sql *db, struct err *e);
int import_lion(struct import_run *m, struct sql *db, struct err *e);
int import_langgraph(struct import_run *m, struct sql *db, struct err *e);
/* Checkpoints, each thread to its agent; agent_of may be NULL or return
 * NULL. */
int import_threads(struct import_run *m, struct sql *db,
		   const char *(*agent_of)(struct import_run *m,
					   const char *id),
		   struct err *e);
int import_agentfs(struct import_run *m, struct sql *db, struct err *e);

/* JSON files, recognized by their path: 1 if it is one of theirs. */
int import_openclaw_config(struct import_run *m, struct err *e);
int import_openclaw_index(struct import_run *m, struct err *e);
int import_hiro_character(struct import_run *m, struct err *e);
int import_lion_branch(struct import_run *m, struct err *e);
int import_lion_team(struct import_run *m, struct err *e);

/* Lines. */
void import_openclaw_line(struct import_run *m, const cJSON *v, int64_t at);
/* Key, agent and title of a session, from the files beside its lines; returns
 * the other known data, which the caller frees. */
cJSON *import_openclaw_about(struct import_run *m, struct source_session *p);
cJSON *import_hiro_about(struct import_run *m, struct source_session *p);

#endif
