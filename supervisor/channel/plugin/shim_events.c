/* What the shim of a plugin says of it. */
#include "supervisor/channel/plugin/plugin.h"

#include "ipc/plugin_shim.h"
#include "lib/json/json.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void refused(struct plugin *p, int sys)
{
	const char *json = p->channel->command;
	struct err e;
	cJSON *list = json_parse("command", json, strlen(json), &e);

	plugin_fail(p, "cannot start %s: %s",
		    cJSON_GetArrayItem(list, 0)->valuestring, strerror(sys));
	cJSON_Delete(list);
}

static void on_told(uv_poll_t *h, int status, int events)
{
	struct plugin *p = h->data;
	struct shim_event t;
	ssize_t n = read(p->told, &t, sizeof t);

	(void)status;
	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof t)
		plugin_fail(p, "its shim is gone");
	else if (t.kind == SHIM_STARTED)
		plugin_started(p, t.value);
	else if (t.kind == SHIM_REFUSED)
		refused(p, t.value);
	else
		plugin_ended(p, t.value);
}

void plugin_told_open(struct plugin *p, int fd)
{
	fcntl(fd, F_SETFL, O_NONBLOCK);
	p->told = fd;
	p->told_poll = plugin_poll_new(p, fd);
	uv_poll_start(p->told_poll, UV_READABLE, on_told);
}

void plugin_told_close(struct plugin *p)
{
	plugin_poll_close(&p->told_poll, &p->told);
}
