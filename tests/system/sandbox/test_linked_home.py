"""A home directory behind a symbolic link, such as /home on a second disk: runs
work there, by both names, and see nothing else of it."""
import os
import pathlib
import shutil
import tempfile

import lib
from sandbox_lib import run_output
from skepd_lib import Host, finish
from test_escape import ALONE


def check(home, around=(), **more):
    top = pathlib.Path(tempfile.mkdtemp(prefix="skep-test-", dir="/var/tmp"))
    home.undo.append(lambda: shutil.rmtree(top))
    top.chmod(0o755)
    (top / "link").symlink_to("real")
    for name, text in (("private/key", "the secret"), (".ssh/id", "the secret"),
                       ("data/file", "given"), ("project/link/file", "x"),
                       ("bin/hello", "#!/bin/sh\necho hello\n")):
        path = top / "real/person" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    d = Host(home)
    with open(home.dir / "skepd.log", "ab") as log:
        d.process = home.start(
            *around, home.bin / "skepd", stderr=log,
            env={"HOME": str(top / "link/person"),
                 "PATH": "%s:/usr/bin:/bin" % (top / "link/person/bin")})
    lib.eventually(d.answers, 60, "an answer of skepd")
    for form in ("link", "real"):
        person = top / form / "person"
        d.shell(form, "exec 2>&1; echo x > made-{0}; hello; cat {1}/data/file; "
                "for p in link real; do cat {2}/$p/person/private/key "
                "{2}/$p/person/.ssh/id; done; echo {1}/*".format(
                    form, person, top), path=str(person / "project"),
                paths={"write": [str(person / "data")]}, **more)
        run = d.submit(form)
        row = d.until(run)
        output = run_output(d, form, run)
        assert row["state"] == "succeeded", (form, row)
        assert "hello" in output and "given" in output, (form, output)
        assert "secret" not in output, (form, output)
        assert "private" not in output.rsplit("\n", 1)[-1], (form, output)
        assert (top / "real/person/project" / ("made-" + form)).exists()
    finish(d)


def test_a_home_behind_a_link_is_hidden_and_works(home):
    check(home)


def test_a_home_behind_a_link_is_hidden_without_namespaces(home):
    if os.getuid() != 0:
        lib.skip("needs root, to drop CAP_SYS_ADMIN")
    check(home, ALONE[0], sandbox="partial")
