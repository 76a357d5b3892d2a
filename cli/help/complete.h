#ifndef CLI_HELP_COMPLETE_H
#define CLI_HELP_COMPLETE_H

#include <stdio.h>

/*
 * Shell completion. The scripts pass the words of the line to `skep __complete`,
 * which prints the possible words, each with a tab and its description, or
 * ":files" where a file name is expected. So every shell completes the same,
 * including names of agents, runs and sessions.
 */
void complete_bash(FILE *to);
void complete_zsh(FILE *to);
void complete_fish(FILE *to);

/* skep __complete WORD...: the last word is the one at the cursor. Always
 * succeeds; a home that cannot be read has no names. */
int complete_line(int argc, char **argv);

#endif
