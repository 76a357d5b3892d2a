/* skep-run: what the commands of a run use for its child runs and its messages.
 * It is in the sandbox of a run that may start child runs, and asks the worker
 * of the run (ipc/run_socket.h). */
#include "ipc/run_socket.h"
#include "lib/base/id.h"
#include "lib/base/text.h"
#include "lib/json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROMPT_MAX (1u << 20)

enum option_id {
	OPT_KEY = 256,
	OPT_SESSION,
	OPT_TIMEOUT,
	OPT_WORKSPACE,
	OPT_FORK,
	OPT_FORK_OF,
	OPT_FRESH,
	OPT_EPHEMERAL,
	OPT_SHARE,
	OPT_ANY,
	OPT_JSON,
	OPT_ACK,
	OPT_REASON,
	OPT_HELP,
};

/* A line of the help for each option; `arg` is the name of its argument. */
static const struct option_help {
	const char *name, *arg, *verbs, *text;
	enum option_id option;
} helps[] = {
#define SKEP_RUN_OPTION(id, name, arg, verbs, text) \
	{name, arg, verbs, text, OPT_##id},
#include "worker/skep_run/options.def"
#undef SKEP_RUN_OPTION
};

#define NOPTIONS (sizeof helps / sizeof *helps)

struct call {
	const char *verb; /* as given */
	char **words;     /* the other arguments */
	int nwords;
	const char *given[NOPTIONS]; /* values of options; "" for flags */
};

static const char *option_of(const struct call *c, enum option_id o)
{
	return c->given[o - OPT_KEY];
}

/* --- the request ------------------------------------------------------ */

static int put_timeout(const struct call *c, struct buf *b, struct err *e)
{
	const char *text = option_of(c, OPT_TIMEOUT);
	double seconds;
	char *end;

	if (!text)
		return 0;
	seconds = strtod(text, &end);
	if (*end || !(seconds >= 0) || seconds > 1e9)
		return err_set(e, ERR_USAGE,
			       "--timeout: '%s' is not a number of seconds",
			       quoted(text).text);
	json_put_int(b, "timeout_ms", (int64_t)(seconds * 1000));
	return 0;
}

static int read_stdin(struct buf *b, struct err *e)
{
	for (;;) {
		char *room = buf_room(b, 65536);
		ssize_t n = room ? read(STDIN_FILENO, room, 65536) : -1;

		if (!room)
			return err_set(e, ERR_TOOBIG, "the text is too long");
		if (n < 0 && errno != EINTR)
			return err_errno_set(e, "standard input");
		if (n == 0)
			return 0;
		buf_grew(b, n > 0 ? (size_t)n : 0);
	}
}

static int put_words(struct buf *b, const char *name, const char *text,
		     struct err *e)
{
	struct buf in = BUF_MAX(PROMPT_MAX + 65536);
	int rc = 0;

	if (strcmp(text, "-") == 0)
		rc = read_stdin(&in, e);
	else
		buf_adds(&in, text);
	json_key(b, name);
	json_add_string(b, in.p, in.n);
	buf_fini(&in);
	return rc;
}

static int put_start(const struct call *c, struct buf *b, struct err *e)
{
	json_put_text(b, "agent", c->words[0]);
	json_put_text(b, "session", option_of(c, OPT_SESSION));
	json_put_text(b, "workspace", option_of(c, OPT_WORKSPACE));
	json_put_text(b, "fork_of", option_of(c, OPT_FORK_OF));
	json_put_bool(b, "fork", option_of(c, OPT_FORK));
	json_put_bool(b, "fresh", option_of(c, OPT_FRESH));
	json_put_bool(b, "ephemeral", option_of(c, OPT_EPHEMERAL));
	json_put_bool(b, "share", option_of(c, OPT_SHARE));
	return put_timeout(c, b, e) || put_words(b, "prompt", c->words[1], e)
		       ? -1
		       : 0;
}

static int put_runs(const struct call *c, struct buf *b, struct err *e)
{
	json_put_array(b, "runs");
	for (int i = 0; i < c->nwords; i++)
		json_add_text(b, c->words[i]);
	json_end_array(b);
	json_put_bool(b, "any", option_of(c, OPT_ANY));
	return put_timeout(c, b, e);
}

static int put_now(const struct call *c, struct buf *b, struct err *e)
{
	json_put_int(b, "timeout_ms", 0);
	return put_runs(c, b, e);
}

static int put_none(const struct call *c, struct buf *b, struct err *e)
{
	(void)c;
	(void)b;
	(void)e;
	return 0;
}

static int put_send(const struct call *c, struct buf *b, struct err *e)
{
	json_put_text(b, "run", c->words[0]);
	return put_words(b, "text", c->words[1], e);
}

static int put_cancel(const struct call *c, struct buf *b, struct err *e)
{
	(void)e;
	json_put_text(b, "run", c->words[0]);
	json_put_text(b, "reason", option_of(c, OPT_REASON));
	return 0;
}

static int put_receive(const struct call *c, struct buf *b, struct err *e)
{
	json_put_text(b, "ack", option_of(c, OPT_ACK));
	if (!option_of(c, OPT_TIMEOUT))
		json_put_int(b, "timeout_ms", 0);
	return put_timeout(c, b, e);
}

/* --- the result ------------------------------------------------------- */

static int print_run(const cJSON *v)
{
	printf("%s\n", json_text(v, "run", ""));
	return 0;
}

static bool succeeded(const cJSON *run)
{
	return strcmp(json_text(run, "state", ""), "succeeded") == 0;
}

/* 0: all runs succeeded; 1: one did not; 75: the time is up. */
static int runs_status(const cJSON *v)
{
	const cJSON *run;
	int status = 0;

	cJSON_ArrayForEach(run, json_member(v, "runs"))
	{
		if (json_bool(run, "ended", false) && !succeeded(run))
			status = 1;
	}
	return json_bool(v, "complete", false) ? status
					       : err_exit_status(ERR_TIMEOUT);
}

static void print_states(const cJSON *v)
{
	const cJSON *run;

	cJSON_ArrayForEach(run, json_member(v, "runs"))
	{
		printf("%s %s %s\n", json_text(run, "run", ""),
		       json_text(run, "state", ""),
		       json_text(run, "agent", ""));
	}
}

static int print_list(const cJSON *v)
{
	print_states(v);
	return 0;
}

static int print_wait(const cJSON *v)
{
	print_states(v);
	return runs_status(v);
}

static int print_answers(const cJSON *v)
{
	const cJSON *run;

	cJSON_ArrayForEach(run, json_member(v, "runs"))
	{
		const char *error = json_text(run, "answer_error", NULL);
		const char *answer = json_text(run, "answer", "");
		size_t n = strlen(answer);

		if (error)
			fprintf(stderr, "skep-run: %s: %s\n",
				json_text(run, "run", ""), error);
		printf("%s%s", answer, n && answer[n - 1] != '\n' ? "\n" : "");
	}
	return runs_status(v);
}

static int print_note(const cJSON *v)
{
	printf("%s: %s\n", json_text(v, "run", ""), json_text(v, "note", ""));
	return 0;
}

static int print_sent(const cJSON *v)
{
	printf("%s\n", json_text(v, "message", ""));
	return 0;
}

static int print_message(const cJSON *v)
{
	const cJSON *m = json_member(v, "message");
	struct buf b = BUF_MAX(RUN_RESULT_MAX);

	if (!cJSON_IsObject(m))
		return err_exit_status(ERR_TIMEOUT);
	json_add(&b, m);
	printf("%s\n", b.p);
	buf_fini(&b);
	return 0;
}

/* --- commands --------------------------------------------------------- */

static const struct verb {
	const char *name, *asks; /* the verb of the request */
	const char *args, *text;
	int least, most; /* number of arguments */
	int (*put)(const struct call *c, struct buf *b, struct err *e);
	int (*print)(const cJSON *v);
} verbs[] = {
#define SKEP_RUN_VERB(name, asks, args, least, most, put, print, text) \
	{#name, #asks, args, text, least, most, put_##put, print_##print},
#include "worker/skep_run/verbs.def"
#undef SKEP_RUN_VERB
};

static void print_help(FILE *to)
{
	fprintf(to, "Usage: skep-run COMMAND [OPTION]...\n\n"
		    "Starts child runs of this run, and passes messages.\n\n");
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		fprintf(to, "  %-8s %-14s %s\n", verbs[i].name, verbs[i].args,
			verbs[i].text);
	fprintf(to, "\n");
	for (size_t i = 0; i < NOPTIONS; i++)
		fprintf(to, "  --%-9s %-8s %s (%s)\n", helps[i].name,
			helps[i].arg, helps[i].text, helps[i].verbs);
}

static const struct verb *find_verb(const char *name)
{
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	return NULL;
}

/* What this program wrote to the workspace is committed, so that a fork of it
 * contains everything. */
static void sync_workspace(void)
{
	const char *dir = getenv("SKEP_WORKSPACE");
	int fd = dir ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd < 0)
		return;
	(void)fsync(fd);
	close(fd);
}

static int ask_worker(const struct call *c, const struct verb *v,
		      struct buf *out, struct err *e)
{
	struct buf args = BUF_MAX(RUN_REQUEST_MAX);
	struct run_socket_request q = {.verb = v->asks};
	struct id random = id_new(ID_RUN);
	int rc;

	q.key = option_of(c, OPT_KEY) ? option_of(c, OPT_KEY) : random.text;
	json_begin_object(&args);
	rc = v->put(c, &args, e);
	json_end_object(&args);
	q.args = args.p;
	if (rc == 0)
		rc = buf_ok(&args, "the request", e);
	if (rc == 0 && strcmp(v->asks, "start") == 0)
		sync_workspace();
	if (rc == 0)
		rc = run_socket_call(&q, out, e);
	buf_fini(&args);
	return rc;
}

static int run_verb(const struct call *c, const struct verb *v, int *status,
		    struct err *e)
{
	struct buf out = BUF_MAX(RUN_RESULT_MAX);
	int rc = ask_worker(c, v, &out, e);
	cJSON *result = rc ? NULL
			   : json_parse_object("the result", out.p, out.n, e);

	if (result && option_of(c, OPT_JSON))
		printf("%s\n", out.p);
	if (result)
		*status = option_of(c, OPT_JSON) ? 0 : v->print(result);
	cJSON_Delete(result);
	buf_fini(&out);
	return result ? 0 : -1;
}

/* Returns whether the arguments are valid. */
static bool read_options(int argc, char **argv, struct call *c)
{
	struct option longs[NOPTIONS + 1] = {0};
	int o;

	for (size_t i = 0; i < NOPTIONS; i++)
		longs[i] = (struct option){helps[i].name, helps[i].arg[0] != 0,
					   NULL, (int)helps[i].option};
	while ((o = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (o < OPT_KEY)
			return false;
		c->given[o - OPT_KEY] = optarg ? optarg : "";
	}
	c->verb = optind < argc ? argv[optind] : "";
	c->words = argv + optind + 1;
	c->nwords = argc - optind - 1;
	return true;
}

#ifdef __SANITIZE_ADDRESS__
/* LeakSanitizer traces its own process, which the sandbox refuses. Its search
 * would fail, and change the exit status. */
int __lsan_is_turned_off(void); /* NOLINT(bugprone-reserved-identifier) */
int __lsan_is_turned_off(void)  /* NOLINT(bugprone-reserved-identifier) */
{
	return getenv(RUN_SOCKET_ENV) != NULL;
}
#endif

int main(int argc, char **argv)
{
	struct call c = {0};
	struct err e = {0};
	const struct verb *v;
	int status = 0;

	if (!read_options(argc, argv, &c))
		return err_exit_status(ERR_USAGE);
	if (option_of(&c, OPT_HELP)) {
		print_help(stdout);
		return 0;
	}
	v = find_verb(c.verb);
	if (!v || c.nwords < v->least || c.nwords > v->most) {
		fprintf(stderr, "skep-run: %s; see skep-run --help\n",
			v ? "wrong number of arguments" : "unknown command");
		return err_exit_status(ERR_USAGE);
	}
	if (run_verb(&c, v, &status, &e)) {
		fprintf(stderr, "skep-run: %s\n", e.text);
		return err_exit_status(e.code);
	}
	return status;
}
