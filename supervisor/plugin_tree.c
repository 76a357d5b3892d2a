#include "supervisor/plugin_tree.h"

#include "base/hash.h"
#include "base/proc.h"
#include "spawner/warden.h"
#include "supervisor/tree.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const struct tree_place nowhere; /* no spawner is among them */

uint64_t plugin_tree_brand(const char *id)
{
	char hash[HASH_HEX];

	hash_of(id, strlen(id), hash);
	hash[15] = '\0';
	return PROC_BRAND_MIN | strtoull(hash, NULL, 16);
}

static struct tree wardens(const struct plugin_tree *t)
{
	return (struct tree){.run = t->id, .marker = WARDEN_MARKER};
}

static struct tree others(const struct plugin_tree *t)
{
	return (struct tree){.run = t->id, .brand = plugin_tree_brand(t->id)};
}

/* A warden is never killed: those below it would be lost. */
static int word_for(int sig)
{
	return sig == SIGKILL ? SIGQUIT : sig;
}

/* Its warden, which is waited for once it is gone. One that went in order has
 * proven that nobody is left. */
static pid_t warden_of(struct plugin_tree *t)
{
	int status = 0;
	pid_t pid = t->warden ? waitpid(t->warden, &status, WNOHANG) : 0;

	if (pid != 0) {
		t->warden = 0;
		t->loose = pid < 0 || status != 0;
	}
	return t->warden;
}

void plugin_tree_signal(struct plugin_tree *t, int sig)
{
	struct tree w = wardens(t), o = others(t);

	if (warden_of(t)) { /* not waited for, so the number is its own */
		kill(t->warden, word_for(sig));
		kill(t->warden, SIGCONT); /* should it be stopped */
	} else if (t->loose) {
		if (tree_signal_all(&nowhere, &w, word_for(sig)) > 0)
			tree_signal_all(&nowhere, &w, SIGCONT);
		else
			tree_signal_all(&nowhere, &o, sig);
	}
}

bool plugin_tree_is_gone(struct plugin_tree *t)
{
	struct tree w = wardens(t), o = others(t);

	if (warden_of(t))
		return false;
	if (t->loose)
		t->loose = tree_count(&nowhere, &w, NULL) > 0 ||
			   tree_count(&nowhere, &o, NULL) > 0;
	return !t->loose;
}
