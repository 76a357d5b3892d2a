"""A mail server for tests, made of aiosmtpd: another's reading of SMTP.

  smtp_server.py FOLDER [CERTIFICATE KEY [smtps]]

Prints its port. Each mail it takes is FOLDER/N.json. With a certificate it
offers STARTTLS, wants it before any mail, and knows the login bot / s3cret;
smtps: it is TLS from the start.
Who a mail is for says what happens: later@ gets 451, never@ 550, both with the
recipient; full@ gets 452 and spam@ 554 after the text; gone@ gets no answer.
"""
import asyncio
import base64
import json
import pathlib
import ssl
import sys

from aiosmtpd.smtp import SMTP, AuthResult

AT_RCPT = {"later": "451 4.3.0 come back", "never": "550 5.1.1 nobody of that name"}
AT_DATA = {"full": "452 4.2.2 no room", "spam": "554 5.7.1 not here"}


class Handler:
    def __init__(self, folder):
        self.folder, self.n = pathlib.Path(folder), 0

    async def handle_RCPT(self, server, session, envelope, address, options):
        answer = AT_RCPT.get(address.split("@")[0])
        if answer:
            return answer
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server, session, envelope):
        self.n += 1
        made = self.folder / ("%d.tmp" % self.n)
        made.write_text(json.dumps({
            "from": envelope.mail_from, "to": envelope.rcpt_tos,
            "secure": server.transport.get_extra_info("sslcontext") is not None,
            "login": bool(session.authenticated),
            "bytes": base64.b64encode(envelope.original_content).decode()}))
        made.rename(self.folder / ("%d.json" % self.n))
        who = envelope.rcpt_tos[0].split("@")[0]
        if who == "gone":
            server.transport.abort()
        return AT_DATA.get(who, "250 taken")


def login(server, session, envelope, mechanism, data):
    good = (data.login, data.password) == (b"bot", b"s3cret")
    return AuthResult(success=good, handled=good, auth_data=data.login)


async def main(folder, certificate=None, key=None, smtps=False):
    more, handler, context = {}, Handler(folder), None
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        more = dict(authenticator=login)
        if smtps:
            more.update(auth_require_tls=False)  # it does not see that it is
        else:
            more.update(tls_context=context, require_starttls=True)
    server = await asyncio.get_running_loop().create_server(
        lambda: SMTP(handler, hostname="here", enable_SMTPUTF8=True, **more),
        "127.0.0.1", 0, ssl=context if smtps else None)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


asyncio.run(main(*sys.argv[1:]))
