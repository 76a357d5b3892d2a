"""The AI SDK's route, with its stock client (npm package `ai`)."""
import fcntl
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import lib
import test_web
import web_lib

HERE = pathlib.Path(__file__).resolve().parent.parent / "support"
TALK = test_web.TALK


def sdk():
    """A directory with the package, installed once; skips if it cannot be."""
    if not shutil.which("node") or not shutil.which("npm"):
        lib.skip("node and npm are needed")
    d = pathlib.Path(tempfile.gettempdir()) / ("skep-ai-sdk-%d" % os.getuid())
    d.mkdir(mode=0o700, exist_ok=True)
    with open(d / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # tests run side by side
        if not (d / "node_modules" / "ai" / "package.json").exists():
            p = subprocess.run(["npm", "install", "--prefix", d, "--no-audit",
                                "--no-fund", "ai@6"], capture_output=True,
                               timeout=100)
            if p.returncode:
                lib.skip("the package `ai` cannot be installed")
        mine = d / ("ai_client.%d" % os.getpid())
        shutil.copy(HERE / "ai_client.mjs", mine)
        mine.replace(d / "ai_client.mjs")  # another test may read it
    return d


class Client:
    def __init__(self, home, scopes=("read", "run", "approve")):
        where = sdk()
        port = web_lib.free_port()
        self.d = web_lib.Skepd(home,
                               {"http": {"listen": "127.0.0.1:%d" % port}})
        self.d.agent()
        token = self.d.post("/v1/tokens", {"name": "ui", "scopes":
                                           list(scopes)}, 201)["token"]
        self.proc = home.start(
            "node", where / "ai_client.mjs",
            "http://127.0.0.1:%d/v1/ai/ada/chat" % port, token,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def begin(self, **command):
        self.proc.stdin.write(json.dumps(command) + "\n")
        self.proc.stdin.flush()

    def end(self):
        answer = json.loads(self.proc.stdout.readline())
        assert "error" not in answer, answer
        return answer["ok"]

    def ask(self, **command):
        self.begin(**command)
        return self.end()


def parts(message):
    """Without the marks of steps, which rows do not have."""
    return [p for p in message["parts"] if p["type"] != "step-start"]


def same(a, b):
    """The same text and calls; the client adds members that are undefined."""
    def bare(p):
        keys = ("type", "text", "state", "toolName", "toolCallId", "input",
                "output")
        return {k: p[k] for k in keys if k in p}
    assert [bare(p) for p in parts(a)] == [bare(p) for p in parts(b)], (a, b)


def test_a_message_is_answered_and_rows_are_the_same(home):
    c = Client(home)
    m = c.ask(send=json.dumps(TALK), id="m1", chat="chat 1/x")
    assert m["role"] == "assistant" and m["id"].startswith("run_")
    texts = [p["text"] for p in parts(m) if p["type"] == "text"]
    assert texts == [TALK[0]["text"], "pack my box"]
    tool = [p for p in parts(m) if p["type"] == "dynamic-tool"][0]
    assert tool["state"] == "output-available" and tool["output"] == {"n": 1}
    rows = c.d.get("/v1/sessions/ada/chat%201%2Fx/messages")["items"]
    assert [r["role"] for r in rows] == ["user", "assistant"]
    assert rows[1]["id"] == m["id"]
    same(rows[1], m)


def test_nothing_in_flight_is_null_and_no_error(home):
    c = Client(home)
    assert c.ask(resume="never") is None


def test_a_run_that_ended_a_moment_ago_is_still_replayed(home):
    c = Client(home)
    first = c.ask(send='[{"text":"a"}]', id="m", chat="c")
    for ago, want in ((10500, first), (60000, None)):
        home.execute(home.control, "UPDATE run SET ended_at = ?",
                     int(time.time() * 1000) - ago)
        assert c.ask(resume="c") == want, ago


def test_a_resumed_stream_gives_the_same_message(home):
    c = Client(home)
    slow = TALK + [{"text": "y" * 300, "chunks": 60, "every_ms": 20}]
    for n in (1, 4, 15):
        chat = "c%d" % n
        assert c.ask(send=json.dumps(slow), id="m", chat=chat,
                     stop_after=n) == {"chunks": n}
        m = c.ask(resume=chat)
        run = c.d.wait(m["id"])
        assert run["state"] == "succeeded"
        again = c.ask(resume=chat)  # the grace after the end
        same(again, m)
        assert parts(m)[-1]["text"] == "y" * 300


def test_the_same_message_again_is_the_same_run(home):
    c = Client(home)
    first = c.ask(send='[{"text":"a"}]', id="m", chat="c")
    again = c.ask(send='[{"text":"a"}]', id="m", chat="c")
    assert first["id"] == again["id"]
    assert len(c.d.get("/v1/runs")["items"]) == 1


ASKING = json.dumps([{"text": "before"}, {"ask": {"key": "k", "title": "may I?"}},
                     {"text": "after"}])


def calls(message):
    return [p for p in parts(message) if p["type"] == "dynamic-tool"]


def texts(message):
    return [p["text"] for p in parts(message) if p["type"] == "text"]


def test_a_question_is_a_call_that_waits_for_approval(home):
    c = Client(home)
    m = c.ask(send=ASKING, id="m", chat="c")
    call = calls(m)[0]
    assert (call["toolName"], call["state"]) == ("approval",
                                                 "approval-requested"), call
    q = c.d.get("/v1/approvals?state=open")["items"][0]
    assert call["approval"]["id"] == q["key"] == "k", call
    assert call["input"]["title"] == "may I?", call
    c.d.post("/v1/approvals/" + q["id"], {"allow": True})
    c.d.wait(q["run"])
    m = c.ask(resume="c")
    assert calls(m)[0]["state"] == "output-available", m
    assert calls(m)[0]["output"]["decision"] == "allow", m
    assert texts(m) == ["before", "after"], m


def test_the_client_answers_with_its_own_message(home):
    c = Client(home)
    m = c.ask(say=ASKING, chat="c")
    assert calls(m)[0]["state"] == "approval-requested", m
    assert texts(m) == ["before"], m
    m = c.ask(approve="k", approved=True, reason="go on", chat="c")
    assert calls(m)[0]["state"] == "output-available", m
    assert texts(m) == ["before", "after"], m
    row = c.d.get("/v1/approvals")["items"][0]
    assert (row["state"], row["answered_by"], row["note"]) == (
        "allowed", "http:ui", "go on"), row
    assert c.d.wait(m["id"])["state"] == "succeeded"
    assert texts(c.ask(resume="c")) == texts(m)
    # the page goes on as if nothing had happened
    m = c.ask(say='[{"text":"next"}]', chat="c")
    assert texts(m) == ["next"], m
    assert len(c.d.get("/v1/runs")["items"]) == 2


def test_the_client_says_no(home):
    c = Client(home)
    run = c.ask(say=ASKING, chat="c")["id"]
    c.begin(approve="k", approved=False, chat="c")
    answer = json.loads(c.proc.stdout.readline())
    assert answer == {"error": "may I?"}, answer
    assert c.d.wait(run, "failed")["reason"] == "denied"
    assert c.d.get("/v1/approvals")["items"][0]["state"] == "denied"


def test_a_second_question_ends_the_stream_again(home):
    c = Client(home)
    ask = [{"ask": {"key": k, "title": k}} for k in "ab"]
    m = c.ask(say=json.dumps([*ask, {"text": "done"}]), chat="c")
    assert [p["state"] for p in calls(m)] == ["approval-requested"], m
    m = c.ask(approve="a", approved=True, chat="c")
    assert [p["state"] for p in calls(m)] == ["output-available",
                                             "approval-requested"], m
    # another client answered first: its answer counts
    q = c.d.get("/v1/approvals?state=open")["items"][0]
    c.d.post("/v1/approvals/" + q["id"], {"allow": True, "note": "cli"})
    c.d.wait(m["id"])
    m = c.ask(approve="b", approved=False, chat="c")
    assert [p["state"] for p in calls(m)] == ["output-available"] * 2, m
    assert texts(m) == ["done"], m
    assert c.d.get("/v1/approvals/" + q["id"])["note"] == "cli"


def test_answers_that_are_not_allowed(home):
    c = Client(home, scopes=("read", "run"))
    c.ask(say=ASKING, chat="c")
    c.begin(approve="k", approved=True, chat="c")
    answer = json.loads(c.proc.stdout.readline())
    assert 'scope \\"approve\\"' in answer["error"], answer
    run = c.d.get("/v1/runs")["items"][0]["id"]
    output = {"type": "dynamic-tool", "state": "approval-responded",
            "approval": {"id": "nope", "approved": True}}
    for chat, message in (("c", {"id": run}), ("c", {"id": "run_x"}),
                          ("other", {"id": run}), ("c", {})):
        c.d.post("/v1/ai/ada/chat", {"id": chat, "messages": [
            {"role": "assistant", "parts": [output], **message}]}, 404)
    c.d.post("/v1/ai/ada/chat", {"id": "c", "messages": [
        {"role": "assistant", "id": run, "parts": []}]}, 422)
    output["approval"]["id"] = "k"
    for approved in (None, "true", 1, [True]):
        c.d.post("/v1/ai/ada/chat", {"id": "c", "messages": [
            {"role": "assistant", "id": run, "parts": [
                dict(output, approval={"id": "k", "approved": approved})]}]}, 422)
    # all of the answers, or none
    other = dict(output, approval={"id": "nope", "approved": True})
    for parts, status in (([output, other], 404), ([output, output], 409)):
        c.d.post("/v1/ai/ada/chat", {"id": "c", "messages": [
            {"role": "assistant", "id": run, "parts": parts}]}, status)
    assert [a["state"] for a in c.d.get("/v1/approvals")["items"]] == ["open"]
    c.d.post("/v1/ai/ada/chat", {"id": "c", "messages": [
        {"role": "assistant", "id": run, "parts": [output],
         "metadata": {"skep": {"cursor": "not one"}}}]}, 400)


def test_a_cancelled_run_ends_the_stream(home):
    c = Client(home)
    c.begin(send='[{"text":"a"},{"sleep_ms":60000}]', id="m", chat="c")
    run = lib.eventually(lambda: c.d.get("/v1/runs")["items"])[0]["id"]
    lib.eventually(lambda: c.d.get("/v1/runs/" + run)["state"] == "running")
    c.d.post("/v1/runs/%s/cancel" % run)
    m = c.end()
    assert m is None or m["id"] == run
    c.d.wait(run, "cancelled")


def rows(c, chat="c"):
    return c.d.get("/v1/sessions/ada/%s/messages" % chat)["items"]


def both(c, chat="c"):
    """The page and the rows have the same messages under the same ids."""
    page = c.ask(messages=chat)
    kept = rows(c, chat)
    assert [(m["role"], m["id"]) for m in page] == [
        (m["role"], m["id"]) for m in kept], (page, kept)
    return kept


def prompt(word):
    return json.dumps([{"text": word}])


def test_messages_keep_the_ids_of_the_client(home):
    c = Client(home)
    c.ask(say=prompt("one"), chat="c")
    c.ask(say=prompt("two"), chat="c")
    kept = both(c)
    assert [m["role"] for m in kept] == ["user", "assistant"] * 2, kept
    assert not kept[0]["id"].startswith(("evt_", "run_")), kept


def test_regenerate_replaces_the_answer(home):
    c = Client(home)
    first = c.ask(say=prompt("one"), chat="c")
    second = c.ask(say=prompt("two"), chat="c")
    again = c.ask(again=None, chat="c")
    assert texts(again) == ["two"] and again["id"] != second["id"], again
    kept = both(c)
    assert [m["id"] for m in kept if m["role"] == "assistant"] == [
        first["id"], again["id"]], kept
    # and once more, and an earlier one, by its id
    third = c.ask(again=again["id"], chat="c")
    assert third["id"] not in (again["id"], second["id"])
    assert len(both(c)) == 4
    m = c.ask(again=first["id"], chat="c")
    assert texts(m) == ["one"], m
    assert len(both(c)) == 2
    # the page goes on from there
    c.ask(say=prompt("three"), chat="c")
    kept = both(c)
    assert [texts(m) for m in kept if m["role"] == "assistant"] == [
        ["one"], ["three"]]
    # a client whose messages have no ids names the answer alone
    m = c.ask(send=prompt("four"), chat="c", message=kept[-1]["id"],
              trigger="regenerate-message")
    kept = rows(c)
    assert [texts(m) for m in kept if m["role"] == "assistant"] == [
        ["one"], ["four"]], kept
    assert kept[-1]["id"] == m["id"], (kept, m)


def test_regenerate_ends_the_run_in_flight(home):
    c = Client(home)
    slow = [{"text": "a"}, {"sleep_ms": 60000}]
    c.ask(send=json.dumps(slow), id="m", chat="c", stop_after=2)
    old = c.d.get("/v1/runs")["items"][0]["id"]
    c.begin(send=json.dumps(slow), id="m", chat="c", stop_after=2,
            trigger="regenerate-message")
    c.d.wait(old, "cancelled")
    assert c.end() == {"chunks": 2}
    runs = c.d.get("/v1/runs")["items"]
    assert len(runs) == 2, runs
    c.d.post("/v1/runs/%s/cancel" % runs[0]["id"])
    c.d.wait(runs[0]["id"], "cancelled")
    assert [m["role"] for m in rows(c)][0] == "user"
    assert sum(m["role"] == "user" for m in rows(c)) == 1, rows(c)


def test_a_message_is_edited_and_sent_again(home):
    c = Client(home)
    c.ask(say=prompt("one"), chat="c")
    c.ask(say=prompt("two"), chat="c")
    user = c.ask(messages="c")[0]["id"]
    m = c.ask(say=prompt("edited"), edit=user, chat="c")
    assert texts(m) == ["edited"], m
    kept = both(c)
    assert [m["role"] for m in kept] == ["user", "assistant"], kept
    assert kept[0]["id"] == user and "edited" in kept[0]["parts"][0]["text"]


def test_files_are_attachments_of_the_run(home):
    c = Client(home)
    c.d.agent(driver="exec", config={"stdin": "text", "shell": (
        r"sed -n 's/.*bytes): \(.*\)\]$/\1/p' | xargs -r cat")})
    part = {"type": "file", "mediaType": "text/plain", "filename": "a b.txt",
            "url": "data:text/plain;base64,d29yZHM="}
    link = {"type": "file", "mediaType": "image/png", "filename": "x.png",
            "url": "https://host/x.png"}
    m = c.ask(say="look", files=[part, link], chat="c")
    assert texts(m) == ["words\n"], m
    user = rows(c)[0]["parts"][0]["text"]
    assert "https://host/x.png" in user and "(text/plain, 5 bytes)" in user
    # files alone are a message; another answer has them too
    m = c.ask(say="", files=[part], chat="d")
    assert texts(m) == ["words\n"], m
    again = c.ask(again=None, chat="d")
    assert texts(again) == ["words\n"] and again["id"] != m["id"], again
    # sent again by the transport, it is the same run
    n = len(c.d.get("/v1/runs")["items"])
    for _ in range(2):
        c.ask(send="x", files=[part], id="f", chat="e")
    assert len(c.d.get("/v1/runs")["items"]) == n + 1
    c.d.post("/v1/ai/ada/chat", {"id": "c", "messages": [
        {"role": "user", "id": "q", "parts": [dict(part, url="data:,x")]}]},
        422)
