/* The reference program once more, on better-sqlite3. Arguments: the database,
 * a file of events ("key<TAB>json" lines) and seconds. Prints one JSON line:
 * how many were committed, in how many ns, and each one's time in µs. */
const fs = require('fs');
const { randomUUID } = require('crypto');
const Database = require('better-sqlite3');

const [file, eventsFile, seconds] = process.argv.slice(1);
const events = fs.readFileSync(eventsFile, 'utf8').split('\n');
const db = new Database(file);
const session = 'session-1';

db.pragma('journal_mode = WAL');
db.pragma('synchronous = NORMAL');
db.pragma('foreign_keys = ON');
const begin = db.prepare('BEGIN IMMEDIATE');
const commit = db.prepare('COMMIT');
const ensure = db.prepare(
	"INSERT OR IGNORE INTO session_entries VALUES (?, '{}', ?)");
const findKey = db.prepare(
	'SELECT seq FROM transcript_event_identities ' +
	'WHERE session_id = ? AND message_idempotency_key = ?');
const nextSeq = db.prepare(
	'SELECT coalesce(max(seq), 0) + 1 AS next FROM transcript_events ' +
	'WHERE session_id = ?');
const tail = db.prepare(
	'SELECT event_id FROM transcript_event_identities ' +
	'WHERE session_id = ? AND has_parent = 1 ORDER BY seq DESC LIMIT 1');
const event = db.prepare('INSERT INTO transcript_events VALUES (?, ?, ?, ?)');
const identity = db.prepare(
	'INSERT INTO transcript_event_identities ' +
	"VALUES (?, ?, ?, 'message', 1, ?, ?, ?)");

function append(key, json) {
	const now = Date.now();

	begin.run();
	ensure.run(session, now);
	if (!key || !findKey.get(session, key)) {
		const seq = nextSeq.get(session).next;
		const parent = tail.get(session);

		event.run(session, seq, json, now);
		identity.run(session, randomUUID(), seq,
			parent ? parent.event_id : null, key || null, now);
	}
	commit.run();
}

const waits = [];
const start = process.hrtime.bigint();
const end = start + BigInt(Math.round(Number(seconds) * 1e9));
let before = start, n = 0;
while (before < end && n < events.length && events[n]) {
	const tab = events[n].indexOf('\t');

	append(events[n].slice(0, tab), events[n].slice(tab + 1));
	const now = process.hrtime.bigint();
	waits.push(Number(now - before) / 1000);
	before = now;
	n++;
}
db.close();
console.log(JSON.stringify({ n, ns: Number(before - start), waits }));
