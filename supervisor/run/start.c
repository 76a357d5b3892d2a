#include "supervisor/run/claim.h"

#include "ipc/start_message.h"
#include "lib/base/clock.h"
#include "lib/base/hash.h"
#include "lib/base/id.h"
#include "lib/base/log.h"
#include "lib/base/mark.h"
#include "lib/json/json.h"
#include "lib/os/file.h"
#include "lib/sandbox/spec.h"
#include "schema/control/channel/attachment.h"
#include "schema/control/child_limits.h"
#include "supervisor/run/attachments.h"
#include "supervisor/run/budget.h"
#include "supervisor/run/run_message.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define CONFIG_MAX    (1u << 20)
#define SEED_VARIABLE "SKEP_SEED"

static void make_token(struct claim *c)
{
	unsigned char raw[32];

	id_random(raw, sizeof raw);
	for (size_t i = 0; i < sizeof raw; i++)
		snprintf(c->token + 2 * i, 3, "%02x", raw[i]);
	hash_of(c->token, strlen(c->token), c->token_hash);
}

/* An object as JSON text; NULL if it is not an object or too long. */
static const char *object_text(struct claim *c, const cJSON *v)
{
	struct buf b = BUF_MAX(65536);
	const char *out;

	if (cJSON_IsObject(v))
		json_add(&b, v);
	out = b.n && !b.over ? arena_text(&c->arena, b.p) : NULL;
	buf_fini(&b);
	return out;
}

/* For a model: the Responses API has no such parameter. The definition may set
 * another one, or null for servers that reject it. */
static void add_seed_of_model(cJSON *config, const cJSON *seed)
{
	cJSON *params = cJSON_GetObjectItemCaseSensitive(config, "params");
	const cJSON *own = cJSON_GetObjectItemCaseSensitive(params, "seed");

	if (!strcmp(json_text(config, "api", "chat"), "responses"))
		return;
	if (!params)
		params = cJSON_AddObjectToObject(config, "params");
	if (!own)
		cJSON_AddItemToObject(params, "seed",
				      cJSON_Duplicate(seed, true));
	else if (cJSON_IsNull(own))
		cJSON_DeleteItemFromObjectCaseSensitive(params, "seed");
}

/* The seed of a trial. */
static void add_seed(cJSON *config, const char *driver, const cJSON *options)
{
	const cJSON *seed = cJSON_GetObjectItemCaseSensitive(options, "seed");
	cJSON *env = cJSON_GetObjectItemCaseSensitive(config, "env");
	char text[32];

	if (!cJSON_IsNumber(seed) || !strcmp(driver, "script"))
		return;
	if (!strcmp(driver, "chat")) {
		add_seed_of_model(config, seed);
		return;
	}
	if (!env)
		env = cJSON_AddObjectToObject(config, "env");
	snprintf(text, sizeof text, "%lld",
		 (long long)json_i64(options, "seed", 0));
	cJSON_DeleteItemFromObjectCaseSensitive(env, SEED_VARIABLE);
	cJSON_AddStringToObject(env, SEED_VARIABLE, text);
}

/* Of a run with its own command. */
static cJSON *command_config(const char *command)
{
	cJSON *config = cJSON_CreateObject();

	cJSON_AddStringToObject(config, "shell", command);
	cJSON_AddStringToObject(config, "stdin", "none");
	return config;
}

/* The driver configuration of the agent; members in the options of the run
 * override it. */
static int make_config(struct claim *c, const cJSON *spec, struct err *e)
{
	const char *text = c->input.options;
	cJSON *options = json_parse_object("options", text, strlen(text), e);
	cJSON *config = cJSON_Duplicate(cJSON_GetObjectItem(spec, "config"),
					true);
	const cJSON *own, *item;
	struct buf b = BUF_MAX(CONFIG_MAX);

	if (!options)
		return -1;
	if (c->run.command) {
		cJSON_Delete(config);
		config = command_config(c->run.command);
		c->agent.driver = "exec";
	} else if (!config) {
		config = cJSON_CreateObject();
	}
	own = cJSON_GetObjectItem(options, "config");
	cJSON_ArrayForEach(item, own)
	{
		cJSON_DeleteItemFromObjectCaseSensitive(config, item->string);
		cJSON_AddItemToObject(config, item->string,
				      cJSON_Duplicate(item, true));
	}
	add_seed(config, c->agent.driver, options);
	json_add(&b, config);
	c->config = arena_text(&c->arena, b.p);
	c->reply = object_text(c, cJSON_GetObjectItem(options, "reply"));
	c->media = arena_text(&c->arena, json_text(options, "media", ""));
	if (!id_is(ID_INBOUND, c->media))
		c->media = NULL;
	if (cJSON_GetObjectItemCaseSensitive(options, "attachments"))
		c->media = c->run.id;
	c->prompt_key = arena_text(&c->arena,
				   json_text(options, "prompt_key", NULL));
	c->replaces = arena_text(&c->arena,
				 json_text(options, "replaces", NULL));
	cJSON_Delete(options);
	cJSON_Delete(config);
	if (buf_ok(&b, "the driver's configuration", e)) {
		buf_fini(&b);
		return -1;
	}
	buf_fini(&b);
	return 0;
}

/* The agent's contract, and what its workspace needs; see worker/run/outputs.h
 * and worker/workspace/bootstrap.h. */
static void make_contract(struct claim *c, const cJSON *spec)
{
	if (c->run.command)
		return; /* it is not the agent that works */
	c->artifacts = object_text(
		c, cJSON_GetObjectItemCaseSensitive(spec, "artifacts"));
	c->bootstrap = object_text(
		c, cJSON_GetObjectItemCaseSensitive(spec, "bootstrap"));
}

static int claim_children(struct claim *c, const cJSON *spec, struct err *e)
{
	struct child_limits l;

	if (child_limits_read(&l, spec, e))
		return -1;
	c->has_children = l.allowed;
	return 0;
}

static int claim_messages(struct claim *c, const cJSON *spec, struct err *e)
{
	struct run_address to = {c->run.id, c->run.agent, c->run.session};

	if (agent_receives(&c->agent, spec) &&
	    run_message_offer(c->sup, &to, e) < 0)
		return -1;
	return run_message_pending(c->sup, c->run.id, &c->arena, &c->messages,
				   e);
}

/* The run may write to the files of its attachments. They are created again,
 * since they may have been deleted while the run was queued. */
static int add_media(struct claim *c, cJSON *spec, struct err *e)
{
	struct home_path all = home_path(&c->sup->home, HOME_MEDIA);
	cJSON *paths = cJSON_GetObjectItemCaseSensitive(spec, "paths");
	cJSON *write = cJSON_GetObjectItemCaseSensitive(paths, "write");
	struct home_path dir;

	if (!c->media)
		return 0;
	dir = home_join(&c->sup->home, HOME_MEDIA, c->media);
	if (!paths)
		paths = cJSON_AddObjectToObject(spec, "paths");
	if (!write)
		write = cJSON_AddArrayToObject(paths, "write");
	cJSON_AddItemToArray(write, cJSON_CreateString(dir.text));
	if (c->media == c->run.id)
		return run_attach_prompt(c->sup, c->run.id, &c->input.prompt,
					 &c->arena, e);
	return attachments_materialise(c->sup->db, c->media, all.text, e);
}

/* The sandbox settings of the definition; an agent without them has the
 * defaults. */
static int make_sandbox(struct claim *c, cJSON *spec, struct err *e)
{
	struct buf b = BUF_MAX(65536);
	int rc;

	if (add_media(c, spec, e) ||
	    sandbox_spec_read(&c->spec, spec, &c->arena, e) ||
	    cgroup_accept(&c->sup->roots.limits, &c->spec, e))
		return -1;
	sandbox_spec_copy(spec, &b);
	rc = buf_ok(&b, "sandbox, limits and paths of the definition", e);
	c->sandbox = rc ? NULL : arena_text(&c->arena, b.p);
	buf_fini(&b);
	return rc;
}

/* A digest of the start message without the members that differ from run to
 * run. An idle worker with the same digest can be reused, unless its sandbox
 * contains attachments of a prompt. */
static int make_config_digest(struct claim *c, const struct msg_start *start,
			      struct err *e)
{
	struct home_path media = home_path(&c->sup->home, HOME_MEDIA);
	struct msg m = {.type = MSG_TYPE_START, .u.start = *start};
	struct buf b = BUF_MAX(MSG_MAX_BYTES);

	if (c->media || c->workspace.ephemeral ||
	    strstr(start->prompt, media.text))
		return 0;
	m.u.start.run = m.u.start.token = m.u.start.prompt = "";
	m.u.start.attempt = m.u.start.grace_ms = 0;
	/* the first run of an agent creates the file */
	m.u.start.schema_version = 0;
	m.u.start.prompt_key = m.u.start.reply = m.u.start.messages = NULL;
	m.u.start.run_timeout_ms = m.u.start.idle_timeout_ms = OPT_NONE;
	if (msg_encode(&m, &b, e)) {
		buf_fini(&b);
		return -1;
	}
	hash_of(b.p, b.n, c->config_digest);
	buf_fini(&b);
	return 0;
}

static int make_start(struct claim *c, struct buf *out, struct err *e)
{
	const struct config *conf = &c->sup->config;
	struct home_path socket = home_path(&c->sup->home, HOME_IPC_SOCKET);
	struct msg_start m = {
		.run = c->run.id,
		.attempt = c->run.attempt,
		.token = c->token,
		.agent = c->run.agent,
		.session = c->run.session,
		.agent_db = c->file.path,
		.schema_version = c->file.schema_version,
		.epoch = c->file.epoch,
		.driver = c->agent.driver,
		.config = c->config,
		.prompt = c->input.prompt,
		.prompt_key = c->prompt_key,
		.replaces = c->replaces,
		.model = c->agent.model,
		.system = c->agent.prompt,
		.workspace_mode = claim_workspace_mode(c),
		.workspace = c->workspace.dir ? c->workspace.dir
					      : c->workspace.base,
		.namespace = c->workspace.name,
		.namespace_make = c->workspace.make,
		.fork_of = c->workspace.fork_of,
		.fork_agent = c->workspace.fork_agent,
		.fork_db = c->fork_db,
		.is_ephemeral = c->workspace.ephemeral ? 1 : OPT_NONE,
		.is_shared = c->workspace.share ? 1 : OPT_NONE,
		.markers = conf->agent_markers > 0,
		.session_workspace = c->names_workspace ? NULL
							: c->session_workspace,
		.artifacts = c->artifacts,
		.bootstrap = c->bootstrap,
		.reply = c->reply,
		.sandbox = c->sandbox,
		.home = c->sup->home.root,
		.socket = socket.text,
		.on_supervisor_loss = conf->run_on_supervisor_loss,
		.synchronous = conf->agent_synchronous,
		.heartbeat_ms = conf->run_heartbeat,
		.grace_ms = c->run.grace_ms,
		.run_timeout_ms = c->run.run_timeout_ms,
		.idle_timeout_ms = c->run.idle_timeout_ms,
		.output_max = OPT_NONE,
		.messages = c->messages,
		.has_children = c->has_children ? 1 : OPT_NONE,
		.has_budget = c->sup->runs->has_budgets ? 1 : OPT_NONE,
		.diagnostics = conf->agent_diagnostics
				       ? conf->agent_diagnostics_rows
				       : 0,
	};

	return make_config_digest(c, &m, e) ? -1 : start_encode(&m, out, e);
}

/* Collects everything that the worker needs: 0; START_WAITS or START_BLOCKED: not
 * possible yet; -1: *reject has the reason why it never will be. */
static int prepare_start(struct claim *c, const char **reject, struct err *e)
{
	struct supervisor *s = c->sup;
	struct run_input_get_in key = {c->run.id};
	struct completion none = {0};
	cJSON *spec;
	int rc;

	*reject = run_reason_agent_broken;
	rc = supervisor_agent_read(s, c->run.agent, &c->agent, &c->arena, e);
	if (rc == 0 || (rc == 1 && !c->agent.is_enabled)) {
		*reject = run_reason_agent_missing;
		return err_set(e, ERR_NOTFOUND,
			       "agent %s was removed or disabled",
			       c->run.agent);
	}
	if (rc < 0 ||
	    sql_get(s->db, Q_RUN_INPUT_GET, &key, &c->input, &c->arena, e) < 0)
		return -1;
	rc = supervisor_agent_database(s, c->run.agent, none, &c->file,
				       &c->arena, e);
	if (rc)
		return rc;
	spec = json_parse_object("spec", c->agent.spec, strlen(c->agent.spec),
				 e);
	if (!spec)
		return -1;
	rc = make_config(c, spec, e) ? -1 : claim_workspace(c, spec, e);
	if (!rc)
		rc = make_sandbox(c, spec, e);
	if (!rc)
		rc = claim_children(c, spec, e);
	if (!rc)
		rc = claim_messages(c, spec, e);
	if (!rc)
		make_contract(c, spec);
	cJSON_Delete(spec);
	return rc;
}

static int reject(struct supervisor *s, const char *id, const char *reason,
		  const char *detail, struct arena *a, struct err *e)
{
	struct transition_reason why = {.reason = reason, .detail = detail};
	struct run_get_in key = {id};
	struct run_row row;

	if (sql_get(s->db, Q_RUN_GET, &key, &row, a, e) != 1)
		return -1;
	log_warn(LT("msg", "run rejected: it cannot start"), LT("run", id),
		 LT("why", detail));
	return transition_apply_queued(s, &row, RUN_EV_REJECT, &why, e);
}

static bool has_limits_at_start(const struct active_run *l)
{
	for (int i = 0; l->limits && i < CGROUP_LIMITS; i++)
		if (l->limits[i].dir[0] && !l->limits[i].late)
			return true;
	return false;
}

/* Unless it reuses an idle worker, the run gets a preforked worker or a new
 * one. A preforked worker is already in its cgroup, so it has no limits of
 * memory and CPU. */
static int find_worker(struct active_run *l, const struct buf *start,
		       struct err *e)
{
	bool given = !l->reuses_worker && !has_limits_at_start(l) &&
		     prefork_assign(l, start);

	prefork_postpone(l->sup);
	if (given) {
		record_worker_pid(l);
		return 0;
	}
	l->start_fd = start_text_to_fd(start, e);
	if (l->start_fd < 0)
		return -1;
	if (!l->reuses_worker)
		spawn_before_commit(l);
	return 0;
}

/* Starts the run in w, or in a worker of its own if w is NULL. */
static int launch(struct claim *c, const struct buf *start,
		  struct idle_worker *w, struct err *e)
{
	struct transition_reason why = {.reason = run_reason_claimed};
	struct run_set_attempt_in set = {
		.id = c->run.id,
		.attempt = c->run.attempt,
		.token_hash = c->token_hash,
		.heartbeat_ms = c->sup->config.run_heartbeat,
		.agent_version = c->agent.version,
		.works_in = c->run.works_in,
		.is_shared = c->run.is_shared,
		.session_workspace = c->session_workspace,
		.now = clock_now(),
	};
	struct active_run *l;

	if (sql_exec(c->sup->db, Q_RUN_SET_ATTEMPT, &set, e) < 0)
		return -1;
	c->run.token_hash = c->token_hash;
	c->run.cgroup = NULL; /* that of the previous attempt */
	c->run.heartbeat_ms = set.heartbeat_ms;
	l = active_run_new(c->sup, &c->run);
	memcpy(l->config_digest, c->config_digest, sizeof l->config_digest);
	if (run_sandbox_make(l, &c->spec, e) || (w && idle_assign(w, l, e)) ||
	    transition_apply(l, RUN_EV_START, &why, e) ||
	    find_worker(l, start, e)) {
		active_run_drop(l);
		return -1;
	}
	if (w)
		idle_drop(w); /* it is the worker of l now */
	mark(MARK_given);
	return budget_started(l, e) ? -1 : claim_started(c, e);
}

/* Returns START_WAITS if the run has to wait for a worker. */
static int start_or_wait(struct claim *c, const struct buf *start,
			 int64_t agent_limit, struct err *e)
{
	struct idle_worker *w = NULL;

	if (idle_evict_from(c->sup, &c->run) ||
	    idle_find_worker(c->sup, &c->run, c->config_digest, agent_limit,
			     &w) < 0)
		return START_WAITS;
	return launch(c, start, w, e);
}

static int start_claimed(struct supervisor *s, const char *id,
			 int64_t agent_limit, struct err *e)
{
	struct claim c = {.sup = s};
	struct run_active_get_in key = {id};
	struct buf start = BUF_MAX(MSG_MAX_BYTES);
	const char *why;
	struct err bad;
	int rc = -1;

	mark(MARK_claimed);
	if (txn_begin(&s->txn, e) ||
	    sql_get(s->db, Q_RUN_ACTIVE_GET, &key, &c.run, &c.arena, e) != 1) {
		arena_fini(&c.arena);
		return -1;
	}
	rc = budget_admit(s, &c.run, e);
	if (rc != 1) {
		arena_fini(&c.arena);
		return rc;
	}
	c.run.attempt++;
	make_token(&c);
	rc = prepare_start(&c, &why, &bad);
	if (rc < 0) {
		rc = reject(s, id, why, bad.text, &c.arena, e);
	} else if (rc == 0 && make_start(&c, &start, &bad)) {
		rc = reject(s, id, run_reason_agent_broken, bad.text, &c.arena,
			    e);
	} else if (rc == 0) {
		rc = start_or_wait(&c, &start, agent_limit, e);
	}
	buf_fini(&start);
	arena_fini(&c.arena);
	return rc;
}

int start_queued_run(struct supervisor *s, const char *id, int64_t agent_limit,
		     struct err *e)
{
	txn_try_begin(&s->txn);
	return txn_try_end(&s->txn, start_claimed(s, id, agent_limit, e), e);
}
