#ifndef WORKER_RUN_PREFAULT_H
#define WORKER_RUN_PREFAULT_H

/*
 * A process that was just forked shares its memory with its parent: the first
 * touch of each page is a fault, and a run's first commit has two hundred of
 * them. A worker that has time to wait takes them beforehand.
 */
void prefault(void);

#endif
