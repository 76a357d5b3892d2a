#ifndef SUPERVISOR_CHANNEL_PLUGIN_LOG_H
#define SUPERVISOR_CHANNEL_PLUGIN_LOG_H

#include "supervisor/core/supervisor.h"

/*
 * What a plugin writes to its stderr, in logs/channel-NAME.log. It goes through
 * a pipe, so that its size has a limit: at PLUGIN_LOG_MAX bytes the file becomes
 * NAME.log.1, and who writes more than PLUGIN_LOG_RATE a second waits. A log
 * lives as long as anybody holds the pipe: what is said on the way out is there.
 */
#define PLUGIN_LOG_MAX  (4 << 20)
#define PLUGIN_LOG_RATE (1 << 20)

struct home_path plugin_log_path(const struct supervisor *s, const char *name);
/* The end to write to, for the plugin; -1. */
int plugin_log_open(struct supervisor *s, const char *name, struct err *e);
/* A line of ours among those of the plugin; it ends one that is unfinished. */
void plugin_log_note(struct supervisor *s, const char *name, const char *fmt,
		     ...) __attribute__((format(printf, 3, 4)));
/* The channel is gone, and its tree: the files go too. */
void plugin_log_delete(struct supervisor *s, const char *name);
void plugin_logs_read(
	struct supervisor *s); /* what is there, without the loop */
void plugin_logs_close(struct supervisor *s); /* skepd goes */

#endif
