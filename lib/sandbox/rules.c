#include "lib/sandbox/rules.h"

#include "lib/os/thread.h"

#include <assert.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES (512u << 10) /* landlock.c has paths on it */

struct rules {
	const struct sandbox_plan *plan;
	struct landlock made[RULES_KINDS];
	int rc;
	pthread_t thread;
	bool running;
};

/* --- paths of the host --------------------------------------------------- */

static bool is_named(const struct sandbox_spec *s, const char *path)
{
	for (int i = 0; i < s->read.n; i++)
		if (path_is_below(s->read.path[i], path))
			return true;
	for (int i = 0; i < s->write.n; i++)
		if (path_is_below(s->write.path[i], path))
			return true;
	return false;
}

static void hide_all(struct landlock *f, const struct sandbox_plan *p,
		     const struct homes *h)
{
	if (p->namespaces.hidden)
		landlock_seal(f, p->namespaces.hidden);
	for (int i = 0; i < h->nkeys; i++)
		if (!is_named(p->spec, h->key[i]))
			landlock_seal(f, h->key[i]);
	for (int i = 0; i < h->n; i++)
		landlock_hide(f, h->dir[i]);
}

/* Covered by mounts if there are namespaces. */
static void seal_secrets(struct landlock *f, const struct sandbox_plan *p)
{
	static const char *const paths[] = {
#define SECRET(path) path,
#include "lib/sandbox/secrets.def"
#undef SECRET
	};

	static_assert(sizeof paths / sizeof *paths < SECRETS_MAX,
		      "room for lib/sandbox/secrets.def");
	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		if (geteuid() == 0 && !is_named(p->spec, paths[i]))
			landlock_seal(f, paths[i]);
}

static int allow_host(struct landlock *f, const struct sandbox_plan *p,
		      bool covered, struct err *e)
{
	struct homes h;
	int rc;

	homes_list(&h, p->home);
	hide_all(f, p, &h);
	if (!covered)
		seal_secrets(f, p);
	rc = landlock_allow_spec(f, p->spec, covered, e);
	f->nhidden = f->nsealed = 0;
	return rc;
}

/* The server of the workspace, which the worker ends, is not in the sandbox:
 * signals to it are allowed. */
static int begin_rules(struct landlock *f, enum rules_for who,
		       const struct sandbox_plan *p, bool covered,
		       struct err *e)
{
	if (landlock_begin(f, who == RULES_COMMAND, e))
		return -1;
	f->written = written_by(p->spec, p->workspace);
	if (allow_host(f, p, covered, e))
		return -1;
	return who == RULES_WORKER && p->own
		       ? landlock_allow(f, p->own, LANDLOCK_WRITE, e)
		       : 0;
}

/* --- what the commands see ----------------------------------------------- */

/* Links of the namespaces lead to what commands see there. */
int rules_open_visible(const struct sandbox *b, const struct written *w,
		       const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC,
			       .resolve = RESOLVE_IN_ROOT};

	if (b->namespaces.mnt < 0)
		return written_open(w, path);
	return (int)syscall(SYS_openat2, b->namespaces.root, path, &how,
			    sizeof how);
}

static int allow_visible(struct landlock *f, const struct sandbox *b,
			 const char *path, enum landlock_access may,
			 struct err *e)
{
	int fd = rules_open_visible(b, &f->written, path), rc;

	if (fd < 0)
		return 0;
	rc = landlock_allow_fd(f, fd, may, e);
	close(fd);
	return rc;
}

/* What is mounted only for the commands. */
static int allow_own(struct landlock *f, const struct sandbox *b, struct err *e)
{
	static const struct {
		const char *path;
		enum landlock_access may;
	} own[] = {
		{"/tmp", LANDLOCK_WRITE}, {"/dev/shm", LANDLOCK_WRITE},
		{"/dev", LANDLOCK_LIST},  {"/dev/pts", LANDLOCK_DEVICE},
		{"/proc", LANDLOCK_READ},
#define MASK_DIR(path) {path, LANDLOCK_LIST},
#define SEEN(path)     {path, LANDLOCK_READ},
#include "lib/sandbox/sockets.def"
#undef MASK_DIR
#undef SEEN
	};

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (allow_visible(f, b, own[i].path, own[i].may, e))
			return -1;
	return 0;
}

/* Named paths may be below a home, to which the host's rule does not apply. */
static int allow_homes(struct landlock *f, const struct sandbox_plan *p,
		       const struct sandbox *b, struct err *e)
{
	struct homes h;

	homes_list(&h, p->home);
	for (int i = 0; i < h.n; i++)
		if (allow_visible(f, b, h.dir[i], LANDLOCK_LIST, e))
			return -1;
	return 0;
}

/* The workspace is usually in a hidden place: it gets its own rule. */
static int finish_rules(struct landlock *f, const struct sandbox_plan *p,
			const struct sandbox *b, struct err *e)
{
	int rc = 0;

	if (b->workspace >= 0)
		rc = landlock_allow_fd(f, b->workspace, LANDLOCK_WRITE, e);
	for (int i = 0; rc == 0 && i < p->shown.n; i++)
		rc = allow_visible(f, b, p->shown.path[i], LANDLOCK_READ, e);
	if (rc == 0 && b->namespaces.mnt >= 0)
		rc = allow_own(f, b, e) || allow_homes(f, p, b, e) ? -1 : 0;
	return rc;
}

/* --- beside the caller --------------------------------------------------- */

static void *make_host(void *arg)
{
	struct rules *r = arg;
	struct err ignored; /* rules_make tries again and reports it */

	for (int i = 0; r->rc == 0 && i < RULES_KINDS; i++)
		r->rc = begin_rules(&r->made[i], (enum rules_for)i, r->plan,
				    true, &ignored);
	return NULL;
}

struct rules *rules_begin(const struct sandbox_plan *p)
{
	struct rules *r = calloc(1, sizeof *r);

	if (!r)
		abort();
	r->plan = p;
	for (int i = 0; i < RULES_KINDS; i++)
		r->made[i].ruleset = -1;
	r->running = thread_start(&r->thread, STACK_BYTES, make_host, r) == 0;
	if (r->running)
		return r;
	free(r);
	return NULL;
}

static void await(struct rules *r)
{
	if (r->running)
		pthread_join(r->thread, NULL);
	r->running = false;
}

void rules_end(struct rules *r)
{
	if (!r)
		return;
	await(r);
	for (int i = 0; i < RULES_KINDS; i++)
		landlock_end(&r->made[i]);
	free(r);
}

/* The rules of the thread assume that mounts cover what is hidden. */
static bool take_prepared(struct rules *r, enum rules_for who,
			  const struct sandbox *b, struct landlock *out)
{
	if (!r || b->namespaces.mnt < 0)
		return false;
	await(r);
	if (r->rc || r->made[who].ruleset < 0)
		return false;
	*out = r->made[who];
	r->made[who].ruleset = -1;
	return true;
}

int rules_make(struct rules *r, enum rules_for who,
	       const struct sandbox_plan *p, const struct sandbox *b,
	       struct landlock *out, struct err *e)
{
	*out = (struct landlock){.ruleset = -1};
	if ((take_prepared(r, who, b, out) ||
	     begin_rules(out, who, p, b->namespaces.mnt >= 0, e) == 0) &&
	    finish_rules(out, p, b, e) == 0)
		return 0;
	landlock_end(out);
	return -1;
}
