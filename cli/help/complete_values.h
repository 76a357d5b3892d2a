#ifndef CLI_HELP_COMPLETE_VALUES_H
#define CLI_HELP_COMPLETE_VALUES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Names of the objects of a home, for completion: agents, runs, sessions and
 * others. Databases are opened for reading; errors yield no names. Only the
 * newest objects are offered, so a long history costs nothing.
 */
struct complete_request {
	const char *home;  /* of --home, or NULL */
	const char *agent; /* of --agent, or NULL */
	const char *first; /* the first argument of the command, or NULL */
	const char *start; /* what was typed of the word */
};

/* Prints the names that a placeholder such as RUN stands for. False if it does
 * not stand for objects of a home. */
bool complete_values(const struct complete_request *q, const char *placeholder,
		     size_t n);

/* Prints one candidate if it begins with what was typed. */
void complete_offer(const char *start, const char *word, const char *help);

#endif
