"""What a process has written, and whether it was on the disk when it replied:
read from the output of strace."""
import os
import re
import shutil

import lib

CALLS = ("pwrite64,pwritev,write,writev,sendmsg,sendto,fdatasync,fsync,syncfs,"
         "rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,exit_group")
UNFINISHED = "<unfinished ...>"
LINE = re.compile(r"^(\d+) +(.*)$")
PATH = re.compile(r"^\w+\((\d+)<([^>]*)>")
NAMES = re.compile(r'"((?:[^"\\]|\\.)*)"')
FD_DIR = re.compile(r"(?:AT_FDCWD|\d+)<([^>]*)>")


def strace():
    path = shutil.which("strace")
    if not path:
        lib.skip("strace is not installed")
    return path


def command(out, *argv):
    """argv under strace; its pid is the program's own."""
    return [strace(), "-D", "-f", "-y", "-s", "24", "--seccomp-bpf", "-o",
            str(out), "-e", "trace=" + CALLS, "-e", "signal=none",
            *map(str, argv)]


class Trace:
    """The calls of some threads below a directory, in the order in which they
    took effect: a write counts from its beginning, a sync from its end."""

    def __init__(self, path, root):
        self.path, self.root = path, str(root)
        self.at = 0
        self.open = {}    # thread: the call that has not returned
        self.dirty = {}   # path: the call that left it so
        self.wrote = set()

    def is_ours(self, path):
        if not path.startswith(self.root + "/"):
            return False
        name = path[len(self.root) + 1:]
        return not (name.startswith("run/") or name.endswith("-shm")
                    or re.search(r"(^|/)(logs|\.work-[^/]*)(/|$)", name)
                    or name.endswith(".log"))

    def read(self):
        """Yields (thread, call) of the new lines, joined when split."""
        with open(self.path, "rb") as f:
            f.seek(self.at)
            data = f.read()
        end = data.rfind(b"\n") + 1
        self.at += end
        for line in data[:end].decode("utf-8", "replace").splitlines():
            m = LINE.match(line)
            if not m:
                continue
            thread, call = int(m.group(1)), m.group(2)
            if call.endswith(UNFINISHED):
                self.open[thread] = call.removesuffix(UNFINISHED)
                yield thread, call, False
            elif call.startswith("<... "):
                begun = self.open.pop(thread, "")
                yield thread, begun + call.partition(" resumed>")[2], True
            else:
                yield thread, call, None

    def apply(self, call, over):
        """over: None: a whole call, False: its beginning, True: its end."""
        name = call.split("(", 1)[0]
        if name in ("pwrite64", "pwritev", "write", "writev") and over is not True:
            m = PATH.match(call)
            if m and self.is_ours(m.group(2)):
                self.dirty[m.group(2)] = call
                self.wrote.add(m.group(2))
        elif name in ("fdatasync", "fsync") and over is not False:
            m = PATH.match(call)
            if m:
                self.dirty.pop(m.group(2), None)
                self.dirty.pop(m.group(2) + "/", None)
        elif name == "syncfs" and over is not False:
            self.dirty.clear()
        elif name.startswith("rename") and over is not False:
            self.renamed(call)
        elif name.startswith("unlink") and over is not False:
            self.dirty.pop(self.names(call)[0], None)
        elif name.startswith("mkdir") and over is not False and "= -1" not in call:
            path = self.names(call)[0]
            if self.is_ours(path):
                self.dirty[os.path.dirname(path) + "/"] = call

    def names(self, call):
        found = [m.encode().decode("unicode_escape")
                 for m in NAMES.findall(call)]
        dirs = FD_DIR.findall(call)
        return [os.path.join(dirs[i] if i < len(dirs) else "/", n)
                for i, n in enumerate(found)]

    def renamed(self, call):
        if "= -1" in call or len(self.names(call)) < 2:
            return
        old, new = self.names(call)[:2]
        if old in self.dirty:
            self.dirty[new] = self.dirty.pop(old)
        if self.is_ours(new):
            self.wrote.add(new)
            self.dirty[os.path.dirname(new) + "/"] = call
