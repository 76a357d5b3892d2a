"""Programs on a terminal."""
import fcntl
import os
import pty
import re
import select
import struct
import shlex
import shutil
import subprocess
import termios
import time

import lib


def on_terminal(home, *args, columns=60, env=None, typed=None):
    """Runs skep with a terminal as its output, and as its input if something is
    typed: (exit status, what came)."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ,
                struct.pack("HHHH", 24, columns, 0, 0))
    p = subprocess.Popen([home.bin / "skep", *args], stdout=slave, stderr=slave,
                         stdin=subprocess.DEVNULL if typed is None else slave,
                         env={**home.env, "TERM": "xterm", **(env or {})})
    os.close(slave)
    if typed is not None:
        os.write(master, typed.encode())
    out = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break  # the other end is closed
        if not piece:
            break
        out += piece
    os.close(master)
    return p.wait(), out.decode("utf-8", "replace").replace("\r\n", "\n")


class Terminal:
    """skep on a terminal, with somebody who types."""

    def __init__(self, home, *args, columns=80, lines=24, env=None):
        self.fd, slave = pty.openpty()
        self.resize(columns, lines)
        self.seen = self.all = ""
        self.p = subprocess.Popen(
            [home.bin / "skep", *args], stdin=slave, stdout=slave, stderr=slave,
            env={**home.env, "TERM": "xterm", **(env or {})},
            preexec_fn=self._own, cwd=home.dir)
        os.close(slave)

    @staticmethod
    def _own():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    def resize(self, columns, lines):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ,
                    struct.pack("HHHH", lines, columns, 0, 0))

    def say(self, text):
        self.seen = ""
        os.write(self.fd, text.encode())

    def _read(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            piece = os.read(self.fd, 65536).decode("utf-8", "replace")
        except OSError:
            return False
        self.seen += piece
        self.all += piece
        return bool(piece)

    def until(self, text):
        end = time.monotonic() + lib.HANG
        while text not in self.seen:
            if not self._read(end - time.monotonic()):
                raise AssertionError("no %r in %r" % (text, self.all))
        self.seen = self.seen.split(text, 1)[1]

    def wait(self):
        while self._read(lib.HANG):
            pass
        os.close(self.fd)
        return self.p.wait(lib.HANG)


def plain(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


class Screen:
    """skep in tmux, which is a whole terminal: for programs that draw."""

    def __init__(self, home, *args, columns=80, lines=24):
        if not shutil.which("tmux"):
            lib.skip("tmux is not there")
        self.socket = home.dir / "tmux"
        self.env = {**home.env, "TERM": "xterm"}
        home.undo.append(self.close)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns),
                  "-y", str(lines), "exec " + shlex.join(
                      map(str, [home.bin / "skep", *args])))

    def tmux(self, *args):
        return subprocess.run(["tmux", "-S", self.socket, *args], env=self.env,
                              check=True, capture_output=True, text=True).stdout

    def text(self):
        return self.tmux("capture-pane", "-p")

    def until(self, *texts):
        lib.eventually(lambda: all(x in self.text() for x in texts),
                       what="%r on the screen" % (texts,))

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def resize(self, columns, lines):
        self.tmux("resize-window", "-x", str(columns), "-y", str(lines))

    def ended(self):
        return subprocess.run(["tmux", "-S", self.socket, "list-sessions"],
                              env=self.env, capture_output=True).returncode != 0

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], env=self.env,
                       capture_output=True)
