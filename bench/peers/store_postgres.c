/* PostgreSQL with the reference's tables and the same checks in a function, so
 * that an append is one round trip: a server of our own for each measurement,
 * over a unix socket. */
#include "bench/suites/store.h"
#include "lib/base/clock.h"
#include "lib/os/file.h"

#include <stdlib.h>

#ifndef SKEP_BENCH_PQ

static int open_nothing(void **out, const char *dir, const char *session,
			struct err *e)
{
	(void)out, (void)dir, (void)session;
	return err_set(e, ERR_UNSUPPORTED,
		       "built without libpq (apt-get install libpq-dev "
		       "postgresql, then configure and build again)");
}

const struct store_kind store_postgres = {.name = "postgres",
					  .open = open_nothing};
const struct store_kind store_postgres_async = {.name = "postgres",
						.open = open_nothing};

#else

#include <errno.h>
#include <glob.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS 15000

static const char schema[] =
	"CREATE TABLE session_entries (session_key text PRIMARY KEY,"
	"  entry_json text, updated_at bigint);"
	"CREATE TABLE transcript_events (session_id text, seq bigint,"
	"  event_json text NOT NULL, created_at bigint NOT NULL,"
	"  PRIMARY KEY (session_id, seq));"
	"CREATE INDEX ON transcript_events"
	"  (session_id, created_at DESC, seq DESC);"
	"CREATE TABLE transcript_event_identities (session_id text,"
	"  event_id text, seq bigint NOT NULL, event_type text,"
	"  has_parent boolean, parent_id text, message_idempotency_key text,"
	"  created_at bigint, PRIMARY KEY (session_id, event_id),"
	"  FOREIGN KEY (session_id, seq) REFERENCES transcript_events);"
	"CREATE UNIQUE INDEX ON transcript_event_identities"
	"  (session_id, message_idempotency_key)"
	"  WHERE message_idempotency_key IS NOT NULL;"
	"CREATE INDEX ON transcript_event_identities (session_id, seq DESC)"
	"  WHERE has_parent;"
	"CREATE FUNCTION append(s text, k text, j text, t bigint)"
	"  RETURNS bigint LANGUAGE plpgsql AS $$"
	"  DECLARE n bigint; tail text;"
	"  BEGIN"
	"    INSERT INTO session_entries VALUES (s, '{}', t)"
	"      ON CONFLICT DO NOTHING;"
	"    SELECT seq INTO n FROM transcript_event_identities"
	"      WHERE session_id = s AND message_idempotency_key = k;"
	"    IF FOUND THEN RETURN n; END IF;"
	"    SELECT coalesce(max(seq), 0) + 1 INTO n FROM transcript_events"
	"      WHERE session_id = s;"
	"    SELECT event_id INTO tail FROM transcript_event_identities"
	"      WHERE session_id = s AND has_parent ORDER BY seq DESC LIMIT 1;"
	"    INSERT INTO transcript_events VALUES (s, n, j, t);"
	"    INSERT INTO transcript_event_identities VALUES (s,"
	"      gen_random_uuid()::text, n, 'message', true, tail, k, t);"
	"    RETURN n;"
	"  END $$";

struct postgres {
	pid_t server;
	int port; /* identifies its socket in /tmp */
	PGconn *db;
	char dir[4096];
	char session[64];
};

static void close_postgres(void *store)
{
	struct postgres *s = store;

	PQfinish(s->db);
	if (s->server > 0) {
		kill(s->server, SIGQUIT); /* immediate: nothing is kept */
		while (waitpid(s->server, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free(s);
}

/* The newest installed version; Debian does not put them in PATH. */
static int find_programs(char *out, size_t cap, struct err *e)
{
	glob_t g;
	int rc = glob("/usr/lib/postgresql/*/bin/initdb", 0, NULL, &g);

	if (rc == 0)
		snprintf(out, cap, "%.*s",
			 (int)(strlen(g.gl_pathv[g.gl_pathc - 1]) -
			       strlen("/initdb")),
			 g.gl_pathv[g.gl_pathc - 1]);
	globfree(&g);
	return rc == 0 ? 0
		       : err_set(e, ERR_UNSUPPORTED,
				 "PostgreSQL is not here (apt-get install "
				 "postgresql)");
}

/* PostgreSQL refuses to run as root: then it runs as the user of its
 * package. */
static const struct passwd *other_user(void)
{
	const struct passwd *pw = getpwnam("postgres");

	return geteuid() != 0 ? NULL : pw ? pw : getpwnam("nobody");
}

static pid_t start_program(const char *const *argv, const struct passwd *as)
{
	char *copy[16] = {0};
	pid_t pid = fork();

	if (pid != 0)
		return pid;
	for (size_t i = 0; argv[i] && i < 15; i++)
		copy[i] = strdup(argv[i]);
	if (as && (setgid(as->pw_gid) || setuid(as->pw_uid)))
		_exit(126);
	(void)prctl(PR_SET_PDEATHSIG, SIGQUIT);
	if (!freopen("/dev/null", "w", stdout) ||
	    !freopen("/dev/null", "w", stderr) || chdir("/"))
		_exit(126);
	(void)execv(copy[0], copy);
	_exit(127);
}

static int make_cluster(struct postgres *s, const char *bin,
			const struct passwd *as, struct err *e)
{
	char program[4200];
	const char *argv[] = {program,       "-D", s->dir,     "-A", "trust",
			      "--no-locale", "-U", "postgres", "-N", NULL};
	int status = -1;
	pid_t pid;

	snprintf(program, sizeof program, "%s/initdb", bin);
	if (mkdir(s->dir, 0700) ||
	    (as && chown(s->dir, as->pw_uid, as->pw_gid)))
		return err_errno_set(e, "%s", s->dir);
	pid = start_program(argv, as);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status == 0 ? 0
			   : err_set(e, ERR_UNSUPPORTED,
				     "initdb could not make %s (may the user "
				     "postgres enter the directory of --dir?)",
				     s->dir);
}

static int connect_to(struct postgres *s, struct err *e)
{
	int64_t end = clock_mono_ns() + INT64_C(1000000) * START_MS;
	char how[128];

	snprintf(how, sizeof how,
		 "host=/tmp port=%d user=postgres dbname=postgres", s->port);
	do {
		PQfinish(s->db);
		s->db = PQconnectdb(how);
		if (PQstatus(s->db) == CONNECTION_OK)
			return 0;
		if (waitpid(s->server, NULL, WNOHANG) == s->server) {
			s->server = 0;
			break;
		}
		usleep(20000);
	} while (clock_mono_ns() < end);
	return err_set(e, ERR_UNSUPPORTED, "PostgreSQL does not answer: %s",
		       PQerrorMessage(s->db));
}

static int did(struct postgres *s, PGresult *res, struct err *e)
{
	ExecStatusType st = PQresultStatus(res);
	bool good = st == PGRES_COMMAND_OK || st == PGRES_TUPLES_OK;

	if (!good)
		err_set(e, ERR_IO, "PostgreSQL: %s", PQerrorMessage(s->db));
	PQclear(res);
	return good ? 0 : -1;
}

static int prepare_cluster(struct postgres *s, const char *settings,
			   struct err *e)
{
	return did(s, PQexec(s->db, settings), e) ||
			       did(s, PQexec(s->db, schema), e) ||
			       did(s,
				   PQprepare(s->db, "append",
					     "SELECT append($1, $2, $3, $4)", 4,
					     NULL),
				   e)
		       ? -1
		       : 0;
}

static int launch(struct postgres *s, const char *settings, struct err *e)
{
	const struct passwd *as = other_user();
	char bin[4096], program[4200], port[16];
	const char *argv[] = {program, "-D",   s->dir,
			      "-k",    "/tmp", "-p",
			      port,    "-c",   "listen_addresses=",
			      NULL};

	snprintf(port, sizeof port, "%d", s->port);
	if (find_programs(bin, sizeof bin, e) || make_cluster(s, bin, as, e))
		return -1;
	snprintf(program, sizeof program, "%s/postgres", bin);
	s->server = start_program(argv, as);
	return connect_to(s, e) || prepare_cluster(s, settings, e) ? -1 : 0;
}

/* That user must be able to enter the directory, but not to list it. */
static int let_in(const char *dir, struct err *e)
{
	char parent[4096];

	snprintf(parent, sizeof parent, "%s/..", dir);
	return chmod(dir, 0711) || chmod(parent, 0711)
		       ? err_errno_set(e, "%s", dir)
		       : 0;
}

static int open_with(void **out, const char *dir, const char *session,
		     const char *settings, struct err *e)
{
	struct postgres *s = calloc(1, sizeof *s);
	char *whole = realpath(dir, NULL);

	if (!s || !whole)
		abort();
	snprintf(s->dir, sizeof s->dir, "%s/cluster", whole);
	snprintf(s->session, sizeof s->session, "%s", session);
	s->port = 20000 + (int)(getpid() % 40000);
	free(whole);
	if (let_in(dir, e) || launch(s, settings, e)) {
		close_postgres(s);
		return -1;
	}
	*out = s;
	return 0;
}

static int open_sync(void **out, const char *dir, const char *session,
		     struct err *e)
{
	return open_with(out, dir, session, "SET synchronous_commit = on", e);
}

static int open_async(void **out, const char *dir, const char *session,
		      struct err *e)
{
	return open_with(out, dir, session, "SET synchronous_commit = off", e);
}

static int append_postgres(void *store, const struct store_event *ev, size_t n,
			   struct err *e)
{
	struct postgres *s = store;
	char now[24];

	snprintf(now, sizeof now, "%lld", (long long)clock_now());
	if (n > 1 && did(s, PQexec(s->db, "BEGIN"), e))
		return -1;
	for (size_t i = 0; i < n; i++) {
		const char *values[] = {s->session, ev[i].key, ev[i].json, now};

		if (did(s,
			PQexecPrepared(s->db, "append", 4, values, NULL, NULL,
				       0),
			e))
			return -1;
	}
	return n > 1 ? did(s, PQexec(s->db, "COMMIT"), e) : 0;
}

static int read_postgres(void *store,
			 int (*each)(void *arg, const char *json, size_t n),
			 void *arg, struct err *e)
{
	struct postgres *s = store;
	const char *values[] = {s->session};
	PGresult *res;
	int stop = 0, rc = 0;

	if (!PQsendQueryParams(s->db,
			       "SELECT event_json FROM transcript_events "
			       "WHERE session_id = $1 ORDER BY seq",
			       1, NULL, values, NULL, NULL, 0) ||
	    !PQsetSingleRowMode(s->db))
		return err_set(e, ERR_IO, "PostgreSQL: %s",
			       PQerrorMessage(s->db));
	while ((res = PQgetResult(s->db))) {
		if (PQresultStatus(res) != PGRES_SINGLE_TUPLE) {
			rc = did(s, res, e) ? -1 : rc;
			continue;
		}
		stop = stop || each(arg, PQgetvalue(res, 0, 0),
				    (size_t)PQgetlength(res, 0, 0));
		PQclear(res);
	}
	return rc;
}

const struct store_kind store_postgres = {
	.name = "postgres",
	.what = "PostgreSQL, the same checks in a function",
	.server = true,
	.open = open_sync,
	.append = append_postgres,
	.read = read_postgres,
	.close = close_postgres,
};

const struct store_kind store_postgres_async = {
	.name = "postgres",
	.what = "PostgreSQL, synchronous_commit=off",
	.server = true,
	.open = open_async,
	.append = append_postgres,
	.read = read_postgres,
	.close = close_postgres,
};

#endif
