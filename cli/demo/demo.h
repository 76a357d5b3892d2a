#ifndef CLI_DEMO_DEMO_H
#define CLI_DEMO_DEMO_H

#include "cli/cli.h"
#include "lib/base/id.h"
#include "lib/os/process.h"
#include "schema/home.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

/*
 * `skep demo`: a temporary home, a supervisor, eight agents, concurrent runs.
 * Some runs are cancelled, a worker and the supervisor are killed, and at the
 * end the results are checked against the files.
 */
#define DEMO_AGENTS 8
#define DEMO_RUNS   512 /* at most */

enum demo_fate { FATE_FINISH, FATE_CANCEL, FATE_KILL };

struct demo_run {
	char id[ID_SIZE];
	int agent;
	char session[32];
	enum demo_fate fate;
	char state[16];
	char reason[32];
	char detail[160];
	int64_t attempt;
	int64_t last_seq;
	struct process_identity worker; /* last one seen; pid 0: none yet */
};

struct demo_follower { /* a reader of one run's stream during the whole demo */
	pthread_t thread;
	char socket[PATH_MAX];
	char run[ID_SIZE];
	int64_t last_seq;
	int64_t events;
	int64_t doubles;
	int64_t gaps;
	int failed;
	struct err err;
	_Atomic bool quit;
};

struct demo {
	struct cli *cli;
	struct home home;
	bool keep;
	int64_t began_ns;

	pid_t skepd;
	struct http_client *http;

	struct demo_run runs[DEMO_RUNS];
	int nruns;
	int live; /* lines that the view occupies on the terminal */

	struct demo_follower follower;

	/* printed at the end */
	int64_t ready_ms, accepted_ms, cancel_ms, recover_ms, back_ms;
	int64_t adopted;
	int64_t supervisor_kb;
	int killed_run; /* index, -1: none was found */
};

struct demo_agent {
	const char *name;
	const char *driver;
	const char *workspace; /* if FUSE is available; see demo_workspace */
	const char *config;    /* of its definition; NULL: none */
	const char *prompt;    /* of its runs */
	int notes;             /* events of type note of a run */
};

extern const struct demo_agent demo_agents[DEMO_AGENTS];

/* The effective mode of an agent: a mount needs /dev/fuse. */
const char *demo_workspace(int agent);

/* demo_host.c: the supervisor process, and requests to it. */
int demo_start(struct demo *d, struct err *e);
int demo_kill_supervisor(struct demo *d, struct err *e);
int demo_stop(struct demo *d, struct err *e);
int demo_call(struct demo *d, const char *method, const char *path,
	      const char *body, struct buf *answer, struct err *e);
int demo_make_agents(struct demo *d, struct err *e);
int demo_submit(struct demo *d, struct err *e);
int demo_poll(struct demo *d, struct err *e); /* reads the runs' states */
int64_t demo_ms(const struct demo *d);        /* since the start */
bool demo_is_over(const struct demo_run *r);
int demo_over(const struct demo *d); /* how many runs are */

/* demo_view.c: the view for the user. */
void demo_print(struct demo *d, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
void demo_draw(struct demo *d);

/* demo_follow.c */
int demo_follow_begin(struct demo *d, const struct demo_run *r, struct err *e);
void demo_follow_end(struct demo *d);

/* demo_verify.c: reads the files and prints the result; -1 if an event or
 * process is missing, duplicated or left over. */
int demo_verify(struct demo *d, struct err *e);

#endif
