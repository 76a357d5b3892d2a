"""skep vfs as people use it: wrong words, odd names, a terminal."""
import json
import os
import stat
import subprocess

from lib import eventually, skip
from test_terminal import on_terminal
from vfs_lib import agent, mount

ODD = b"b\xe9te\nline"


def test_names_of_any_bytes_can_be_said(home):
    agent(home)
    skep = os.fsencode(home.bin / "skep")
    vfs = lambda *words, **more: home.run(skep, b"vfs", *words, **more)
    vfs(b"put", b"a", b"d/" + ODD, b"-p", input="text")
    assert vfs(b"cat", b"a", b"d/" + ODD).out == "text"
    vfs(b"mv", b"a", b"d/" + ODD, ODD)
    assert "b\\xe9te" in home.skep("vfs", "ls", "a").out
    vfs(b"get", b"a", ODD)
    assert (home.dir / os.fsdecode(ODD)).read_text() == "text"
    vfs(b"rm", b"a", ODD)
    home.refused(66, "vfs", "stat", "a", ODD)
    home.refused(64, "vfs", "grep", "a", b"\xe9")


def test_an_agent_is_named_before_the_namespace(home):
    agent(home)
    home.skep("agent", "add", "b", "--driver", "script")
    home.skep("namespace", "create", "b:work")
    home.skep("vfs", "put", "b:work", "f", input="text")
    assert home.skep("vfs", "cat", "b:work", "f").out == "text"
    home.skep("vfs", "put", "b:main", "g", input="main")
    assert home.skep("vfs", "cat", "b", "g").out == "main"
    home.skep("vfs", "put", ":main", "g", input="the default agent's")
    assert home.skep("vfs", "cat", "a", "g").out == "the default agent's"
    home.refused(64, "vfs", "cat", "--agent", "b", "work", "f")
    error = home.refused(66, "vfs", "cat", "b:nowhere", "f")
    assert "skep namespace create b:nowhere" in error, error


def test_a_file_can_go_to_standard_output(home):
    agent(home)
    home.skep("vfs", "put", "a", "f", input=b"\0bytes\xff")
    assert home.skep("vfs", "get", "a", "f", "-").raw == b"\0bytes\xff"
    assert not (home.dir / "-").exists()


def test_a_file_is_got_with_its_holes(home):
    agent(home)
    size = 64 << 20
    sparse = home.dir / "sparse"
    with open(sparse, "wb") as f:
        f.seek(20 << 20)
        f.write(b"data")
        f.truncate(size)
    home.skep("vfs", "put", "a", "f", sparse)
    home.skep("vfs", "get", "a", "f", home.dir / "got")
    got = os.stat(home.dir / "got")
    assert got.st_size == size
    assert got.st_blocks * 512 < 4 << 20, got.st_blocks
    assert (home.dir / "got").read_bytes() == sparse.read_bytes()
    home.skep("vfs", "get", "a", "f", "/dev/null")
    assert len(home.skep("vfs", "get", "a", "f", "-").raw) == size


def test_an_error_says_what_can_be_done(home):
    agent(home)
    home.skep("vfs", "put", "a", "d/f", "--parents", input="x")
    (home.dir / "plain").write_text("no archive")
    for code, words, says in (
            (66, ("ls", "a:none"), "skep namespace create a:none"),
            (64, ("diff", "a"), "not a fork and has no lower directory"),
            (64, ("fork", "a", "b c"), "letters, digits"),
            (66, ("fork", "a", "b:x"), "no agent 'b'"),
            (65, ("cat", "a", "/"), "is a directory"),
            (65, ("import", "a", "plain"), "plain: "),
            (64, ("export", "a", "x.tar.gz"), "| gzip"),
            (65, ("cp", "a", "d", "e"), "--recursive"),
            (65, ("rm", "a", "d"), "not empty"),
            (65, ("edit", "a", "d", "x", "y"), "not a regular file"),
            (64, ("grep", "a", "(", "-E"), "invalid regular expression"),
            (64, ("quota", "a", "--bytes", "lots"), "is not a size")):
        error = home.refused(code, "vfs", *words)
        assert says in error, (words, error)
    assert "the snapshot 'b c'" in home.refused(64, "snapshot", "create", "a",
                                                "b c")
    home.skep("snapshot", "create", "a", "s")
    assert "fork it" in home.refused(74, "vfs", "put", "a:main@s", "x",
                                     input="y")
    home.skep("vfs", "export", "a", "out")
    assert "already exists" in home.refused(65, "vfs", "export", "a", "out")
    assert not (home.dir / "x.tar.gz").exists()


def test_what_the_host_has_is_in_no_quota_until_it_changes(home):
    agent(home)
    base = home.dir / "base"
    base.mkdir()
    for i in range(20):
        (base / ("f%d" % i)).write_bytes(b"x" * 1000)
    home.skep("namespace", "create", "a:w", "--lower", base)
    home.skep("vfs", "quota", "a:w", "--bytes", "2500", "--files", "3")
    assert len(home.skep("vfs", "ls", "a:w", "--json").lines) == 20
    home.skep("vfs", "put", "a:w", "f1", "--append", input="y")
    used = home.skep("vfs", "quota", "a:w", "--json").json
    assert (used["bytes"], used["files"]) == (1001, 2), used  # and the root
    home.skep("vfs", "rm", "a:w", "f2")
    home.refused(74, "vfs", "put", "a:w", "new", input="z" * 2000)
    home.skep("vfs", "put", "a:w", "new", input="z" * 1000)
    home.refused(74, "vfs", "put", "a:w", "f3", "--append", input="y")
    home.skep("vfs", "rm", "a:w", "f1")
    home.skep("vfs", "put", "a:w", "f3", "--append", input="y")
    assert "no faults" in home.skep("vfs", "fsck", "a").out


def test_a_hole_stays_a_hole_on_the_host(home):
    agent(home)
    with open(home.dir / "sparse", "wb") as f:
        f.truncate(64 << 20)
        f.seek(20 << 20)
        f.write(b"middle")
    home.skep("vfs", "put", "a", "sparse", "sparse")
    home.skep("vfs", "export", "a", "out")
    got = home.dir / "out/sparse"
    assert got.read_bytes() == (home.dir / "sparse").read_bytes()
    assert got.stat().st_blocks * 512 < 4 << 20, got.stat()


def test_an_import_does_not_take_a_directory_away_in_silence(home):
    agent(home)
    (home.dir / "src").mkdir()
    (home.dir / "src" / "name").write_text("a file")
    subprocess.run(["tar", "cf", home.dir / "x.tar", "-C", home.dir / "src", "."],
                   check=True)
    for kind in ("src", "x.tar"):
        home.skep("vfs", "mkdir", "a", "name")
        home.skep("vfs", "put", "a", "name/kept", input="precious")
        r = home.refused(65, "vfs", "import", "a", home.dir / kind)
        assert "name" in r and "--replace" in r, r
        assert home.skep("vfs", "cat", "a", "name/kept").out == "precious"
        home.skep("vfs", "import", "a", home.dir / kind, "--replace")
        assert home.skep("vfs", "cat", "a", "name").out == "a file"
        home.skep("vfs", "rm", "a", "name")
    # of an archive that names it twice the last one counts, if so wanted
    (home.dir / "one" / "name").mkdir(parents=True)
    for src in ("one", "src"):
        subprocess.run(["tar", "rf", home.dir / "y.tar", "-C", home.dir / src,
                        "name"], check=True)
    home.refused(65, "vfs", "import", "a", home.dir / "y.tar")
    home.skep("vfs", "import", "a", home.dir / "y.tar", "--replace")
    assert home.skep("vfs", "cat", "a", "name").out == "a file"
    assert "no faults" in home.skep("vfs", "fsck", "a").out


def test_a_wrong_verb_is_named(home):
    agent(home)
    for words, wants in (
            (("vfs", "lss"), ("'vfs lss'", "did you mean 'vfs ls'?")),
            (("vfs", "zzzzzzz"), ("'vfs zzzzzzz'", "has the verbs", "import")),
            (("agent", "zzzzzzz", "x"), ("'agent zzzzzzz'", "add, ls")),
            (("approvals", "ls"), ("'approvals'", "'approval'")),
            (("zzzzzzzzz",), ("'zzzzzzzzz'", "skep --help"))):
        r = home.refused(64, *words)
        assert all(w in r for w in wants), (words, r)


def test_a_long_import_and_export_show_a_bar_on_a_terminal(home):
    agent(home)
    src = home.dir / "src"
    src.mkdir()
    for i in range(3000):
        (src / str(i)).write_bytes(b"%d" % i * 500)
    for words in (("import", "a", src), ("export", "a", home.dir / "out"),
                  ("export", "a", home.dir / "out.tar"),
                  ("import", "a", home.dir / "out.tar", "t")):
        code, output = on_terminal(home, "vfs", *words)
        what = words[0] + "ing ["
        assert code == 0 and what in output and "3001" in output, output
        quiet = home.skep("vfs", "ls", "a")
        assert "ing [" not in quiet.out + quiet.err


def test_a_tree_is_shown_counted_and_searched(home):
    agent(home)
    for path, text in (("src/main.c", "int main(void)\n"), ("src/lib/x.h", "X"),
                       ("README", "Main page\n"), ("data", "\0main")):
        home.skep("vfs", "put", "a", path, "-p", input=text)
    assert home.skep("vfs", "tree", "a", "src").out.splitlines()[-1] == (
        "2 directories, 2 files")
    du = home.skep("vfs", "du", "a", "src", "--json").json
    assert (du["files"], du["bytes"]) == (2, 16), du
    find = lambda *words: home.skep("vfs", "find", "a", *words).out.split()
    assert find("--name", "*.[ch]") == ["src/lib/x.h", "src/main.c"]
    assert find("--type", "directory", "--name", "l*") == ["src/lib"]
    assert find("--min-size", "10", "--type", "file") == ["README",
                                                          "src/main.c"]
    grep = lambda *words: home.skep("vfs", "grep", "a", *words).out.splitlines()
    assert grep("main") == ["src/main.c:1:int main(void)"]
    assert grep("main", "-i", "-l") == ["README", "src/main.c"]
    assert grep("^[mM]ain", "-E") == ["README:1:Main page"]
    assert grep("main", "-i", "--glob", "*.c") == grep("main", "src")
    assert grep("main", "src/main.c") == grep("main", "src/")
    assert find("src/lib") == ["src/lib/x.h"]
    home.refused(66, "vfs", "grep", "a", "nowhere")


def test_changes_can_be_followed_whoever_makes_them(home):
    at, _ = mount(agent(home))
    p = home.start(home.bin / "skep", "vfs", "watch", "a", "--json",
                   stdout=subprocess.PIPE)
    seen = []

    def until(op, path):
        while not seen or (seen[-1]["op"], seen[-1]["path"]) != (op, path):
            seen.append(json.loads(p.stdout.readline()))

    # it tells of nothing that was before it looked for the first time
    def try_it():
        home.skep("vfs", "put", "a", "first", input="x")
        os.set_blocking(p.stdout.fileno(), False)
        line = p.stdout.readline()
        os.set_blocking(p.stdout.fileno(), True)
        return line
    eventually(try_it, what="the first change")
    (at / "d").mkdir()
    until("create", "d")
    (at / "d/f").write_text("x")
    home.skep("vfs", "mv", "a", "d/f", "g")
    until("move_to", "g")
    who = {c["who"].split(":")[0] for c in seen}
    assert who == {"cli", "mount"}, seen
    log = home.skep("vfs", "log", "a", "--json").lines
    assert [c["seq"] for c in log] == sorted(c["seq"] for c in log)
    assert log[-1]["path"] == "g" and log[-1]["op"] == "move_to"
    assert home.skep("vfs", "log", "a", "--after", str(log[-2]["seq"]),
                     "--json").lines == log[-1:]


def tree(top):
    """Paths with what they are and hold."""
    return {str(p.relative_to(top)):
            os.readlink(p) if p.is_symlink() else
            p.read_bytes() if p.is_file() else None
            for p in sorted(top.rglob("*"))}


def test_sqlar_files_are_read_as_sqlite_reads_them(home):
    if subprocess.run(["sqlite3", "-A", "--help"], capture_output=True).returncode:
        skip("sqlite3 has no archiver here")
    agent(home)
    (home.dir / "src" / "d").mkdir(parents=True)
    (home.dir / "src" / "d" / "text").write_text("text " * 1000)
    (home.dir / "src" / "short").write_text("x")
    (home.dir / "src" / "empty").touch()
    os.symlink("d/text", home.dir / "src" / "link")
    home.run("sqlite3", home.dir / "x.sqlar", "-A", "-c", "d", "short", "empty",
             cwd=home.dir / "src")
    home.run("sqlite3", home.dir / "x.sqlar",
             "INSERT INTO sqlar VALUES ('odd', 33188, 1, 0, 'no size'), "
             "('none', 33188, 1, NULL, 'none'), ('same', 33188, 1, 4, 'four')")
    (home.dir / "theirs").mkdir()
    home.run("sqlite3", home.dir / "x.sqlar", "-A", "-x", cwd=home.dir / "theirs")
    home.skep("vfs", "import", "a", home.dir / "x.sqlar", "in")
    home.skep("vfs", "export", "a", home.dir / "ours", "in")
    assert tree(home.dir / "ours") == tree(home.dir / "theirs"), (
        tree(home.dir / "ours"), tree(home.dir / "theirs"))
    assert len(tree(home.dir / "ours")) == 7
    home.skep("vfs", "export", "a", home.dir / "y.sqlar", "in")
    (home.dir / "again").mkdir()
    home.run("sqlite3", home.dir / "y.sqlar", "-A", "-x", cwd=home.dir / "again")
    assert tree(home.dir / "again") == tree(home.dir / "theirs")
    # older ones write links, and cannot read them
    home.run("sqlite3", home.dir / "z.sqlar", "-A", "-c", "link",
             cwd=home.dir / "src")
    home.skep("vfs", "import", "a", home.dir / "z.sqlar", "in")
    home.skep("vfs", "export", "a", home.dir / "more", "in")
    assert tree(home.dir / "more") == dict(tree(home.dir / "ours"), link="d/text")


def test_files_of_an_agent_are_not_setuid_on_the_host(home):
    agent(home)
    tree = home.dir / "tree"
    (tree / "sub").mkdir(parents=True)
    for name, mode in (("uid", 0o4755), ("gid", 0o2755), ("both", 0o6711),
                       ("plain", 0o640)):
        (tree / name).write_text(name)
        (tree / name).chmod(mode)
    (tree / "sub").chmod(0o2775)
    home.skep("vfs", "import", "a", tree)
    mode = lambda path: path.stat().st_mode & 0o7777
    want = {"uid": 0o755, "gid": 0o755, "both": 0o711, "plain": 0o640,
            "sub": 0o2775}
    home.skep("vfs", "export", "a", home.dir / "out")
    home.skep("vfs", "get", "a", "/", home.dir / "got")
    home.skep("vfs", "export", "a", home.dir / "x.tar")
    (home.dir / "from-tar").mkdir()
    home.run("tar", "xpf", home.dir / "x.tar", "-C", home.dir / "from-tar")
    for place in ("out", "got", "from-tar"):
        got = {n: mode(home.dir / place / n) for n in want}
        assert got == want, (place, got)
    home.skep("vfs", "export", "a", home.dir / "x.sqlar")
    got = {n: m & 0o7777 for n, m in home.query(
        home.dir / "x.sqlar", "SELECT name, mode FROM sqlar")}
    assert {n: got[n] for n in want} == want, got
    home.skep("vfs", "get", "a", "uid", home.dir / "one")
    assert mode(home.dir / "one") & 0o6000 == 0
    home.skep("vfs", "export", "a", home.dir / "kept", "--keep-setuid")
    assert mode(home.dir / "kept" / "both") == 0o6711


def tree_with_devices(home):
    if os.geteuid() != 0:
        skip("needs root, to make device nodes")
    tree = home.dir / "tree"
    tree.mkdir()
    os.mknod(tree / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
    os.mknod(tree / "disk", stat.S_IFBLK | 0o660, os.makedev(7, 0))
    os.mkfifo(tree / "fifo")
    (tree / "file").write_text("x")
    return tree


def test_device_nodes_of_an_agent_stay_in_its_file(home):
    tree = tree_with_devices(home)
    agent(home)
    home.skep("vfs", "import", "a", tree)
    for words in (("export", "a"), ("get", "a", "/")):
        out = home.dir / words[0]
        r = home.skep("vfs", *words, out)
        assert sorted(os.listdir(out)) == ["fifo", "file"], os.listdir(out)
        assert "2 device nodes were omitted" in r.err, r.err
    r = home.skep("vfs", "export", "a", home.dir / "x.tar")
    assert "2 device nodes were omitted" in r.err, r.err
    names = home.run("tar", "tf", home.dir / "x.tar").out.split()
    assert sorted(names) == ["./", "fifo", "file"], names
    r = home.skep("vfs", "export", "a", home.dir / "all", "--devices")
    assert "omitted" not in r.err, r.err
    for name in ("null", "disk", "fifo"):
        was, got = os.stat(tree / name), os.stat(home.dir / "all" / name)
        assert (was.st_mode, was.st_rdev) == (got.st_mode, got.st_rdev), name


def test_apply_makes_no_device_node(home):
    tree = tree_with_devices(home)
    base = home.dir / "base"
    base.mkdir()
    agent(home)
    home.skep("namespace", "create", "a:w", "--lower", base)
    home.skep("vfs", "import", "a:w", tree)
    assert "device" in home.refused(None, "vfs", "apply", "a:w")
    assert not os.listdir(base), os.listdir(base)
    home.skep("vfs", "apply", "a:w", "--strategy", "theirs")
    assert sorted(os.listdir(base)) == ["fifo", "file"], os.listdir(base)


def test_apply_makes_no_setuid_file(home):
    base = home.dir / "base"
    base.mkdir()
    agent(home)
    home.skep("namespace", "create", "a:w", "--lower", base)
    tree = home.dir / "tree"
    tree.mkdir()
    (tree / "x").write_text("x")
    (tree / "x").chmod(0o6755)
    home.skep("vfs", "import", "a:w", tree)
    home.skep("vfs", "apply", "a:w")
    assert (base / "x").stat().st_mode & 0o7777 == 0o755


def test_a_quota_that_is_used_up_says_so(home):
    agent(home)
    home.skep("vfs", "put", "a", "f", input="x" * 1000)
    home.skep("vfs", "quota", "a", "--bytes", "2000")
    for words in (("put", "a", "g"), ("put", "a", "f")):
        output = home.run(home.bin / "skep", "vfs", *words, input="y" * 5000,
                        code=None)
        assert output.code == 74, output.code
        assert "quota" in output.err if isinstance(output.err, str) else \
            b"quota" in output.err, output.err
    assert home.skep("vfs", "cat", "a", "f").out == "x" * 1000
