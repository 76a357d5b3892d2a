"""What goes to the model's server beside the conversation: headers, pictures and
other attachments."""
import base64
import re

from channel_lib import send_inbound
from chat_mock import Mock, calls, text
from skepd_lib import Host, Refused, finish
from test_chat import KEY, chat, run
from test_media import PNG, b64

SECRET = KEY + "x"


def test_headers_come_from_credentials_and_the_environment(home):
    home.skep("agent", "add", "x", "--driver", "script")
    (home.path / "credentials" / "gate").write_text(SECRET + "\n")
    (home.path / "credentials" / "gate").chmod(0o600)
    wrong = {"status": 400, "body": {"error": {"message": "bad " + SECRET}}}
    m = Mock(home, text("ok"), wrong)
    home.host = Host(home)
    home.host.env["GATE"] = "from the environment"
    home.host.start()
    d = chat(home, m, config={"headers": {
        "X-Title": "skep", "X-Empty": "", "X-Gate": {"env": "GATE"},
        "Authorization": {"file": "gate", "prefix": "Token "}}})
    assert run(d)["state"] == "succeeded"
    sent = m.asked[0][1]
    assert sent["X-Title"] == "skep" and sent["X-Empty"] == ""
    assert sent["X-Gate"] == "from the environment"
    assert sent["Authorization"] == "Token " + SECRET
    row = run(d)
    assert row["reason"] == "agent_refused" and SECRET not in row["detail"]
    try:  # a secret does not even get into the definition
        d.agent("b", "chat", {"endpoint": m.url, "headers": {
            "X-Api-Key": "abc"}}, model="m")
        raise AssertionError("a secret was stored")
    except Refused as e:
        assert e.status == 422 and "credentials" in e.body["detail"], e
    for bad, why in (({"X y": "a"}, "valid header name"),
                     ({"X": "a\r\nY: b"}, "control character"),
                     ({"X": {"env": "NO_SUCH"}}, "NO_SUCH"),
                     ({"X": {"file": "a", "env": "b"}}, "a value must be")):
        d.agent("b", "chat", {"endpoint": m.url, "headers": bad}, model="m")
        row = run(d, agent="b")
        assert row["reason"] == "bad_config" and why in row["detail"], row
    try:
        d.agent("b", "chat", {"endpoint": m.url, "headers": {"X": 1}}, model="m")
        raise AssertionError("a number was accepted as a header")
    except Refused as e:
        assert e.status == 422 and "config.headers must be" in e.body["detail"], e
    finish(d)
    for path in [p for p in home.dir.rglob("*") if p.is_file()]:
        if path.parent.name != "credentials":
            assert SECRET.encode() not in path.read_bytes(), path


def content(m, n=-1):
    asked = m.asked[n][2]
    users = [x for x in asked.get("messages", asked.get("input"))
             if x.get("role") == "user"]
    return users[-1]["content"]


def ask_with(home, mock, agent, config=None, workspace=None):
    """One message with a picture, a text and something else."""
    d = chat(home, mock, agent, config=config,
             **({"workspace": workspace} if workspace else {}))
    d.call("PUT", "/v1/channels/t" + agent, {"kind": "pull", "config": {
        "agent": agent}})
    send_inbound(d, "t" + agent, "look", "m1", attachments=[
        {"name": "cat.png", "base64": b64(PNG)},
        {"name": "a.txt", "base64": b64(b"words in a file")},
        {"name": "liar.png", "type": "image/png", "base64": b64(b"no picture")}])
    row = d.call("GET", "/v1/runs?agent=" + agent)["items"][0]
    return d, d.until(row["id"])


def test_pictures_and_files_reach_the_model(home):
    def read(body):
        users = [x for x in body.get("messages", body.get("input"))
                 if x.get("role") == "user"]
        path = re.search(r"(/\S+a\.txt)", users[-1]["content"][0]["text"])
        return calls(("read_file", {"path": path.group(1)}),
                     ("read_file", {"path": "/etc/passwd"}))

    for agent, mode in (("p", None), ("q", "vfs-only")):
        m = Mock(home, read, text("done"))
        d, row = ask_with(home, m, agent, workspace=mode)
        assert row["state"] == "succeeded", row
        parts = content(m, 0)
        assert [p["type"] for p in parts] == ["text", "image_url"], parts
        kind, data = parts[1]["image_url"]["url"].split(",")
        assert kind == "data:image/png;base64"
        assert base64.b64decode(data) == PNG
        r = m.results()
        assert r[0] == "words in a file" and "root:" not in r[1], r
    finish(d)


def test_pictures_go_to_the_responses_api(home):
    done = [{"type": "response.completed", "response": {
        "object": "response", "status": "completed", "output": [
            {"type": "message", "content": [{"type": "output_text",
                                             "text": "a cat"}]}]}}]
    m = Mock(home, done)
    d, row = ask_with(home, m, "r", {"api": "responses"})
    assert row["state"] == "succeeded", row
    parts = content(m)
    assert [p["type"] for p in parts] == ["input_text", "input_image"], parts
    assert parts[1]["image_url"].startswith("data:image/png;base64,")
    finish(d)


PDF = b"%PDF-1.7\n\x00\xff" + b"p" * 50
WAV = b"RIFF\x10\0\0\0WAVEfmt " + b"w" * 50
MP3 = b"ID3\x04" + b"m" * 50
OGG = b"OggS\0" + b"o" * 50


def ask_with_files(home, mock, agent, config=None):
    d = chat(home, mock, agent, config=config)
    d.call("PUT", "/v1/channels/t" + agent, {"kind": "pull", "config": {
        "agent": agent}})
    send_inbound(d, "t" + agent, "look", "m1", attachments=[
        {"name": n, "base64": b64(data)} for n, data in (
            ("a.pdf", PDF), ("b.wav", WAV), ("c.mp3", MP3), ("d.ogg", OGG))])
    row = d.call("GET", "/v1/runs?agent=" + agent)["items"][0]
    return d, d.until(row["id"])


def path_of(words, name):
    return re.search(r"(/\S+%s)\]" % re.escape(name), words).group(1)


def test_documents_and_sound_reach_the_model(home):
    def read(body):
        words = body["messages"][-1]["content"][0]["text"]
        return calls(("read_file", {"path": path_of(words, "a.pdf")}),
                     ("read_file", {"path": path_of(words, "d.ogg")}))

    m = Mock(home, read, text("done"))
    d, row = ask_with_files(home, m, "f")
    assert row["state"] == "succeeded", row
    first, pdf, wav, mp3 = content(m, 0)
    assert pdf["type"] == "file" and pdf["file"]["filename"].endswith(".pdf")
    kind, data = pdf["file"]["file_data"].split(",")
    assert kind == "data:application/pdf;base64", kind
    assert base64.b64decode(data) == PDF
    for part, data, form in ((wav, WAV, "wav"), (mp3, MP3, "mp3")):
        assert part["type"] == "input_audio", part
        assert part["input_audio"]["format"] == form, part
        assert base64.b64decode(part["input_audio"]["data"]) == data
    assert "not part of" not in first["text"], first
    # what is no text says so instead of being garbled
    r = m.results()
    assert "not text" in r[0] and "application/pdf" in r[0], r
    assert "not text" in r[1] and "OggS" not in r[1], r
    finish(d)


def test_documents_go_to_the_responses_api_and_sound_is_named(home):
    done = [{"type": "response.completed", "response": {
        "object": "response", "status": "completed", "output": [
            {"type": "message", "content": [{"type": "output_text",
                                             "text": "seen"}]}]}}]
    m = Mock(home, done)
    d, row = ask_with_files(home, m, "r", {"api": "responses"})
    assert row["state"] == "succeeded", row
    first, pdf = content(m)
    assert pdf["type"] == "input_file" and pdf["filename"].endswith(".pdf")
    kind, data = pdf["file_data"].split(",")
    assert (kind, base64.b64decode(data)) == (
        "data:application/pdf;base64", PDF)
    notes = re.findall(r"\[(\S+) is not part of this message: ([^.]*)\.",
                       first["text"])
    assert [n[0][-4:] for n in notes] == [".wav", ".mp3"], first
    assert {n[1] for n in notes} == {"this API takes no sound"}, first
    finish(d)


def test_a_model_that_takes_no_files_is_asked_without_them(home):
    def no(what):
        return {"status": 400, "body": {"error": {"message": what}}}

    m = Mock(home, no("audio input is not supported"),
             no("Invalid content part: file"), text("fine"))
    d, row = ask_with_files(home, m, "n")
    assert row["state"] == "succeeded", row
    assert [p["type"] for p in content(m, 0)] == [
        "text", "file", "input_audio", "input_audio"], content(m, 0)
    assert [p["type"] for p in content(m, 1)] == ["text", "file"]
    assert content(m, 2).count("is not part of this message") == 3, content(m, 2)
    seen = [b["text"] for _, k, b in d.events("n") if k == "note"]
    assert ["sound" in seen[0], "PDF" in seen[1], len(seen)] == [
        True, True, 2], seen
    # a message that names no kind is about all of them; others are errors
    m = Mock(home, no("unsupported content type"), text("fine"))
    d, row = ask_with_files(home, m, "g")
    assert row["state"] == "succeeded" and len(m.asked) == 2, row
    m = Mock(home, no("the key is wrong"), text("fine"))
    d, row = ask_with_files(home, m, "k")
    assert row["state"] == "failed" and len(m.asked) == 1, row
    m = Mock(home, text("fine"))
    d, row = ask_with_files(home, m, "o", {"files": False})
    assert content(m).count("you are not given such files") == 3, content(m)
    finish(d)


def test_a_model_without_eyes_is_asked_without_pictures(home):
    no = {"status": 400, "body": {"error": {
        "message": "This model does not support image input"}}}
    m = Mock(home, no, text("fine"))
    d, row = ask_with(home, m, "n")
    assert row["state"] == "succeeded", row
    assert isinstance(content(m, 0), list) and isinstance(content(m, 1), str)
    notes = [b["text"] for _, k, b in d.events("n") if k == "note"]
    assert ["no pictures" in n for n in notes] == [True], notes
    m = Mock(home, text("fine"))
    d, row = ask_with(home, m, "o", {"images": False})
    assert isinstance(content(m), str)
    finish(d)
