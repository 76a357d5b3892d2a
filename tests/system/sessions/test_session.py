"""skep session: transcripts, branches, search, without any supervisor."""
import hashlib
import json
import subprocess

import lib


def fresh(home, *texts):
    home.skep("agent", "add", "a", "--driver", "script")
    for i, text in enumerate(texts):
        home.skep("session", "append", "s", text,
                  "--role", "user" if i % 2 == 0 else "assistant")


def bodies(home, session, *more):
    return [ev["body"].get("content") for ev in
            home.skep("session", "show", session, "--events", "--json",
                      *more).lines]


def test_the_first_append_makes_and_registers_the_file(home):
    fresh(home)
    assert home.skep("session", "ls", "--json").lines == []
    assert not home.agent_db("a").exists()
    home.skep("session", "append", "s", "hello")
    rows = home.query(home.control, "SELECT agent, path, schema_version > 0, "
                      "bytes > 0, last_seen_at > 0 FROM agent_database")
    assert rows == [("a", "agents/a/agent.sqlite", 1, 1, 1)]
    assert [s["key"] for s in home.skep("session", "ls", "--json").lines] == ["s"]


def test_redelivery_returns_the_first_event_and_adds_nothing(home):
    fresh(home)
    first = home.skep("session", "append", "s", "x", "--key", "k", "--json").json
    again = home.skep("session", "append", "s", "x", "--key", "k", "--json").json
    assert again["repeated"] and again["seq"] == first["seq"] == 1
    assert "'k'" in home.refused(65, "session", "append", "s", "y", "--key", "k")
    assert bodies(home, "s") == ["x"]


def test_a_rewind_hides_and_a_restore_brings_back(home):
    fresh(home, "1", "2", "3", "4")
    home.skep("session", "rewind", "s", "2")
    assert bodies(home, "s") == ["1", "2"]
    assert bodies(home, "s", "--view", "log") == ["1", "2", "3", "4"]
    home.skep("session", "restore", "s")
    assert bodies(home, "s") == ["1", "2", "3", "4"]
    home.refused(66, "session", "restore", "s")
    home.skep("session", "rewind", "s", "1")
    home.skep("session", "append", "s", "other")
    assert bodies(home, "s") == ["1", "other"]


def test_a_fork_shares_the_past_and_outlives_its_base(home):
    fresh(home, "1", "2", "3")
    home.skep("session", "fork", "s", "f", "--at", "2")
    home.skep("session", "fork", "s", "c", "--copy")
    home.skep("session", "append", "f", "mine")
    assert bodies(home, "f") == ["1", "2", "mine"]
    assert home.query(home.agent_db("a"), "SELECT count(*) FROM event") == [(7,)]
    tree = home.skep("session", "tree", "f", "--json").lines
    assert [(t["key"], t["depth"], t["base_seq"]) for t in tree][:2] == \
        [("s", 0, 0), ("f", 1, 2)]
    home.refused(65, "session", "fork", "s", "f")
    home.skep("session", "rm", "s")
    assert bodies(home, "f") == ["1", "2", "mine"]
    assert bodies(home, "c") == ["1", "2", "3"]
    home.refused(66, "session", "show", "s")


def test_export_and_import_give_the_same_records(home):
    fresh(home, "1", "zwei\n", "\"drei\"")
    home.skep("session", "rewind", "s", "2")
    home.skep("session", "append", "s", "four", "--key", "k")
    file = home.dir / "s.jsonl"
    home.skep("session", "export", "s", "--output", file)
    exported = file.read_bytes()
    assert home.skep("session", "export", "s").raw == exported
    home.skep("agent", "add", "b", "--driver", "script")
    r = home.skep("session", "import", file, "--agent", "b", "--json").json
    assert r["session"] == "s" and r["events"] == 4
    got = home.skep("session", "export", "s", "--agent", "b").raw
    assert got.replace(b'"agent":"b"', b'"agent":"a"') == exported
    home.refused(65, "session", "import", file, "--agent", "b")


def test_a_broken_import_names_the_line_and_changes_nothing(home):
    fresh(home, "1", "2")
    lines = home.skep("session", "export", "s").out.splitlines()
    before = home.skep("session", "ls", "--all", "--json").out
    for bad in (["{"], ["[]"], [lines[1]], [lines[0], "{\"record\":1}"],
                [lines[0], lines[1], lines[1]], [lines[0], "\xff"]):
        text = "\n".join(bad).encode("latin-1")
        error = home.refused(65, "session", "import", "-", "--session", "t",
                            input=text)
        assert "line %d" % len(bad) in error, error
    assert home.skep("session", "ls", "--all", "--json").out == before
    home.integrity()


def test_locators_and_ids_name_sessions(home):
    fresh(home)
    home.skep("session", "append", "chat/ä 1", "hello")
    facts = home.skep("session", "show", "chat/ä 1", "--json").json
    assert facts["locator"] == "sqlite-transcript://a/chat%2F%C3%A4%201"
    for name in (facts["locator"], facts["sid"]):
        assert home.skep("session", "show", name, "--json").json == facts
    home.refused(64, "session", "show", facts["locator"], "--agent", "zed")
    home.refused(66, "session", "show", "sqlite-transcript://a/none")
    home.refused(64, "session", "show", "sqlite-transcript://../x")
    assert not (home.dir / "sqlite-transcript:").exists()


def test_patches_of_different_fields_both_land(home):
    fresh(home, "1")
    procs = [subprocess.Popen(
        [home.bin / "skep", "session", "patch", "s",
         json.dumps({"meta": {"k%d" % i: i}})], env=home.env,
        stdout=subprocess.DEVNULL) for i in range(12)]
    assert [p.wait() for p in procs] == [0] * 12
    row = home.skep("session", "show", "s", "--json").json
    assert row["meta"] == {"k%d" % i: i for i in range(12)}
    error = home.refused(65, "session", "patch", "s", '{"title":"x"}',
                        "--if-rev", "1")
    assert str(row["rev"]) in error
    home.refused(65, "session", "patch", "s", '{"nonsense":1}')
    home.refused(65, "session", "patch", "s", '{"title":')
    home.refused(65, "session", "patch", "s", '{"status":"lost"}')


def test_archived_sessions_are_shown_on_request(home):
    fresh(home, "1")
    home.skep("session", "archive", "s")
    assert home.skep("session", "ls", "--json").lines == []
    for option in (["--all"], ["--status", "archived"]):
        assert len(home.skep("session", "ls", "--json", *option).lines) == 1
    home.skep("session", "unarchive", "s")
    home.skep("session", "title", "s", "A title")
    assert home.skep("session", "ls", "--json").json["title"] == "A title"
    home.skep("session", "title", "s")
    assert home.skep("session", "ls", "--json").json["title"] is None


def test_search_finds_what_is_shown(home):
    fresh(home, "the quick brown fox", "over the lazy dog")
    hits = home.skep("session", "search", "lazy", "dog", "--json").lines
    assert [(h["session"], h["seq"]) for h in hits] == [("s", 2)]
    home.skep("session", "rewind", "s", "1")
    assert home.skep("session", "search", "lazy", "--json").lines == []
    assert len(home.skep("session", "search", "lazy", "--hidden",
                         "--json").lines) == 1
    assert home.skep("session", "search", "AND (\"*", "--json").lines == []


def test_a_follower_wakes_up_for_another_process(home):
    fresh(home, "1")
    p = home.start(home.bin / "skep", "session", "tail", "s", "--follow",
                   "--limit", "0", "--json", stdout=subprocess.PIPE)
    lib.eventually(lambda: b"inotify" in b"".join(
        lib.os.readlink("/proc/%d/fd/%s" % (p.pid, fd)).encode()
        for fd in lib.os.listdir("/proc/%d/fd" % p.pid)), what="watching")
    home.skep("session", "append", "s", "two")
    assert json.loads(p.stdout.readline())["body"]["content"] == "two"
    home.skep("session", "append", "s", "three")
    assert json.loads(p.stdout.readline())["seq"] == 3


def test_long_lists_come_by_pages_without_gaps(home):
    fresh(home)
    for i in range(3):
        home.skep("session", "append", "s%d" % i, "x")
    keys = [s["key"] for s in home.skep("session", "ls", "--json").lines]
    assert keys == ["s2", "s1", "s0"]
    first = home.skep("session", "ls", "--limit", "2", "--json").lines
    rest = home.skep("session", "ls", "-a", "a", "--before", str(first[-1]["id"]),
                     "--json").lines
    assert [s["key"] for s in first + rest] == keys
    assert home.skep("session", "ls", "--prefix", "s1",
                     "--json").json["key"] == "s1"


def test_artifacts_of_any_bytes_come_back_by_hash(home):
    fresh(home)
    data = bytes(range(256)) * 40_000
    file = home.dir / "blob"
    file.write_bytes(data)
    row = home.skep("artifact", "put", file, "--run", "run_1", "--json").json
    assert row["size"] == len(data) and row["name"] == "blob"
    assert row["sha256"] == hashlib.sha256(data).hexdigest()
    assert home.skep("artifact", "get", row["aid"]).raw == data
    out = home.dir / "out"
    home.skep("artifact", "get", "blob", "--run", "run_1", "--output", out)
    assert out.read_bytes() == data
    again = home.skep("artifact", "put", "-", "blob", "--run", "run_1",
                      "--json", input="new").json
    assert again["aid"] == row["aid"] and again["size"] == 3
    assert len(home.skep("artifact", "ls", "--run", "run_1", "--json").lines) == 1
    home.skep("artifact", "rm", "blob", "--run", "run_1")
    assert home.skep("artifact", "ls", "--json").lines == []
    home.refused(66, "artifact", "get", row["aid"])
    assert "--owner" in home.refused(64, "artifact", "put", file)
    assert home.query(home.agent_db("a"),
                      "SELECT count(*) FROM artifact_chunk") == [(0,)]


def test_an_artifact_over_the_limit_leaves_nothing(home):
    fresh(home)
    (home.path / "skep.json").write_text('{"agent": {"artifact_max": "1k"}}')
    home.refused(65, "artifact", "put", "-", "x", "--owner", "o",
                 input=b"y" * 2000)
    assert home.skep("artifact", "ls", "--json").lines == []
    assert home.skep("artifact", "put", "-", "x", "--owner", "o", "--json",
                     input=b"y" * 1024).json["size"] == 1024


def test_stats_name_sizes_pragmas_rows_and_statuses(home):
    fresh(home, "1", "2")
    home.skep("session", "archive", "s")
    control, agent = home.skep("state", "stats", "--json").lines
    for row in (control, agent):
        assert row["journal_mode"] == "wal" and row["synchronous"] == "full"
        assert row["busy_timeout"] == 30000 and row["foreign_keys"]
        assert row["secure_delete"] is False and row["bytes"] > 0
    assert agent["rows"]["event"] == 2
    assert agent["statuses"]["session"] == {"archived": 1}
    assert agent["langgraph"]["checkpoints"] == 0
    home.agent_db("a").rename(home.dir / "moved")
    agent = home.skep("state", "stats", "--json").lines[1]
    assert str(home.agent_db("a")) in agent["problem"]


def test_a_damaged_search_index_is_built_again(home):
    fresh(home, "the quick fox", "a lazy dog")
    search = ("session", "search", "fox", "--agent", "a", "--json")
    assert len(home.skep(*search).lines) == 1
    home.execute(home.agent_db("a"), "DELETE FROM search_text")
    assert home.skep(*search).lines == [], "its events are not indexed again"
    assert len(home.skep(*search, "--rebuild").lines) == 1
    assert len(home.skep(*search).lines) == 1
