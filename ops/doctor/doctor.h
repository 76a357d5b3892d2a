#ifndef OPS_DOCTOR_DOCTOR_H
#define OPS_DOCTOR_DOCTOR_H

#include "lib/base/shape.h"
#include "lib/db/sql.h"
#include "ops/progress.h"
#include "schema/home.h"

/*
 * Checks a home. Every check only reads, and reports its findings according to
 * the table doctor.def: what it is, why it matters, what can be done. A damaged
 * home is never an error of the doctor itself.
 */
enum finding_code {
#define FINDING(name, severity, fix, why, how) FINDING_##name,
#include "ops/doctor/doctor.def"
#undef FINDING
	FINDING_COUNT
};

enum severity { SEVERITY_info, SEVERITY_warning, SEVERITY_error };

enum fix {
	FIX_NONE,
	FIX_MODE,
	FIX_REMOVE,
	FIX_CGROUP,
	FIX_OWNER,
	FIX_LEASE,
	FIX_UNMOUNT,
	FIX_KILL,
	FIX_FORWARD,
	FIX_REGISTER,
	FIX_CHECKPOINT,
	FIX_IMPORT
};

#define FINDING_SHAPE(F, S)                                \
	F(S, text, severity)                               \
	F(S, text, finding) /* its name in doctor.def */   \
	F(S, text, subject) /* path, process, … */       \
	F(S, text, what)    /* NULL: the name is enough */ \
	F(S, text, why)                                    \
	F(S, text, fix)                                    \
	F(S, bool, fixable)                                \
	F(S, text, fixed) /* "yes", or why not; NULL: not tried */
SHAPE_DECLARE(finding, FINDING_SHAPE);

struct doctor {
	const struct home *home;
	struct ops_progress
		progress; /* thousandths of databases done, and the total */
	bool quick;       /* no integrity checks */
	bool alone;       /* do not look for other programs' state */
	/* Called for each finding; texts are in the arena. */
	void (*found)(void *arg, enum finding_code code, struct finding *f);
	void *arg;
	/* For --fix: imports the state at the path (ops/import/import.h). */
	int (*import)(void *arg, const char *path, struct err *e);
	struct arena arena;
	struct sql *control; /* read-only; NULL: unreadable */
	bool supervised;     /* a supervisor is running */
	struct wal_readers *readers;
	int64_t done, all; /* databases */
};

void doctor_examine(struct doctor *d);
void doctor_fini(struct doctor *d);

enum severity finding_severity(enum finding_code code);
enum fix finding_fix(enum finding_code code);

/* Does what doctor.def says for the finding, and nothing else. ERR_BUSY if it
 * would have to write to the control plane while a supervisor is running. */
int doctor_fix(struct doctor *d, enum finding_code code,
	       const struct finding *f, struct err *e);

/* For the checks (doctor_*.c): reports one finding. */
void doctor_report(struct doctor *d, enum finding_code code,
		   const char *subject, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

void doctor_files(struct doctor *d);     /* doctor_files.c */
void doctor_databases(struct doctor *d); /* doctor_state.c */
void doctor_rows(struct doctor *d);      /* doctor_rows.c */
void doctor_budgets(struct doctor *d);   /* doctor_budgets.c */
void doctor_host(struct doctor *d);      /* doctor_host.c */
void doctor_lost(struct doctor *d);      /* doctor_lost.c */
void doctor_agents(struct doctor *d);    /* doctor_agents.c */
void doctor_cgroups(struct doctor *d);   /* doctor_cgroups.c */
void doctor_imports(struct doctor *d);   /* doctor_imports.c */

#endif
