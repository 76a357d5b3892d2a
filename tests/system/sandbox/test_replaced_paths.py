"""A run that replaces what its definition names by a symbolic link: the next run
does not see what the link leads to."""
import os
import pathlib
import shutil
import tempfile

import lib
from sandbox_lib import run_output
from skepd_lib import Host, finish
from test_escape import ALONE

# The directory itself may be a mount.
REPLACE = "mv sub old; mkdir sub; ln -s {0} sub/tools"


class Person:
    """A home directory with a key, and a project in which runs work."""

    def __init__(self, home, sandbox="on"):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="skep-test-",
                                                 dir="/var/tmp")) / "person"
        home.undo.append(lambda: shutil.rmtree(self.dir.parent))
        (self.dir.parent / "link").symlink_to("person")
        self.project = self.dir / "project"
        self.workspace = self.project
        self.tools = self.project / "sub" / "tools"
        for name in (".ssh", "private"):
            (self.dir / name).mkdir(parents=True)
            (self.dir / name / "id").write_text("the secret")
            (self.dir / name / "id").chmod(0o755)
        self.restore()
        self.d = Host(home)
        with open(home.dir / "skepd.log", "ab") as log:
            self.d.process = home.start(
                *(ALONE[0] if sandbox == "partial" else ()), home.bin / "skepd",
                env={"HOME": str(self.dir)}, stderr=log)
        lib.eventually(self.d.answers, 60, "an answer of skepd")

    def restore(self):
        shutil.rmtree(self.project, ignore_errors=True)
        self.tools.mkdir(parents=True)
        (self.tools / "id").write_text("#!/bin/sh\nexec sh -c \"$1\"\n")
        (self.tools / "id").chmod(0o755)

    def run(self, name, script, definition):
        """What a run of the definition says, with this script in it."""
        more = dict(definition)
        config = {"command": [w.replace("SCRIPT", script)
                              for w in more.pop("command")], "stdin": "none",
                  "env": more.pop("env", {})}
        self.d.agent(name, "exec", config, path=str(self.workspace), **more)
        run = self.d.submit(name, max_attempts=1)
        row = self.d.until(run)
        return row, run_output(self.d, name, run)


def definitions(p):
    tools = str(p.tools)
    shell = ["/bin/sh", "-c", "SCRIPT"]
    return {
        "word": {"command": shell + [tools]},
        "file": {"command": shell + [tools + "/id"]},
        "path": {"command": shell,
                 "env": {"PATH": tools + ":/usr/bin:/bin"}},
        "read": {"command": shell, "paths": {"read": [tools]}},
        "write": {"command": shell, "paths": {"write": [tools]}},
        "program": {"command": [tools + "/id", "SCRIPT"]},
        "found": {"command": ["id", "SCRIPT"],
                  "env": {"PATH": tools + ":/usr/bin:/bin"}},
    }


def replaced(home, by_link=False, **more):
    p = Person(home, **more)
    seen = {}
    if by_link:
        p.workspace = p.dir.parent / "link/project"
        p.tools = p.workspace / "sub/tools"
    for name, definition in definitions(p).items():
        definition.update(more)
        for target in ("../../.ssh", str(p.dir / "private")):
            p.restore()
            row, output = p.run(name, "cat sub/tools/id; echo done",
                              definition)
            assert "done" in output and "secret" not in output, (name, row, output)
            row, output = p.run(name, REPLACE.format(target), definition)
            assert row["state"] == "succeeded", (name, row)
            assert p.tools.is_symlink(), name
            row, output = p.run(
                name, "cat sub/tools/id {0}/.ssh/id {0}/private/id; "
                "echo x > sub/tools/new; "
                "echo {0}/.ssh/* {0}/private/* sub/tools/*; echo done".format(
                    p.dir), definition)
            assert row["reason"] != "sandbox", (name, row)
            assert "done" in output or name in ("program", "found"), (name, row)
            for where in (".ssh", "private"):
                if sorted(os.listdir(p.dir / where)) != ["id"]:
                    seen[name, where] = "written"
                    (p.dir / where / "new").unlink()
            if "the secret" in output or "/id " in output + " ":
                seen[name, target] = output
    assert not seen, seen
    finish(p.d)


def test_what_a_command_names_in_its_workspace_stays_writable(home):
    p = Person(home)
    row, output = p.run("a", "echo x > sub/tools/new && mv sub/tools moved && ls moved",
                      definitions(p)["word"])
    assert row["state"] == "succeeded" and "new" in output, (row, output)
    finish(p.d)


def test_a_link_in_the_workspace_shows_nothing(home):
    replaced(home)


def test_a_link_in_a_workspace_behind_a_link_shows_nothing(home):
    replaced(home, by_link=True)


def test_a_link_in_the_workspace_shows_nothing_without_namespaces(home):
    if os.getuid() != 0:
        lib.skip("needs root, to drop CAP_SYS_ADMIN")
    replaced(home, sandbox="partial")


def test_links_behind_a_link_show_nothing_without_namespaces(home):
    if os.getuid() != 0:
        lib.skip("needs root, to drop CAP_SYS_ADMIN")
    replaced(home, by_link=True, sandbox="partial")
