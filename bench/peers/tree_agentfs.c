#include "bench/suites/tree.h"

#include "bench/peers/node.h"

#include <stdlib.h>
#include <string.h>

/* AgentFS's SDK in a process of Node, which measures itself: the communication
 * with it is not part of the measurement. */

NODE_SCRIPT(peer_agentfs);

static void stop(struct tree_side *s)
{
	node_close(s->tree);
	free(s->tree);
	s->tree = NULL;
}

static int read_answer(struct node_request *t, char *line, int n, struct err *e)
{
	if (fgets(line, n, t->from))
		return 0;
	return err_set(e, ERR_FAILED, "AgentFS's process has ended");
}

static int measure_agentfs(struct tree_side *s, struct tree_pass *p,
			   struct err *e)
{
	struct node_request *t = s->tree;
	char line[128], *end;

	if (fprintf(t->to, "%.*s %f %lld\n", (int)strcspn(p->metric, "_"),
		    p->metric, p->seconds, (long long)p->max) < 0 ||
	    fflush(t->to))
		return err_errno_set(e, "AgentFS's process");
	if (read_answer(t, line, sizeof line, e))
		return -1;
	p->n = strtoll(line, &end, 10);
	p->us = strtod(end, NULL);
	return p->n > 0 ? 0
			: err_set(e, ERR_PROTOCOL, "AgentFS printed %s", line);
}

int tree_agentfs(struct tree_side *s, int files, struct err *e)
{
	const struct node_script script = {"agentfs-sdk", peer_agentfs_js,
					   peer_agentfs_js_n};
	char file[4096], count[32], line[128];
	const char *args[] = {file, count, NULL};
	struct node_request *t = calloc(1, sizeof *t);

	if (!t)
		abort();
	snprintf(file, sizeof file, "%s/agentfs", s->dir);
	snprintf(count, sizeof count, "%d", files);
	if (node_open(t, &script, args, e)) {
		free(t);
		return -1;
	}
	s->tree = t;
	s->timed = measure_agentfs;
	s->stop = stop;
	if (read_answer(t, line, sizeof line, e) == 0)
		return 0;
	stop(s);
	s->stop = NULL;
	return -1;
}
