#ifndef SUPERVISOR_CHANNEL_PLUGIN_LOG_H
#define SUPERVISOR_CHANNEL_PLUGIN_LOG_H

#include "supervisor/core/supervisor.h"

/*
 * The stderr of a plugin, in logs/channel-NAME.log. It is read from a pipe, so
 * that its size is limited: at PLUGIN_LOG_MAX bytes the file becomes
 * NAME.log.1, and a plugin that writes more than PLUGIN_LOG_RATE bytes a second
 * is blocked. The log is read until the last process closes the pipe, so it
 * contains what a plugin writes while it ends.
 */
#define PLUGIN_LOG_MAX  (4 << 20)
#define PLUGIN_LOG_RATE (1 << 20)

struct home_path plugin_log_path(const struct supervisor *s, const char *name);
/* Opens the log; returns the descriptor for the plugin to write to, or -1. */
int plugin_log_open(struct supervisor *s, const char *name, struct err *e);
/* Adds a line of skepd; completes an unfinished line of the plugin first. */
void plugin_log_note(struct supervisor *s, const char *name, const char *fmt,
		     ...) __attribute__((format(printf, 3, 4)));
/* Deletes the files, after the channel was deleted and its processes have
 * exited. */
void plugin_log_delete(struct supervisor *s, const char *name);
/* Reads what is available, without the loop. */
void plugin_logs_read(struct supervisor *s);
void plugin_logs_close(struct supervisor *s); /* when skepd ends */

#endif
