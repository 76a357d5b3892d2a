"""The HTTP interface of skepd: routes, streams, who gets in."""
import http.client
import json
import random
import re

import lib
import web_lib

TALK = [{"text": "the quick brown fox jumps over the lazy dog", "chunks": 8,
         "every_ms": 30},
        {"tool": {"name": "ls", "input": {"p": "/"}, "output": {"n": 1}},
         "ms": 60},
        {"event": {"type": "note", "n": 1}, "repeat": 20, "every_ms": 10},
        {"text": "pack my box", "chunks": 3, "every_ms": 30}]


def refs_of(value):
    if isinstance(value, dict):
        for k, v in value.items():
            if k == "$ref":
                yield v
            else:
                yield from refs_of(v)
    elif isinstance(value, list):
        for v in value:
            yield from refs_of(v)


def test_the_document_is_whole_and_true(home):
    d = web_lib.Skepd(home)
    d.agent()
    run = d.run({"text": "x"})
    d.wait(run)
    home.skep("channel", "add", "plug", "plugin", "--", "/no/such")
    doc = d.get("/openapi.json")
    assert doc["openapi"] == "3.1.0"
    names = [op["operationId"] for ops in doc["paths"].values()
             for op in ops.values()]
    assert len(names) == len(set(names)) > 25
    for ref in refs_of(doc):
        at = doc
        for step in ref.lstrip("#/").split("/"):
            at = at[step]
    # every page that can be looked at has the form that the document says
    params = {"name": "ada", "agent": "ada", "key": d.get(
        "/v1/runs/" + run)["session"], "id": run}
    seen = 0
    for path, ops in doc["paths"].items():
        content = ops.get("get", {}).get("responses", {}).get("200", {}) \
            .get("content", {}).get("application/json")
        if not content or "approvals/{id}" in path or path.endswith("/next"):
            continue
        if re.search("((deliveries|inbound|experiments)/{id}|schedules/)", path):
            continue
        if path.endswith("/diff"):  # of a workspace that is not on the disk
            continue
        if re.match("/v1/(usage|search/|workspaces/|log$)", path):  # test_ui.py
            continue
        if path.startswith("/openai/"):  # test_openai.py
            continue
        params["name"] = "local" if "/channels/" in path else "ada"
        if path.endswith("/log"):
            params["name"] = "plug"
        answer = d.get(re.sub(r"\{(\w+)\}", lambda m: params[m[1]], path))
        schema = content["schema"]
        if "items" in schema.get("properties", {}):
            assert set(answer) == {"items", "next"}, path
            schema = schema["properties"]["items"]["items"]
            answer = answer["items"][0] if answer["items"] else None
        if answer is not None and "$ref" in schema:
            fields = doc["components"]["schemas"][
                schema["$ref"].split("/")[-1]]["properties"]
            assert set(answer) == set(fields), path
            seen += 1
    assert seen >= 7, seen
    d.stop()


def test_no_credential_is_refused_on_every_route_also_on_streams(home):
    port = web_lib.free_port()
    d = web_lib.Skepd(home, {"http": {"listen": "127.0.0.1:%d" % port}})
    doc = d.get("/openapi.json")
    # where messages come in, a signature of the channel is the credential; the
    # files of the dashboard have no data; a login brings its own
    pages = {"/v1/logins", "/ui", "/ui/", "/ui/{file}"}
    assert {path for path, ops in doc["paths"].items()
            for op in ops.values() if not op["security"]} == {
                "/v1/channels/{name}/in"} | pages
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=lib.HANG)
    for path, ops in doc["paths"].items():
        for method in ops:
            if path in pages and not ops[method]["security"]:
                continue
            for headers in ({}, {"Authorization": "Bearer skep_wrong"}):
                headers["Accept"] = "text/event-stream"
                c.request(method.upper(), re.sub(r"\{\w+\}", "x", path),
                          headers=headers)
                r = c.getresponse()
                assert r.status == 401, (method, path, r.status)
                said = json.loads(r.read())
                assert said.get("error", said)["code"] == "UNAUTHORIZED"


def test_a_token_may_do_what_its_scopes_say_and_no_longer(home):
    port = web_lib.free_port()
    d = web_lib.Skepd(home, {"http": {"listen": "127.0.0.1:%d" % port}})
    d.agent()
    made = d.post("/v1/tokens", {"name": "eye", "scopes": ["read"]}, 201)

    def ask(method, path, body=None):
        c = http.client.HTTPConnection("127.0.0.1", port, timeout=lib.HANG)
        c.request(method, path, body=body, headers={
            "Authorization": "Bearer " + made["token"]})
        return c.getresponse().status

    assert ask("GET", "/v1/agents") == 200
    assert ask("POST", "/v1/runs", '{"agent":"ada","prompt":"[]"}') == 403
    assert ask("GET", "/v1/tokens") == 403
    listed = d.get("/v1/tokens")["items"]
    assert [t["name"] for t in listed] == ["eye"] and "hash" not in listed[0]
    for path in home.path.rglob("*"):
        if path.is_file():
            assert made["token"].encode() not in path.read_bytes(), path
    assert made["token"] not in d.log()
    assert d.ask("DELETE", "/v1/tokens/eye")[0] == 200
    assert ask("GET", "/v1/agents") == 401


def test_a_follower_gets_everything_then_live_then_the_end(home):
    d = web_lib.Skepd(home)
    d.agent()
    run = d.run(*TALK)
    r = web_lib.Reader().read(d.follow("/v1/runs/%s/events" % run))
    assert r.over and r.status[0]["run"] == run
    assert r.status[-1]["state"] == "succeeded"
    assert [e["seq"] for e in r.events] == list(range(1, len(r.events) + 1))
    assert r.events[-1]["type"] == "run_finished"
    texts = sorted(r.texts().items())
    assert texts[0][1] == (TALK[0]["text"], "done")
    assert texts[-1][1] == ("pack my box", "done")
    # it grew before our eyes
    assert sum(p["rev"] > 2 for p in r.parts.values()) >= 2
    again = web_lib.Reader().read(d.follow("/v1/runs/%s/events" % run))
    assert again.events == r.events and again.texts() == r.texts()
    page = d.get("/v1/runs/%s/events?limit=3" % run)
    assert [e["seq"] for e in page["items"]] == [1, 2, 3]
    assert page["next"] == "3"
    assert page["items"][2]["parts"][0]["text"] == TALK[0]["text"]


def test_reconnecting_at_any_moment_loses_and_doubles_nothing(home):
    d = web_lib.Skepd(home)
    d.agent()
    rng = random.Random(5)
    for _ in range(3):
        run = d.run(*TALK)
        r = web_lib.Reader()
        while not r.over:
            s = d.follow("/v1/runs/%s/events" % run, after=r.last)
            r.read(s, at_most=rng.randint(1, 6))
            s.close()
        whole = web_lib.Reader().read(d.follow("/v1/runs/%s/events" % run))
        assert r.events == whole.events
        assert r.texts() == whole.texts()
        assert d.get("/v1/runs/" + run)["state"] == "succeeded"


def test_streams_resume_over_the_death_of_the_supervisor(home):
    d = web_lib.Skepd(home)
    d.agent()
    run = d.run(*TALK, {"text": "x" * 400, "chunks": 100, "every_ms": 20})
    r = web_lib.Reader().read(d.follow("/v1/runs/%s/events" % run), at_most=8)
    s = d.follow("/v1/runs/%s/events" % run, after=r.last)
    d.kill()
    try:
        r.read(s)
    except (http.client.IncompleteRead, ConnectionError):
        pass
    assert not r.over
    d.start()
    r.read(d.follow("/v1/runs/%s/events" % run, after=r.last))
    assert r.over
    d.wait(run)
    whole = web_lib.Reader().read(d.follow("/v1/runs/%s/events" % run))
    assert r.events == whole.events and r.texts() == whole.texts()


def test_leaving_a_stream_never_stops_the_run(home):
    d = web_lib.Skepd(home)
    d.agent()
    run = d.run(*TALK)
    for _ in range(20):
        s = d.follow("/v1/runs/%s/events" % run)
        s.close()
    d.wait(run)


def test_a_session_is_followed_from_run_to_run(home):
    d = web_lib.Skepd(home)
    d.agent()
    first = d.run({"text": "one"}, session="a/b c")
    path = "/v1/sessions/ada/a%2Fb%20c/events"
    r = web_lib.Reader()
    s = iter(d.follow(path))
    d.wait(first)
    second = d.run({"text": "two"}, session="a/b c")
    while not ("two", "done") in r.texts().values():
        r.take(*next(s))
    runs = {e["run"] for e in r.events}
    assert {first, second} <= runs
    assert r.status[0]["state"] != ""
    ended = web_lib.Reader().read(d.follow(path + "?until=idle"))
    assert ended.over and ended.status[-1]["state"] == "idle"
    shown = d.get("/v1/sessions/ada/a%2Fb%20c/messages")["items"]
    assert [m["role"] for m in shown] == ["user", "assistant"] * 2
    assert shown[3]["parts"][0]["text"] == "two"


def test_what_is_not_there_is_404_in_json(home):
    d = web_lib.Skepd(home)
    d.agent()
    for path in ("/v1/runs/run_nope", "/v1/runs/run_nope/events",
                 "/v1/agents/nobody", "/v1/sessions/ada/none",
                 "/v1/sessions/ada/none/events", "/v1/approvals/apr_nope",
                 "/v1/nothing"):
        status, answer = d.ask("GET", path)
        assert (status, answer["code"]) == (404, "NOTFOUND"), path
    status, _ = d.ask("GET", "/v1/ai/ada/chat/none/stream")
    assert status == 204


def test_bad_requests_are_named_and_change_nothing(home):
    d = web_lib.Skepd(home)
    d.agent()
    before = d.get("/v1/events?after=0")
    for body, word in (("{", "line 1"), ("[]", "object"), ('{"x":1}', "x"),
                       ('{"agent":7}', "agent"),
                       ('{"agent":"ada","prompt":"[]","delay_ms":1.5}',
                        "delay_ms")):
        status, answer = d.ask("POST", "/v1/runs", body)
        assert status == 422 and word in answer["detail"], (body, answer)
    status, answer = d.ask("POST", "/v1/runs",
                           '{"agent":"nobody","prompt":"x"}')
    assert status in (404, 422), answer
    for path in ("/v1/runs?limit=0", "/v1/runs?limit=x", "/v1/runs?state=odd",
                 "/v1/runs?a=%zz", "/v1/events?after=-1"):
        assert d.ask("GET", path)[0] == 400, path
    run = d.run({"text": "x"})
    status, answer = d.ask("GET", "/v1/runs/%s/events?after=1.x" % run)
    assert status == 400 and "1.x" in answer["detail"]
    d.wait(run)
    assert len(before["items"]) == 1


def test_limits_come_from_the_configuration(home):
    d = web_lib.Skepd(home, {"http": {"body_max": "2k", "head_max": 1024,
                                      "heartbeat": "200ms"}})
    d.agent()
    body = {"agent": "ada", "prompt": json.dumps([{"text": "x" * 3000}])}
    assert d.ask("POST", "/v1/runs", body)[0] == 413
    assert d.ask("GET", "/v1/health", headers={"X-Long": "y" * 2000})[0] == 431
    run = d.run({"sleep_ms": 60000})
    s = d.follow("/v1/runs/%s/events" % run)
    beats = 0
    while beats < 2:
        beats += s.response.readline().startswith(b":")
    s.close()
    d.post("/v1/runs/%s/cancel" % run)
    d.wait(run, "cancelled")


def test_the_same_key_is_the_same_run(home):
    d = web_lib.Skepd(home)
    d.agent()
    body = {"agent": "ada", "prompt": "[]", "idem_key": "k"}
    first = d.post("/v1/runs", body, 201)
    assert d.post("/v1/runs", body, 200)["id"] == first["id"]
    assert d.ask("POST", "/v1/runs", dict(body, prompt='[{"text":"x"}]'))[0] \
        == 409
    assert len(d.get("/v1/runs")["items"]) == 1


def test_a_question_is_answered_once(home):
    d = web_lib.Skepd(home)
    d.agent()
    run = d.run({"ask": {"key": "k", "title": "may I?"}}, {"text": "yes"})
    asked = lib.eventually(
        lambda: d.get("/v1/approvals?state=open")["items"], what="a question")
    assert asked[0]["title"] == "may I?" and asked[0]["run"] == run
    path = "/v1/approvals/" + asked[0]["id"]
    assert d.post(path, {"allow": True, "note": "go"})["state"] == "allowed"
    assert d.ask("POST", path, {"allow": False})[0] == 409
    assert d.ask("POST", path, "")[0] in (409, 422)
    d.wait(run)
    assert d.get(path)["state"] == "allowed"


def test_a_cancel_is_harmless_when_it_comes_late(home):
    d = web_lib.Skepd(home)
    d.agent()
    run = d.run({"sleep_ms": 60000})
    lib.eventually(lambda: d.get("/v1/runs/" + run)["state"] == "running")
    live = d.get("/v1/active?memory=1")["items"]
    assert [r["id"] for r in live] == [run] and live[0]["rss"] > 0
    assert d.post("/v1/runs/%s/cancel" % run, {"reason": "why not"})["changed"]
    d.wait(run, "cancelled")
    assert not d.post("/v1/runs/%s/cancel" % run)["changed"]
    moves = d.get("/v1/runs/%s/transitions" % run)["items"]
    assert [m["to_state"] for m in moves][-1] == "cancelled"


def test_the_hosts_log_has_a_cursor_that_lasts(home):
    d = web_lib.Skepd(home)
    d.agent()
    s = iter(d.follow("/v1/events"))
    kind, cursor, first = next(s)
    assert kind == "ready" and int(cursor) == first["seq"]
    run = d.run({"text": "x"})
    d.wait(run)
    seen = []
    while not seen or seen[-1][2]["body"].get("state") != "succeeded":
        seen.append(next(s))
    assert {e[0] for e in seen} == {"run"}
    d.kill()
    d.start()
    again = iter(d.follow("/v1/events", after=cursor))
    assert [next(again) for _ in seen] == seen
    # what was before the oldest row is gone
    home.execute(home.control, "DELETE FROM host_event WHERE seq < ?",
                 int(seen[-1][1]))
    gap = iter(d.follow("/v1/events", after=cursor))
    kind, at, data = next(gap)
    assert kind == "resync_required" and data["after"] == int(cursor)
    assert next(gap) == seen[-1]
    ahead = iter(d.follow("/v1/events", after="999999"))
    assert next(ahead)[0] == "resync_required"


def metric(d, name):
    m = re.search("^%s (.*)$" % re.escape(name), d.get("/metrics"), re.M)
    return float(m[1]) if m else None


def test_metrics_count_and_name_no_run(home):
    d = web_lib.Skepd(home)
    d.agent()
    run = d.run({"text": "x"})
    d.wait(run)

    def value(name):
        return metric(d, name)

    assert lib.eventually(
        lambda: value('skep_run_transitions_total{to="succeeded"}') == 1)
    assert value("skep_runs_active") == 0
    assert value('skep_http_requests_total{route="run_submit"}') == 1
    assert run not in d.get("/metrics")


def test_metrics_count_what_became_of_messages(home):
    d = web_lib.Skepd(home)
    d.agent()
    d.ask("PUT", "/v1/channels/log", {"kind": "file", "config": {
        "path": str(home.path / "out.jsonl")}})
    for text in "one", "two":
        d.ask("POST", "/v1/deliveries", {"channel": "log",
                                          "conversation": "c", "body": {"text": text}})
    assert lib.eventually(
        lambda: metric(d, 'skep_deliveries_total{state="delivered"}') == 2)


def test_followers_of_a_busy_host_leave_nothing_behind(home):
    d = web_lib.Skepd(home)
    d.agent()
    runs = [d.run(*TALK, session="s%d" % i) for i in range(8)]
    for i in range(200):
        s = d.follow("/v1/runs/%s/events" % runs[i % 8])
        if i % 3:
            next(iter(s))
        s.close()
    for run in runs:
        d.wait(run)
    assert lib.eventually(
        lambda: "\nskep_followers 0\n" in d.get("/metrics"))
    d.stop()
    assert "Sanitizer" not in d.log()


def test_a_lost_hint_costs_time_only(home):
    """A worker that sends no hints of its commits is followed too."""
    d = web_lib.Skepd(home)
    d.agent()
    run = d.run({"text": "x"}, session="s")
    d.wait(run)
    s = iter(d.follow("/v1/sessions/ada/s/events", after="100"))
    next(s)
    db = home.agent_db("ada")
    home.execute(db, "INSERT INTO event (pos, type, at, body) "
                 "VALUES ((1 << 32) | 101, 17, 1, '{}')")
    for event, _, data in s:
        if event == "event":
            break
    assert data["seq"] == 101


def test_sessions_are_changed_row_by_row(home):
    d = web_lib.Skepd(home)
    d.agent()
    status, _ = d.ask("PATCH", "/v1/sessions/ada/s", {"title": "x"})
    assert status == 404
    d.wait(d.run({"text": "one"}, session="s"))
    path = "/v1/sessions/ada/s"
    status, row = d.ask("PATCH", path, {"title": "first", "meta": {"a": 1}})
    assert (status, row["title"], row["meta"]) == (200, "first", {"a": 1})
    rev = row["rev"]
    status, row = d.ask("PATCH", path, {"meta": {"b": 2}, "model": "m"})
    assert row["meta"] == {"a": 1, "b": 2} and row["title"] == "first"
    status, output = d.ask("PATCH", path, {"title": "late"},
                         {"If-Match": '"%d"' % rev})
    assert (status, output["code"]) == (409, "CONFLICT")
    assert d.ask("PATCH", path, {"nonsense": 1})[0] == 422
    assert d.ask("PATCH", path, "{")[0] == 422
    last = d.get(path + "/events")["items"][-1]["seq"]
    fork = d.post(path + "/fork", {"key": "t", "at": 2})
    assert fork["base_seq"] == 2 and fork["kind"] == "fork"
    assert d.ask("POST", path + "/fork", {"key": "t"})[0] == 409
    d.post(path + "/rewind", {"seq": 1})
    assert len(d.get(path + "/messages")["items"]) == 1
    d.post(path + "/restore")
    assert len(d.get(path + "/messages")["items"]) == 2
    assert d.ask("POST", path + "/rewind", {"seq": last + 9})[0] >= 400
    assert d.ask("DELETE", path)[0] == 200
    assert d.ask("GET", path)[0] == 404
    assert [e["seq"] for e in
            d.get("/v1/sessions/ada/t/events")["items"]] == [1, 2]
    status, row = d.ask("PUT", "/v1/sessions/ada/new", {"title": "n"})
    assert (status, row["key"], row["title"]) == (200, "new", "n")
