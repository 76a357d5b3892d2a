#include "schema/control/channel/mailbox.h"

#include "lib/base/clock.h"
#include "lib/base/text.h"

#include <stdio.h>
#include <string.h>

int message_address(const char *text, const char **agent, const char **session,
		    struct arena *a, struct err *e)
{
	const char *slash = strchr(text, '/');

	*agent = slash ? arena_textn(a, text, (size_t)(slash - text))
		       : arena_text(a, text);
	*session = slash ? arena_text(a, slash + 1) : "main";
	return text_check_name("agent", *agent, e) ||
			       text_check_key("session", *session, 256, e)
		       ? -1
		       : 0;
}

static int check_room(struct sql *db, const char *room, struct err *e)
{
	struct room_size_row size = {0};

	if (text_check_name("room", room, e) ||
	    sql_get(db, Q_ROOM_SIZE, &(struct room_size_in){room}, &size, NULL,
		    e) < 0)
		return -1;
	if (size.n == 0)
		return err_set(e, ERR_NOTFOUND, "room '%s' has no members",
			       room);
	return 0;
}

static int check_message(struct sql *db, const struct message_new *m,
			 struct err *e)
{
	size_t n = strlen(m->body);

	if (n == 0 || n > MESSAGE_MAX || !text_is_utf8(m->body, n))
		return err_set(e, ERR_INVALID,
			       "a message must be 1 to %u bytes of UTF-8",
			       MESSAGE_MAX);
	if (m->room)
		return check_room(db, m->room, e);
	if (!m->agent || !m->session)
		return err_set(e, ERR_INVALID,
			       "the receiver must be AGENT/SESSION or a room");
	return text_check_name("agent", m->agent, e) ||
			       text_check_key("session", m->session, 256, e)
		       ? -1
		       : 0;
}

static int is_to(struct sql *db, const char *agent, const char *session,
		 const char *id, struct err *e)
{
	struct message_is_to_in key = {agent, session, id};
	struct message_is_to_row there;

	return sql_get(db, Q_MESSAGE_IS_TO, &key, &there, NULL, e);
}

static bool is_same_way(struct sql *db,
			const struct message_by_source_key_row *row,
			const struct message_new *m, struct err *e)
{
	if (m->room || row->room)
		return m->room && row->room && !strcmp(m->room, row->room);
	return is_to(db, m->agent, m->session, row->id, e) == 1;
}

static int known(struct sql *db, const struct message_new *m, struct id *id,
		 struct err *e)
{
	struct message_by_source_key_in key = {m->source_key};
	struct message_by_source_key_row row;
	struct arena a = {0};
	int found = m->source_key ? sql_get(db, Q_MESSAGE_BY_SOURCE_KEY, &key,
					    &row, &a, e)
				  : 0;

	if (found == 1 &&
	    (strcmp(row.body, m->body) != 0 || !is_same_way(db, &row, m, e)))
		found = err_set(e, ERR_CONFLICT,
				"the idempotency key %s was used for another "
				"message (%s)",
				quoted(m->source_key).text, row.id);
	if (found == 1)
		snprintf(id->text, sizeof id->text, "%s", row.id);
	arena_fini(&a);
	return found;
}

/* The receivers: their number, or -1. */
static int address(struct sql *db, const struct message_new *m, const char *id,
		   struct err *e)
{
	struct message_to_add_in one = {id, m->agent, m->session};
	struct message_to_room_in all = {.message = id, .room = m->room};
	struct arena a = {0};
	struct err ignored;
	int n;

	if (!m->room)
		return sql_exec(db, Q_MESSAGE_TO_ADD, &one, e);
	if (message_address(m->sender, &all.agent, &all.session, &a, &ignored))
		all.agent = all.session = NULL;
	n = sql_exec(db, Q_MESSAGE_TO_ROOM, &all, e);
	arena_fini(&a);
	return n;
}

int message_send(struct sql *db, const struct message_new *m, struct id *id,
		 struct err *e)
{
	struct message_add_in in = {
		.source_key = m->source_key,
		.sender = m->sender,
		.room = m->room,
		.body = m->body,
		.now = clock_now(),
	};
	int found;

	if (check_message(db, m, e))
		return -1;
	found = known(db, m, id, e);
	if (found != 0)
		return found < 0 ? -1 : 0;
	*id = id_new(ID_MESSAGE);
	in.id = id->text;
	if (sql_exec(db, Q_MESSAGE_ADD, &in, e) < 0)
		return -1;
	return address(db, m, id->text, e) < 0 ? -1 : 1;
}

int message_receive(struct sql *db, const char *agent, const char *session,
		    struct message_row **row, struct arena *a, struct err *e)
{
	struct message_unread_in next = {agent, session, 1};

	return sql_collect(db, Q_MESSAGE_UNREAD, &next, 1, row, a, e);
}

int message_ack(struct sql *db, const char *agent, const char *session,
		const char *id, struct err *e)
{
	struct message_read_in read = {agent, session, id, clock_now()};
	int found = is_to(db, agent, session, id, e);

	if (found == 0)
		return err_set(e, ERR_NOTFOUND,
			       "there is no message %s to this session",
			       quoted(id).text);
	return found < 0 || sql_exec(db, Q_MESSAGE_READ, &read, e) < 0 ? -1 : 0;
}

int message_collect(struct sql *db, const char *agent, const char *session,
		    int max, struct message_row **rows, struct arena *a,
		    struct err *e)
{
	struct message_unread_in in = {agent, session, max};
	int n = sql_collect(db, Q_MESSAGE_UNREAD, &in, max, rows, a, e);

	for (int i = 0; i < n; i++) {
		struct message_read_in read = {agent, session, (*rows)[i].id,
					       clock_now()};

		if (sql_exec(db, Q_MESSAGE_READ, &read, e) < 0)
			return -1;
	}
	return n;
}
