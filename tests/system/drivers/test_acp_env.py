"""What an agent is given of the host's environment, and what its commands print."""
import json

from skepd_lib import Host, finish
from test_acp import acp, tools
from worker_lib import ok

SET = {"HTTPS_PROXY": "http://proxy:3128", "no_proxy": "localhost",
       "OPENAI_BASE_URL": "http://gw/v1", "MY_OWN_BASE_URL": "http://x",
       "OTHER_SECRET": "s3cr3t", "BASE_URL": "no"}


def test_proxies_certificates_and_addresses_are_passed_on(home):
    ca = home.dir / "private-ca.pem"
    ca.write_text("a certificate")
    d = Host(home)
    d.env.update(SET, SSL_CERT_FILE=str(ca), NODE_EXTRA_CA_CERTS="/no/such")
    d.start()
    out = "printenv; cat $SSL_CERT_FILE"
    d.agent("a", "acp", {"shell": out + " >&2", "env": {
        "OPENAI_BASE_URL": "http://mine/v1"}})
    d.until(d.submit("a", "x", session="s"))
    printed = "\n".join(b.get("text", "") for _, k, b in d.events("a")
                        if k == "stderr") + "\n".join(
        b.get("text", "") for _, k, b in d.events("a") if k == "output")
    d.agent("e", "exec", {"shell": "printenv"})
    d.until(d.submit("e", "x", session="s"))
    plain = "\n".join(b.get("text", "") for _, k, b in d.events("e")
                      if k == "output")
    assert "HTTPS_PROXY=http://proxy:3128" in printed, printed
    assert "no_proxy=localhost" in printed
    assert "OPENAI_BASE_URL=http://mine/v1" in printed
    assert "MY_OWN_BASE_URL=http://x" in printed
    assert "a certificate" in printed, printed
    assert "OTHER_SECRET" not in printed and "\nBASE_URL" not in printed
    assert "PROXY" not in plain and "PATH=" in plain, plain
    finish(d)


def test_codex_is_told_of_a_base_url_in_its_own_way(home):
    """It does not read OPENAI_BASE_URL."""
    d = Host(home)
    d.env["OPENAI_BASE_URL"] = 'http://gw/"v1"'
    d.start()
    for name, env, want in (
            ("a", {}, {"openai_base_url": 'http://gw/"v1"'}),
            ("b", {"OPENAI_BASE_URL": "http://b"}, {
                "openai_base_url": "http://b"}),
            ("c", {"CODEX_CONFIG": '{"model":"m"}'}, {"model": "m"}),
            ("d", {"OPENAI_BASE_URL": ""}, None)):
        d.agent(name, "acp", {"shell": "printenv CODEX_CONFIG >&2; printenv "
                              "| grep -c CODEX_CONFIG >&2", "env": env})
        d.until(d.submit(name, "x", session="s"))
        printed = [b["text"] for _, k, b in d.events(name) if k == "stderr"]
        assert printed[-1:] == ["1" if want else "0"], (name, printed)
        assert not want or json.loads(printed[0]) == want, (name, printed)
    finish(d)


def call(state, **more):
    return {"update": dict({"sessionUpdate": "tool_call_update",
                            "toolCallId": "c1", "status": state}, **more)}


def test_the_part_of_a_tool_has_what_its_command_printed(home):
    terminal = [{"type": "terminal", "terminalId": "$"}]
    create = {"call": "terminal/create", "params": {
        "command": "sh", "args": ["-c", "echo out; echo err >&2; exit 3"]}}
    waited = {"call": "terminal/wait_for_exit", "params": {
        "terminalId": "$last"}}
    release = {"call": "terminal/release", "params": {"terminalId": "$last"}}
    show = call("in_progress", title="sh", kind="execute", content=terminal)
    done = call("completed")
    for n, steps in enumerate(([create, show, waited, release, done],
                               [create, show, waited, done, release])):
        text = json.dumps(steps).replace('"$"', '"term-1"')
        w = acp(home, text, n=n + 1) if n == 0 else acp(
            home, text, first.sup, n=n + 1, session="t%d" % n)
        first = w if n == 0 else first
        ok(w)
        output = json.loads(tools(w)[-1][4])
        [shown] = output["terminals"]
        assert sorted(shown["output"].split()) == ["err", "out"], output
        assert shown["exitStatus"]["exitCode"] == 3, output
        assert output["content"][0]["type"] == "terminal", output


def test_what_an_agents_own_terminal_printed_is_in_the_part(home):
    def says(data, name="terminal_output_delta"):
        return call("in_progress", _meta={name: {
            "terminal_id": "c1", "data": data}})

    w = acp(home, [{"update": {
        "sessionUpdate": "tool_call", "toolCallId": "c1", "title": "make",
        "kind": "execute", "status": "in_progress", "content": [
            {"type": "terminal", "terminalId": "c1"}]}}, says("one\n"),
        says("two\n"), says("x" * 400000), says("end", "terminal_output"), call(
            "completed", _meta={"terminal_exit": {"terminal_id": "c1",
                                                  "exit_code": 0}})])
    ok(w)
    output = json.loads(tools(w)[0][4])
    assert len(output["printed"]) == 256 << 10, len(output["printed"])
    assert output["printed"].endswith("xend"), output["printed"][-9:]
    assert output["exit"]["exit_code"] == 0, output
