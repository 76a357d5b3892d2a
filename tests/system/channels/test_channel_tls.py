"""Channels over TLS: certificates are checked, a login goes through TLS only."""
import base64
import shutil
import socket
import ssl
import threading

import lib
from channel_lib import post, receiver, await_deliveries, webhook
from skepd_lib import host


class Authority:
    """Makes certificates; .path is its own."""

    def __init__(self, home, name):
        if not shutil.which("openssl"):
            lib.skip("openssl is not installed")
        self.home, self.name = home, name
        self.path = home.dir / (name + ".pem")
        self.key = home.dir / (name + ".key")
        self.openssl("req", "-x509", "-days", "2", "-subj", "/CN=" + name,
                     "-keyout", self.key, "-out", self.path)

    def openssl(self, word, *args):
        self.home.run("openssl", word, "-newkey", "ec", "-pkeyopt",
                      "ec_paramgen_curve:prime256v1", "-nodes", *args)

    def context(self, names):
        """Of a server with these names (of the certificate)."""
        stem = self.home.dir / (self.name + "-server")
        made, key = stem.with_suffix(".pem"), stem.with_suffix(".key")
        self.openssl("req", "-x509", "-days", "2", "-subj", "/CN=server",
                     "-addext", "subjectAltName=" + names, "-CA", self.path,
                     "-CAkey", self.key, "-keyout", key, "-out", made)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(made, key)
        return context


def secure(home, names, authority):
    r = receiver(home)
    r.server.socket = authority.context(names).wrap_socket(
        r.server.socket, server_side=True, do_handshake_on_connect=False)
    r.url = r.url.replace("http:", "https:")
    return r


def test_a_webhook_goes_over_tls_to_whom_it_trusts(home):
    good, other = Authority(home, "good"), Authority(home, "other")
    r = secure(home, "IP:127.0.0.1", good)
    h = host(home)
    webhook(h, "yes", r.url + "/yes", ca_file=str(good.path), timeout=10000)
    webhook(h, "stranger", r.url + "/stranger", ca_file=str(other.path), attempts=2)
    webhook(h, "nobody", r.url + "/nobody", attempts=2)  # the system's list
    for name in ("yes", "stranger", "nobody"):
        post(h, name, "to " + name)
    [d] = await_deliveries(h, 1, "delivered")
    post(h, "stranger", "on a connection that is there")
    await_deliveries(h, 2, "dead", channel="stranger")
    assert d["channel"] == "yes" and r.texts() == ["to yes"] and not r.bad
    for d in await_deliveries(h, 3, "dead"):
        assert "certificate" in d["detail"], d["detail"]
    assert r.ids("/stranger") == r.ids("/nobody") == []
    h.down()


def test_a_certificate_for_another_name_is_refused(home):
    good = Authority(home, "good")
    r = secure(home, "DNS:example.org,IP:127.0.0.2", good)
    h = host(home)
    webhook(h, "web", r.url, ca_file=str(good.path), attempts=2)
    post(h, "web", "x")
    [d] = await_deliveries(h, 1, "dead")
    assert d["attempts"] == 2 and r.ids() == [], d
    h.down()


class Mail:
    """An SMTP server that wants STARTTLS and a login before any mail."""

    def __init__(self, home, context, offers_tls=True):
        self.mails, self.logins, self.plain = [], [], []
        self.context, self.offers_tls = context, offers_tls
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = "smtp://127.0.0.1:%d" % self.socket.getsockname()[1]
        home.undo.append(self.socket.close)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                c = self.socket.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.quietly, args=(c,), daemon=True).start()

    def quietly(self, c):
        try:
            self.talk(c)
        except OSError:
            pass

    def talk(self, c):
        f, secured, user = c.makefile("rwb"), False, None

        def reply(*lines):
            f.write(b"".join(t.encode() + b"\r\n" for t in lines))
            f.flush()

        reply("220 here")
        while line := f.readline():
            word = line.split()[0].upper()
            if not secured:
                self.plain.append(line)
            if word == b"EHLO" and secured:
                reply("250-here", "250 AUTH PLAIN")
            elif word == b"EHLO":
                reply("250-here", "250 STARTTLS" if self.offers_tls else "250 8BITMIME")
            elif word == b"STARTTLS":
                reply("220 go on")
                c = self.context.wrap_socket(c, server_side=True)
                f, secured = c.makefile("rwb"), True
            elif word == b"AUTH":
                reply("334 ")
                user = base64.b64decode(f.readline()).decode().split("\0")[1:]
                self.logins.append((user, secured))
                reply("235 welcome" if user == ["bot", "s3cret"] else "535 no")
            elif word == b"DATA":
                reply("354 go on")
                text = b""
                while not text.endswith(b"\r\n.\r\n"):
                    text += f.readline()
                self.mails.append((text.decode(), secured, user))
                reply("250 taken")
            else:
                reply("221 bye" if word == b"QUIT" else "250 fine")


def mail(home, h, name, server, authority, password="s3cret"):
    folder = home.path / "credentials"
    (folder / (name + ".pass")).write_text(password + "\n")
    h.call("PUT", "/v1/channels/" + name, {"kind": "smtp", "config": {
        "server": server.url, "from": "skep@example.org", "user": "bot",
        "password_file": name + ".pass", "ca_file": str(authority.path),
        "attempts": 2, "backoff": 50, "timeout": 10000}})


def test_a_login_goes_through_starttls_only(home):
    good, other = Authority(home, "good"), Authority(home, "other")
    m = Mail(home, good.context("IP:127.0.0.1"))
    bare = Mail(home, None, offers_tls=False)
    h = host(home)
    mail(home, h, "yes", m, good)
    mail(home, h, "wrong", m, good, "guess")
    mail(home, h, "stranger", m, other)
    mail(home, h, "bare", bare, good)
    post(h, "yes", "hello", "ann@example.org")
    await_deliveries(h, 1, "delivered", channel="yes")
    assert len(m.mails) == 1 and m.mails[0][1:] == (True, ["bot", "s3cret"])
    for name in ("wrong", "stranger", "bare"):
        post(h, name, "x", "ann@example.org")
        await_deliveries(h, 1, "dead", channel=name)
    assert len(m.mails) == 1 and bare.mails == bare.logins == []
    assert all(secured for _, secured in m.logins)
    assert not any(b"AUTH" in line for line in m.plain + bare.plain)
    h.down()
