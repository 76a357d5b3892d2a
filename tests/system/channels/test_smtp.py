"""Mail: what another's server and another's parser make of what we send."""
import base64
import email
import email.policy
import json
import pathlib
import socket
import subprocess
import sys
import threading
import time

import lib
from channel_lib import post, receiver, await_deliveries, webhook
from skepd_lib import Refused, host
from test_channel_tls import Authority

HERE = pathlib.Path(__file__).resolve().parent.parent / "support"


def python():
    """One that has aiosmtpd."""
    for path in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([path, "-c", "import aiosmtpd"],
                          capture_output=True).returncode == 0:
            return path
    lib.skip("python3-aiosmtpd is not installed")


class Server:
    """smtp_server.py; .mails() is what it took."""

    def __init__(self, home, *certificate):
        self.folder = home.dir / "mails"
        self.folder.mkdir()
        p = home.start(python(), HERE / "smtp_server.py", self.folder,
                       *certificate, stdout=subprocess.PIPE)
        kind = certificate[2] if len(certificate) > 2 else "smtp"
        self.url = "%s://127.0.0.1:%d" % (kind, int(p.stdout.readline()))

    def mails(self):
        made = sorted(self.folder.glob("*.json"), key=lambda p: int(p.stem))
        return [json.loads(p.read_text()) for p in made]

    def last(self):
        """Bytes of the last mail, and its parsed form."""
        raw = base64.b64decode(self.mails()[-1]["bytes"])
        return raw, email.message_from_bytes(raw, policy=email.policy.default)


def channel(h, server, name="mail", **config):
    h.call("PUT", "/v1/channels/" + name, {"kind": "smtp", "config": dict({
        "server": server.url, "from": "skep@example.org", "backoff": 50,
        "attempts": 2, "timeout": 20000}, **config)})


def send(h, to, channel="mail", **body):
    return h.call("POST", "/v1/deliveries", {
        "channel": channel, "conversation": to, "body": body})["id"]


def sent(h, n):
    await_deliveries(h, n, "delivered")


def test_a_mail_is_read_back_as_it_was_written(home):
    s = Server(home)
    h = host(home)
    channel(h, s, **{"from": "Der Bär, jr. <skep@example.org>"})
    every = bytes(range(256)) * 40
    text = ".\r\n..\n.hidden\nFrom me\n" + "ä" * 3000 + "\n" + "x" * 5000 + "\n.\n"
    subject = "grüße " * 60 + "日本語 " + "ende"
    names = ["plain.bin", "bär \u65e5.pdf", 'a\r\n".txt', "n" * 240]
    ident = send(h, "ann@example.org", text=text, subject=subject, attachments=[
        {"name": n, "type": t, "base64": base64.b64encode(every[i:]).decode()}
        for i, (n, t) in enumerate(zip(names, (
            "image/png", "application/pdf", "message/rfc822", "x\r\nBcc: y")))])
    sent(h, 1)
    raw, m = s.last()
    assert all(len(line) <= 80 or b"filename" in line for line in raw.split(b"\r\n"))
    assert all(len(line) < 998 for line in raw.split(b"\r\n")) and raw.isascii()
    assert b"\n" not in raw.replace(b"\r\n", b"")
    assert m["Subject"] == subject and not m.defects
    assert m["Message-ID"] == "<%s@example.org>" % ident
    assert m["From"].addresses[0].display_name == "Der Bär, jr."
    assert m["From"].addresses[0].addr_spec == "skep@example.org"
    assert m["To"] == "ann@example.org" and m["Date"].datetime and m["Auto-Submitted"]
    body, *files = m.iter_parts()
    assert body.get_content().replace("\r\n", "\n") == text.replace("\r\n", "\n")
    assert [f.get_filename() for f in files] == [
        "plain.bin", "bär \u65e5.pdf", 'a__".txt', "n" * 240]
    assert [f.get_content_type() for f in files] == [
        "image/png", "application/pdf"] + ["application/octet-stream"] * 2
    assert [f.get_content() for f in files] == [every[i:] for i in range(4)]
    assert s.mails()[0]["from"] == "skep@example.org"
    h.down()


def test_nothing_that_is_said_becomes_a_header_or_a_command(home):
    s = Server(home)
    h = host(home)
    channel(h, s)
    evil = "x\r\nBcc: eve@example.org\r\n\r\nhello"
    send(h, "ann@example.org", text="a", subject=evil)
    send(h, "bob@example.org", text="a", subject="=?utf-8?Q?not_what_it_says?=")
    sent(h, 2)
    for m in s.mails():
        m = email.message_from_bytes(base64.b64decode(m["bytes"]),
                                     policy=email.policy.default)
        assert m["Bcc"] is None
        assert m.get_body().get_content().strip() == "a"
        want = evil.replace("\r\n", "  ") if "ann" in m["To"] else \
            "=?utf-8?Q?not_what_it_says?="
        assert m["Subject"] == want
    for to in ("ann@example.org>\r\nRCPT TO:<eve@example.org", "a@b\n"):
        try:
            raise AssertionError("taken: " + send(h, to, text="x"))
        except Refused as e:
            assert "control character" in e.body["detail"]
    bad = ["ann", "@", "a@", "@b", "a b@example.org", "a@b@c",
           "ann@example.org> RCPT TO:<eve@example.org", "a@b, eve@example.org",
           "<a@b> SIZE=1", "a@b:c"]
    for to in bad:
        send(h, to, text="x")
    rows = await_deliveries(h, len(bad), "dead")
    assert all("is not a mail address" in d["detail"] for d in rows), rows
    h.call("POST", "/v1/deliveries", {"channel": "mail", "body": {"text": "x"}})
    assert any("setting 'to'" in d["detail"] for d in await_deliveries(h, len(bad) + 1, "dead"))
    send(h, "Ann Lee <ann@example.org>", text="with her name")
    sent(h, 3)
    assert s.mails()[-1]["to"] == ["ann@example.org"] and len(s.mails()) == 3
    assert s.last()[1]["To"].addresses[0].display_name == "Ann Lee"
    h.down()


def test_the_same_mail_has_the_same_id_and_answers_name_theirs(home):
    s = Server(home)
    h = host(home)
    channel(h, s)
    ident = send(h, "full@example.org", text="x")
    [d] = await_deliveries(h, 1, "dead")
    ids = [email.message_from_bytes(base64.b64decode(m["bytes"]))["Message-ID"]
           for m in s.mails()]
    assert ids == ["<%s@example.org>" % ident] * 2 and d["attempts"] == 2
    h.agent("echo", "exec", {"shell": "cat", "stdin": "text"})
    for n, ref in enumerate(("<a.b@example.org>", "m1", "<x> Bcc: <y@z>")):
        h.call("POST", "/v1/channels/mail/messages", {
            "sender": "ann@example.org", "text": "hi", "id": ref, "agent": "echo"})
        sent(h, n + 1)
        m = s.last()[1]
        assert m["In-Reply-To"] == m["References"] == (None if n else ref)
        assert m["Auto-Submitted"] == ("auto-generated" if n else "auto-replied")
        assert m["Bcc"] is None
    h.down()


def test_the_servers_words_say_what_became_of_a_mail(home):
    s = Server(home)
    h = host(home)
    channel(h, s, attempts=3, inflight=1)
    want = {"later": (3, 451, "come back"), "never": (1, 550, "nobody of that name"),
            "full": (3, 452, "no room"), "spam": (1, 554, "not here")}
    for who in want:
        send(h, who + "@example.org", text="x")
    rows = {d["remote_status"]: d for d in await_deliveries(h, 4, "dead")}
    for attempts, code, words in want.values():
        d = rows[code]
        assert d["attempts"] == attempts and words in d["detail"], d
    lost = send(h, "gone@example.org", text="x")
    [d] = await_deliveries(h, 1, "unknown")
    assert d["id"] == lost and d["attempts"] == 1
    h.down()
    assert len(s.mails()) == 3 + 1 + 1


def test_starttls_may_be_wanted_and_a_password_changed(home):
    good = Authority(home, "good")
    good.context("IP:127.0.0.1")
    s = Server(home, home.dir / "good-server.pem", home.dir / "good-server.key")
    bare = Bare(home, lambda n: "250 taken")
    h = host(home)
    secret = home.path / "credentials" / "mail.pass"
    secret.parent.mkdir(mode=0o700, exist_ok=True)
    secret.write_text("guess\n")
    channel(h, s, "login", user="bot", password_file="mail.pass",
            ca_file=str(good.path), attempts=200)
    channel(h, s, "safe", tls="required", ca_file=str(good.path))
    channel(h, s, "plain")  # the server requires STARTTLS, the settings do not
    channel(h, bare, "bare", tls="required")
    for name in ("safe", "plain", "bare"):
        send(h, "ann@example.org", name, text=name)
    await_deliveries(h, 1, "delivered", channel="safe")
    [d] = await_deliveries(h, 1, "dead", channel="plain")
    assert d["remote_status"] == 530 and "STARTTLS" in d["detail"], d
    [d] = await_deliveries(h, 1, "dead", channel="bare")
    assert d["attempts"] == 2 and "STARTTLS" in d["detail"], d
    ident = send(h, "ann@example.org", "login", text="x")
    lib.eventually(lambda: "login" in (h.call("GET", "/v1/deliveries/" + ident)
                                       ["detail"] or ""), 30, "a refusal")
    secret.write_text("s3cret\n")
    await_deliveries(h, 1, "delivered", channel="login")
    assert [(m["secure"], m["login"]) for m in s.mails()] == [(True, False),
                                                             (True, True)]
    assert bare.mails == []
    h.down()


def test_mail_may_be_safe_from_the_start(home):
    good, other = Authority(home, "good"), Authority(home, "other")
    good.context("IP:127.0.0.1")
    s = Server(home, home.dir / "good-server.pem", home.dir / "good-server.key",
               "smtps")
    h = host(home)
    secret = home.path / "credentials" / "mail.pass"
    secret.parent.mkdir(mode=0o700, exist_ok=True)
    secret.write_text("s3cret\n")
    channel(h, s, "yes", ca_file=str(good.path), user="bot",
            password_file="mail.pass")
    channel(h, s, "stranger", ca_file=str(other.path))
    for name in ("yes", "stranger"):
        send(h, "ann@example.org", name, text="x")
    await_deliveries(h, 1, "delivered", channel="yes")
    [d] = await_deliveries(h, 1, "dead", channel="stranger")
    assert d["attempts"] == 2 and "certificate" in d["detail"], d
    assert [(m["secure"], m["login"]) for m in s.mails()] == [(True, True)]
    h.down()


class Bare:
    """An SMTP server: keeps what it gets; `plan` gives the answer to the text."""

    def __init__(self, home, plan):
        self.mails, self.plan, self.kept = [], plan, []
        self.stall = None  # "before" the text, or "within" it: says no more
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = "smtp://127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()
        home.undo.append(self.socket.close)

    def serve(self):
        while True:
            try:
                c = self.socket.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.talk, args=(c,), daemon=True).start()

    def talk(self, c):
        f = c.makefile("rwb")
        self.kept.append((c, f))

        def reply(text):
            f.write(text.encode() + b"\r\n")
            f.flush()
        reply("220 here")
        for line in f:
            word = line[:4].upper()
            if word == b"DATA":
                if self.stall == "before":
                    return
                reply("354 go on")
                if self.stall == "within":
                    return
                text = [f.readline()]
                while text[-1] not in (b".\r\n", b""):
                    text.append(f.readline())
                self.mails.append(b"".join(text).decode())
                answer = self.plan(len(self.mails))
                if not answer:
                    c.shutdown(socket.SHUT_RDWR)
                    return
                reply(answer)
            elif word == b"QUIT":
                reply("221 bye")
            else:
                reply("250 fine")


def test_mail_is_sent_refused_and_unknown(home):
    answers = ["250 taken", "451 later", "250 taken", "554 never", None]
    m = Bare(home, lambda n: answers[n - 1])
    h = host(home)
    h.call("PUT", "/v1/channels/mail", {"kind": "smtp", "config": {
        "server": m.url, "from": "skep@example.org",
        "backoff": 50, "inflight": 1, "subject": "grüße"}})
    first = post(h, "mail", "häuser", "ann@example.org")
    await_deliveries(h, 1, "delivered")
    assert "To: ann@example.org" in m.mails[0] and first in m.mails[0]
    assert base64.b64encode("häuser".encode()).decode() in m.mails[0]
    assert "Subject: =?utf-8?B?" in m.mails[0]
    h.call("POST", "/v1/deliveries", {
        "channel": "mail", "conversation": "bob@example.org", "body": {
            "text": "twice", "attachments": [{
                "name": 'a\r\n".txt', "type": "text/plain",
                "base64": base64.b64encode(b"in a file").decode()}]}})
    await_deliveries(h, 2, "delivered")
    parts = list(email.message_from_string(m.mails[2]).walk())
    assert [(q.get_content_type(), q.get_filename()) for q in parts] == [
        ("multipart/mixed", None), ("text/plain", None),
        ("text/plain", 'a__".txt')]
    assert parts[2].get_payload(decode=True) == b"in a file"
    post(h, "mail", "never", "cat@example.org")
    [d] = await_deliveries(h, 1, "dead")
    assert d["remote_status"] == 554
    lost = post(h, "mail", "who knows", "dan@example.org")
    [d] = await_deliveries(h, 1, "unknown")
    assert d["id"] == lost
    post(h, "mail", "x", "no address")
    await_deliveries(h, 2, "dead")
    h.down()
    assert len(m.mails) == 5


def states(h, ident):
    return [e["body"]["state"] for e in
            h.call("GET", "/v1/events?limit=1000")["items"]
            if e["subject"] == ident]


def close_over(home, stall, ending, size=10, answer="250 taken"):
    """A mail is under way when its channel goes; what is told of it after."""
    gone = threading.Event()
    home.undo.append(gone.set)
    m = Bare(home, lambda n: gone.wait(60) and None if stall == "after" else answer)
    m.stall = stall
    h = host(home)
    channel(h, m)
    ident = send(h, "ann@example.org", text="x" * size)
    lib.eventually(lambda: m.mails or (stall != "after" and m.kept), 30, "the mail")
    time.sleep(0.3)
    ending(h)
    m.stall = None
    return h, m, ident


def disable(h):
    h.call("POST", "/v1/channels/mail/disable")


def sent_later(home, stall, size):
    h, m, ident = close_over(home, stall, disable, size)
    # unknown until it is certain that nothing more is sent
    lib.eventually(lambda: states(h, ident)[-2:] == ["unknown", "pending"],
                   10, "its way back")
    assert m.mails == []
    c, f = m.kept[0]
    c.settimeout(10)
    assert b"\r\n.\r\n" not in f.read(), "half of it is no mail"
    h.call("POST", "/v1/channels/mail/enable")
    await_deliveries(h, 1, "delivered")
    h.down()
    assert len(m.mails) == 1 and ident in m.mails[0]


def test_a_mail_that_had_not_left_when_its_channel_closed_is_sent_later(home):
    sent_later(home, "before", 10)


def test_a_mail_that_was_cut_when_its_channel_closed_is_sent_later(home):
    sent_later(home, "within", 7 << 20)


def test_a_mail_that_had_left_when_its_channel_closed_stays_unknown(home):
    h, m, ident = close_over(home, "after", disable)
    [d] = await_deliveries(h, 1, "unknown")
    h.call("POST", "/v1/channels/mail/enable")
    time.sleep(1)
    assert h.call("GET", "/v1/deliveries/" + ident)["state"] == "unknown"
    h.kill()
    assert len(m.mails) == 1


def test_a_server_that_thinks_about_a_mail_holds_up_no_webhook(home):
    gone = threading.Event()
    home.undo.append(gone.set)
    m = Bare(home, lambda n: "250 taken" if gone.wait(60) else None)
    r = receiver(home)
    h = host(home)
    channel(h, m)
    webhook(h, "web", r.url)
    send(h, "ann@example.org", text="x")
    lib.eventually(lambda: m.mails, 30, "the mail")
    post(h, "web", "hello")
    await_deliveries(h, 1, "delivered", channel="web")
    assert gone.is_set() is False
    gone.set()
    await_deliveries(h, 1, "delivered", channel="mail")
    h.down()


def test_a_mail_that_had_not_left_when_skepd_went_is_sent_by_the_next(home):
    h, m, ident = close_over(home, "before", lambda h: h.down())
    h.start()
    await_deliveries(h, 1, "delivered")
    h.down()
    assert len(m.mails) == 1 and ident in m.mails[0]
