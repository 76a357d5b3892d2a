#ifndef WORKER_RUN_PREFAULT_H
#define WORKER_RUN_PREFAULT_H

/*
 * A process that was just forked shares its memory with its parent: the first
 * access to each page is a fault, and the first commit of a run has two hundred
 * of them. A worker that waits for a run takes these faults in advance.
 */
void prefault(void);

#endif
