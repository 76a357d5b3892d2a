"""AgentFS files in both directions, with AgentFS's own SDK at the other end."""
import hashlib
import json
import os
import pathlib

from npm_lib import packages
from vfs_lib import agent, tree

SCRIPT = pathlib.Path(__file__).resolve().parents[1] / "support" / "agentfs_sdk.mjs"


def sdk(home, verb, file):
    modules = packages("agentfs-sdk@0.6") / "node_modules"
    return home.run("node", SCRIPT, modules, verb, file).json


def as_sdk(found):
    """What `tree` gives, as the script says it."""
    return {os.fsdecode(path): [int(mode, 8), links, size,
                                what and os.fsdecode(what)]
            for path, (mode, _, _, links, _, what, size) in found.items()}


def with_sizes(root):
    found = tree(root)
    for path, what in found.items():
        st = os.lstat(os.path.join(os.fsencode(root), path))
        regular = what[0].startswith("0o100")
        found[path] = (*what, st.st_size if regular else 0)
    return as_sdk(found)


def make(root):
    (root / "dir/deep").mkdir(parents=True)
    (root / "empty").mkdir(mode=0o700)
    for n in (0, 1, 4095, 4096, 4097, 65536, 300001):
        (root / "dir" / ("n%d" % n)).write_bytes(bytes(
            i * 7 % 251 for i in range(n)))
    (root / "dir/deep/ünïcode name").write_text("text\n")
    (root / "soft").symlink_to("dir/n1")
    (root / "dangling").symlink_to("/nowhere")
    os.link(root / "dir/n4097", root / "hard")
    with open(root / "sparse", "wb") as f:
        f.truncate(200000)
        f.seek(150000)
        f.write(b"middle")
    (root / "program").write_text("#!/bin/sh\n")
    (root / "program").chmod(0o755)


def test_the_sdk_of_agentfs_reads_what_is_exported(home):
    agent(home)
    src, file = home.dir / "src", home.dir / "out.agentfs"
    src.mkdir()
    make(src)
    home.skep("vfs", "import", "a", src)
    home.skep("vfs", "export", "a", file)
    want, got = with_sizes(src), sdk(home, "show", file)
    assert got == want, sorted(set(map(json.dumps, got.items())) ^
                               set(map(json.dumps, want.items())))


def test_what_the_sdk_of_agentfs_made_is_imported(home):
    agent(home)
    file, out = home.dir / "in.agentfs", home.dir / "out"
    want = sdk(home, "fill", file)
    assert want["src/n65536"][2] == 50000 and "gone" not in want
    home.skep("vfs", "import", "a", file)
    home.skep("vfs", "export", "a", out)
    got = with_sizes(out)
    assert got == want, sorted(set(map(json.dumps, got.items())) ^
                               set(map(json.dumps, want.items())))
    patched = (out / "src/n65536").read_bytes()
    assert patched[4000:4021] == b"patched over a border"
    assert hashlib.sha256(patched).hexdigest() == want["src/n65536"][3]
    assert "no faults" in home.skep("vfs", "fsck", "a", "--deep").out


def test_what_the_sdk_of_agentfs_made_is_migrated(home):
    file, out = home.dir / "box.db", home.dir / "out"
    want = sdk(home, "fill", file)
    before = file.read_bytes()
    plan = home.skep("import", "plan", file, "--json").lines
    assert plan[0]["state"] == "planned" and plan[0]["target"] == "imported:box", plan
    got = home.skep("import", "apply", file, "--yes", "--json").lines
    assert got[0]["state"] == "imported" and got[0]["records"] >= len(want), got
    assert file.read_bytes() == before
    home.skep("vfs", "export", "imported:box", out)
    assert with_sizes(out) == want
    again = home.skep("import", "apply", file, "--yes", "--json").lines
    assert again[0]["state"] == "done", again
