#ifndef CLI_SESSION_SESSION_FIND_H
#define CLI_SESSION_SESSION_FIND_H

#include "cli/cli.h"
#include "cli/state/ops_cli.h"

/* Sessions of all agents. */

/* Calls fn for the file of an agent, or of each agent if agent is NULL. An agent
 * without a file is left out; an unknown agent is ERR_NOTFOUND. */
int session_each_file(struct cli *cli, const char *agent, ops_file *fn,
		      void *arg, struct err *e);

/* The agent that has the session with this key or id: *agent is NULL if there is
 * none. ERR_USAGE lists the agents if there are several. */
int session_find_agent(struct cli *cli, const char *key, const char **agent,
		       struct err *e);

#endif
