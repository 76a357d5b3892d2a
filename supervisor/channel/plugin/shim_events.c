/* Reports of the shim of a plugin. */
#include "supervisor/channel/plugin/plugin.h"

#include "ipc/plugin_shim.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

/* While the spawner has not answered, the spawner itself may have closed the
 * socket; its answer has the reason. */
static void on_events_closed(struct plugin *p)
{
	if (p->processes.spawn == PLUGIN_REQUESTED)
		uv_poll_stop(p->events_poll);
	else
		plugin_fail(p, "its shim has exited");
}

static void on_shim_event(uv_poll_t *h, int status, int events)
{
	struct plugin *p = h->data;
	struct shim_event t;
	ssize_t n = read(p->events, &t, sizeof t);

	(void)status;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof t)
		on_events_closed(p);
	else if (t.kind == SHIM_STARTED)
		plugin_started(p, t.value);
	else if (t.kind == SHIM_REFUSED)
		plugin_fail(p, "%.*s", SHIM_TEXT - 1, t.text);
	else
		plugin_ended(p, t.value);
}

void plugin_events_open(struct plugin *p, int fd)
{
	fcntl(fd, F_SETFL, O_NONBLOCK);
	p->events = fd;
	p->events_poll = plugin_poll_new(p, fd);
	plugin_events_listen(p);
}

void plugin_events_listen(struct plugin *p)
{
	uv_poll_start(p->events_poll, UV_READABLE, on_shim_event);
}

void plugin_events_close(struct plugin *p)
{
	plugin_poll_close(&p->events_poll, &p->events);
}
