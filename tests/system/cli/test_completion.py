"""Completions, as the shells themselves load and use them."""
import os
import pty
import select
import shutil
import subprocess
import time

from lib import HANG, skip
from skepd_lib import Host, finish


def shell(name):
    if not shutil.which(name):
        skip("%s is not there" % name)


def install(home, name, path):
    path.parent.mkdir(parents=True)
    path.write_text(home.skep("completion", name).out)


def with_path(home):
    return {"PATH": "%s:%s" % (home.bin, os.environ["PATH"]),
            "HOME": str(home.dir), "TERM": "xterm"}


def objects(home):
    for agent in ("main-agent", "other"):
        home.skep("agent", "add", agent, "--driver", "script")
    home.skep("session", "append", "work", "x", "-a", "other")
    home.skep("namespace", "create", "other:ws")
    home.skep("snapshot", "create", "other:ws", "snap1")


def words_of(home, *line):
    out = home.skep("__complete", *line).out
    return [x.split("\t")[0] for x in out.splitlines()]


def test_values_are_offered(home):
    objects(home)
    h = Host(home).start()
    h.script("quick", {"text": "x"})
    run = h.submit("quick", name="nightly")
    h.until(run)
    at = ("--home", str(home.path))
    assert words_of(home, *at, "agent", "show", "") == \
        ["main-agent", "other", "quick"]
    assert words_of(home, "agent", "show", "--home", str(home.path), "ma") == \
        ["main-agent"]
    offered = words_of(home, *at, "logs", "")
    assert {"last", "nightly", "quick", run[4:16]} <= set(offered), offered
    assert words_of(home, *at, "logs", run[:8]) == [run]
    assert run[4:16] in words_of(home, *at, "note", "")
    assert words_of(home, *at, "ps", "--agent", "ot") == ["other"]
    assert words_of(home, *at, "session", "show", "--agent", "other", "") == ["work"]
    assert words_of(home, *at, "chat", "main-agent", "--channel", "") == ["local"]
    assert words_of(home, *at, "channel", "show", "") == ["local"]
    assert words_of(home, *at, "snapshot", "rm", "other:ws", "") == ["snap1"]
    assert words_of(home, *at, "vfs", "ls", "other:") == ["other:ws"]
    assert "failed" in words_of(home, *at, "ps", "--state", "")
    assert words_of(home, *at, "ps", "-o", "js") == ["json", "jsonl"]
    assert words_of(home, *at, "completion", "") == ["bash", "zsh", "fish"]
    assert words_of(home, *at, "vfs", "import", "other:ws", "") == [":files"]
    assert words_of(home, "--home", "/nonexistent", "agent", "show", "") == []
    finish(h)


def test_bash_completes(home):
    shell("bash")
    install(home, "bash", home.dir / "bash" / "skep")

    def ask(*words):
        out = home.run("bash", "-c", "source %s; COMP_WORDS=(%s) COMP_CWORD=%d;"
                       " _skep; printf '%%s\\n' \"${COMPREPLY[@]}\"" % (
                           home.dir / "bash" / "skep",
                           " ".join(map(repr, words)), len(words) - 1),
                       env=with_path(home)).out
        return out.split()
    assert ask("skep", "session", "re") == ["rewind", "restore"]
    assert "show" in ask("skep", "sh") and "session" in ask("skep", "")
    assert ask("skep", "session", "rewind", "--ag") == ["--agent"]
    objects(home)
    assert ask("skep", "--home", str(home.path), "agent", "show", "") == \
        ["main-agent", "other"]
    assert ask("skep", "--home", str(home.path), "session", "show", "wo") == \
        ["work"]


def test_fish_completes(home):
    shell("fish")
    install(home, "fish", home.dir / "fish" / "completions" / "skep.fish")
    env = dict(with_path(home), XDG_CONFIG_HOME=str(home.dir))

    def ask(line):
        out = home.run("fish", "-c", "complete -C '%s'" % line, env=env,
                       cwd=home.dir).out
        return sorted(x.split("\t")[0] for x in out.splitlines())
    assert ask("skep session re") == ["restore", "rewind"]
    assert ask("skep sess") == ["session"] and ask("skep sho") == ["show"]
    assert ask("skep session rewind --ag") == ["--agent"]
    assert "--follow" not in ask("skep session show --")
    assert ask("skep run --wa") == ["--wait"]
    objects(home)
    assert ask("skep --home %s session show wo" % home.path) == ["work"]
    assert ask("skep agent show --home %s " % home.path) == \
        ["main-agent", "other"]
    assert "append" not in ask("skep session show a"), "a verb only once"


class Zsh:
    """An interactive zsh with our file on its fpath."""

    def __init__(self, home):
        master, slave = pty.openpty()
        self.fd, self.seen = master, ""
        self.p = subprocess.Popen(["zsh", "-f", "-i"], stdin=slave,
                                  stdout=slave, stderr=slave, cwd=home.dir,
                                  env=with_path(home), start_new_session=True)
        os.close(slave)
        self.say("PS1='rea''dy> '; unsetopt zle_bracketed_paste beep\r")
        self.until("ready> ")
        self.say("fpath=(%s $fpath); autoload -Uz compinit; compinit -D -u;"
                 " print lo''aded\r" % (home.dir / "zsh"))
        self.until("loaded")
        self.until("ready> ")

    def say(self, text):
        self.seen = ""
        os.write(self.fd, text.encode())

    def until(self, text, seconds=HANG):
        end = time.monotonic() + seconds
        while text not in self.seen:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError("no %r in %r" % (text, self.seen))
            self.seen += os.read(self.fd, 65536).decode("utf-8", "replace")
        self.seen = self.seen.split(text, 1)[1]

    def close(self):
        self.p.kill()
        self.p.wait()
        os.close(self.fd)


def test_zsh_completes(home):
    shell("zsh")
    install(home, "zsh", home.dir / "zsh" / "_skep")
    z = Zsh(home)
    try:
        for line, whole in (("skep session rew", "skep session rewind"),
                            ("skep sess", "skep session"),
                            ("skep session rewind --ag",
                             "skep session rewind --agent")):
            # the completed line becomes the words of a print
            z.say(line + "\t")
            z.say("\x01print -r -- 'g'ot: \x05=\r")
            z.until("\ngot: " + whole)
            z.until("ready> ")
        objects(home)
        z.say("skep --home %s session show wo\t" % home.path)
        z.say("\x01print -r -- 'g'ot: \x05=\r")
        z.until("\ngot: skep --home %s session show work" % home.path)
        z.until("ready> ")
        z.say("skep session re\t\t")
        z.until("undo the last rewind")
    finally:
        z.close()
