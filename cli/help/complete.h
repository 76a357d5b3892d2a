#ifndef CLI_HELP_COMPLETE_H
#define CLI_HELP_COMPLETE_H

#include <stdio.h>

/* Shell completion, generated from the table of commands. */
void complete_bash(FILE *to);
void complete_zsh(FILE *to);
void complete_fish(FILE *to);

#endif
