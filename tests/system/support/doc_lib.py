"""Runs the commands of a document and compares their output with what it shows.

    check(home, "docs/WORKSPACES.md")

In a block between ``` lines, a line that begins with `$ ` is a command. It ends
with its line, or with the line that closes its quotes, its here-document or its
last backslash. The lines up to the next command are its output, standard error
included. A block without such a line is not run. All commands run in one shell,
in the order of the document, in an empty home directory: what one creates, the
next one finds. `/home/ann` in the document is that home directory.

What differs from one time to the next counts as equal: ids, times, durations,
process ids, ports, hashes, and the width of columns. An id that the document
shows stands for the real one from then on, also in later commands. In the
output, a line `…` stands for any number of lines.

Comments of the document, each on lines of its own:

    <!-- not run: WHY -->     the next block is not run
    <!-- run: COMMAND -->     runs a command that readers do not need

With SKEP_UPDATE_DOCS=1, check() writes the real output into the document."""
import difflib
import os
import pathlib
import re
import select
import shlex
import subprocess
import time

import lib

ROOT = pathlib.Path(__file__).resolve().parents[3]
ANN = "/home/ann"
ID = re.compile(r"\b[a-z]{2,5}_[0-9a-hjkmnp-tv-z]{26}\b")
VARIES = [
    (re.compile(r"\b\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\b)"), "TIME"),
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "HASH"),
    (re.compile(r"\b(process|pid) \d+"), r"\1 PID"),
    (re.compile(r'"pid":\d+'), '"pid":PID'),
    (re.compile(r"\b(127\.0\.0\.1|localhost):\d+"), r"\1:PORT"),
    (re.compile(r"± [\d.]+"), "± N"),
    (re.compile(r"\b\d+(\.\d+)?(N)? ?(ns|µs|ms|s|min)\b"), "DURATION"),
    (re.compile(r"\b\d+(\.\d+)?(?= ± N s\b)"), "N"),
    (re.compile(r"[ \t]+"), " "),
]


class Command:
    """One command of the document; `first` and `last` are the lines of its
    output, as indices."""

    def __init__(self, text, at):
        self.text, self.at = text, at
        self.first = self.last = None

    def shown(self, lines):
        return lines[self.first:self.last] if self.first is not None else None


def is_complete(text):
    """Whether a shell would run it, and not ask for another line."""
    if text.endswith("\\"):
        return False
    said = subprocess.run(["bash", "-n", "-c", text], capture_output=True,
                          text=True).stderr
    return not re.search("unexpected EOF|unexpected end of file|here-document",
                         said)


def block_commands(lines, first, last):
    found, i = [], first
    while i < last:
        if not lines[i].startswith("$ "):
            i += 1
            continue
        command = Command(lines[i][2:], i)
        i += 1
        while i < last and not is_complete(command.text):
            command.text += "\n" + lines[i]
            i += 1
        command.first = i
        while i < last and not lines[i].startswith("$ "):
            i += 1
        command.last = i
        found.append(command)
    return found


def commands(lines):
    """Those of a document, in its order."""
    found, skip, begin = [], False, None
    for i, line in enumerate(lines):
        hidden = re.fullmatch(r"<!-- run: (.*) -->", line)
        if line.startswith("```") and begin is None:
            begin = i + 1
        elif line.startswith("```"):
            if not skip:
                found += block_commands(lines, begin, i)
            begin, skip = None, False
        elif begin is None and hidden:
            found.append(Command(hidden[1], i))
        elif begin is None and re.fullmatch(r"<!-- not run: .* -->", line):
            skip = True
    assert begin is None, "the block of line %d does not end" % begin
    return found


class Shell:
    """A bash that keeps its variables and directory between commands."""

    def __init__(self, home):
        self.said = home.dir / ".said"
        home.path = home.dir / ".skep"
        env = dict(home.env, SKEP_HOME=str(home.path), USER="ann", TZ="UTC",
                   TERM="dumb", COLUMNS="100")
        home.env = env
        self.status, end = os.pipe()
        self.process = home.start(
            "bash", "--norc", "-c", "while IFS= read -r line; do eval \"$line\";"
            " done", env=env, cwd=home.dir, stdin=subprocess.PIPE,
            pass_fds=[end])
        self.end = end

    def run(self, text):
        """The output of a command, when it is over."""
        line = "eval %s </dev/null >%s 2>&1; echo >&%d\n" % (
            shlex.quote(text).replace("\n", "'$'\\n''"), self.said, self.end)
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()
        limit = time.monotonic() + lib.HANG
        while not select.select([self.status], [], [], 1)[0]:
            assert self.process.poll() is None, "the shell ended: " + text
            assert time.monotonic() < limit, "this does not end: " + text
        os.read(self.status, 1)
        return self.said.read_text(errors="replace").splitlines()


def plain(line, also):
    for what, by in [*also, *VARIES]:
        line = what.sub(by, line)
    return ID.sub("ID", line).rstrip()


def matches(shown, real):
    """Whether the lines are equal; `…` is any number of lines."""
    if not shown:
        return not real
    if shown[0] == "…":
        return any(matches(shown[1:], real[i:]) for i in range(len(real) + 1))
    return bool(real) and shown[0] == real[0] and matches(shown[1:], real[1:])


class Ids:
    """Which real id an id of the document stands for."""

    def __init__(self):
        self.real = {}

    def learn(self, shown, said):
        have, got = ID.findall("\n".join(shown)), ID.findall("\n".join(said))
        for a, b in zip(dict.fromkeys(have), dict.fromkeys(got)):
            self.real.setdefault(a, b)

    def use(self, text):
        return ID.sub(lambda m: self.real.get(m[0], m[0]), text)

    def show(self, text):
        """The way back: the ids of the document."""
        shown = {b: a for a, b in self.real.items()}
        return ID.sub(lambda m: shown.get(m[0], m[0]), text).rstrip()


def update(path, lines, wrong, ids):
    for command, said in reversed(wrong):
        lines[command.first:command.last] = map(ids.show, said)
    path.write_text("\n".join(lines) + "\n")


def check(home, document, also=()):
    """Runs the document. `also` has more (regular expression, replacement)
    pairs for what may differ."""
    path = ROOT / document
    lines = path.read_text().splitlines()
    also = [(re.compile(a), b) for a, b in also]
    shell, ids, wrong, report = Shell(home), Ids(), [], []
    for command in commands(lines):
        said = [line.replace(str(home.dir), ANN) for line in shell.run(
            ids.use(command.text).replace(ANN, str(home.dir)))]
        shown = command.shown(lines)
        if shown is None:
            continue
        have = [plain(line, also) for line in shown]
        got = [plain(line, also) for line in said]
        ids.learn(shown, said)
        if matches(have, got):
            continue
        wrong.append((command, said))
        report += ["%s:%d: $ %s" % (document, command.at + 1, command.text),
                   *difflib.unified_diff(have, got, "the document", "the command",
                                         lineterm="", n=1)]
    if wrong and os.environ.get("SKEP_UPDATE_DOCS") == "1":
        update(path, lines, wrong, ids)
        return
    assert not wrong, "\n" + "\n".join(report)
