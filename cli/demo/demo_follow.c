/* A reader that follows the stream of one run while processes are killed. */
#include "cli/demo/demo.h"

#include "lib/http/client.h"
#include "lib/json/json.h"

#include <stdio.h>
#include <string.h>

/* Frames named "event" come once per event; those of growing parts are not
 * counted. */
static int count_event(void *arg, const struct sse_event *ev)
{
	struct demo_follower *f = arg;
	cJSON *v;
	int64_t seq;

	if (!ev->event || strcmp(ev->event, "event") != 0)
		return 0;
	v = cJSON_ParseWithLength(ev->data, ev->n);
	seq = json_i64(v, "seq", 0);
	cJSON_Delete(v);
	if (seq <= 0)
		return 0;
	f->events++;
	f->doubles += seq <= f->last_seq;
	f->gaps += seq > f->last_seq + 1;
	if (seq > f->last_seq)
		f->last_seq = seq;
	return 0;
}

static bool must_quit(void *arg)
{
	struct demo_follower *f = arg;

	return atomic_load(&f->quit);
}

static void *follow_transcript(void *arg)
{
	struct demo_follower *f = arg;
	struct http_client *c;
	char path[128];

	snprintf(path, sizeof path, "/v1/runs/%s/events?stream=true", f->run);
	if (http_client_open(&c,
			     &(struct http_target){.unix_path = f->socket,
						   .base_url = "http://skep"},
			     &f->err)) {
		f->failed = -1;
		return NULL;
	}
	f->failed = http_client_follow(
		c,
		&(struct http_follow){.path = path,
				      .on_event = count_event,
				      .quit = must_quit,
				      .arg = f},
		&f->err);
	http_client_close(c);
	return NULL;
}

int demo_follow_begin(struct demo *d, const struct demo_run *r, struct err *e)
{
	struct demo_follower *f = &d->follower;

	snprintf(f->socket, sizeof f->socket, "%s",
		 home_path(&d->home, HOME_HTTP_SOCKET).text);
	snprintf(f->run, sizeof f->run, "%s", r->id);
	if (pthread_create(&f->thread, NULL, follow_transcript, f))
		return err_set(e, ERR_BUSY, "cannot start a thread");
	return 0;
}

void demo_follow_end(struct demo *d)
{
	if (!d->follower.run[0])
		return;
	atomic_store(&d->follower.quit, true);
	pthread_join(d->follower.thread, NULL);
	d->follower.run[0] = '\0';
}
