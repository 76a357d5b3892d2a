"""Runs that share a workspace use it at the same time."""
from lib import eventually
from workspace_lib import host, read, run, shell_agent

N = 200


def see_each_other(home, mode):
    h = host(home)
    bot = shell_agent(h, mode=mode)
    both = [h.submit(bot, """
        echo %s > mine-%s
        while [ ! -s mine-%s ]; do sleep 0.01; done
        cat mine-%s > seen-by-%s
        """ % (a, a, b, b, a), share=True) for a, b in ("xy", "yx")]
    for ident in both:
        row = h.until(ident)
        assert (row["state"], row["is_shared"]) == ("succeeded", True), (
            row, h.events(bot, ident))
    assert read(home, "bot:main", "seen-by-x") == "y\n"
    assert read(home, "bot:main", "seen-by-y") == "x\n"
    h.down()
    h.check_books()


def test_runs_that_share_a_workspace_run_at_once_and_see_each_other(home):
    see_each_other(home, "vfs-only")


def test_runs_that_share_a_scratch_workspace_see_each_other(home):
    see_each_other(home, "vfs-scratch")


def test_nothing_is_lost_when_many_append_to_one_file(home):
    """Three mounts of one namespace. Each line is one write; a directory is a
    lock that only one of them can take."""
    h = host(home)
    bot = shell_agent(h)
    script = """
        for i in $(seq %d); do echo %%s-$i >> log; done
        n=0
        while [ $n -lt 20 ]; do
            if mkdir lock 2> /dev/null; then
                v=$(cat count 2> /dev/null || echo 0)
                echo $((v + 1)) > count
                rmdir lock
                n=$((n + 1))
            fi
        done""" % N
    runs = [h.submit(bot, script % name, share=True) for name in "abc"]
    for ident in runs:
        row = h.until(ident)
        assert row["state"] == "succeeded", (row, h.events(bot, ident))
    lines = read(home, "bot:main", "log").splitlines()
    for name in "abc":
        mine = [line for line in lines if line.startswith(name)]
        assert mine == ["%s-%d" % (name, i + 1) for i in range(N)], mine[-3:]
    assert len(lines) == 3 * N
    assert read(home, "bot:main", "count") == "60\n"
    home.skep("vfs", "fsck", "bot:main")
    h.down()


def test_a_run_that_does_not_share_waits_for_those_that_do(home):
    h = host(home)
    bot = shell_agent(h)
    hold = "touch %s; while [ ! -e go ]; do sleep 0.02; done"
    first = h.submit(bot, hold % "one", share=True)
    h.until(first, "running")
    alone = h.submit(bot, "test -e one; touch alone")
    eventually(lambda: h.get(alone)["works_in"] == "main", what="the queue")
    # one that could share comes after the one that waits
    late = h.submit(bot, "test -e alone", share=True)
    eventually(lambda: h.get(late)["works_in"] == "main", what="the queue")
    assert h.get(alone)["state"] == h.get(late)["state"] == "queued"
    home.skep("vfs", "put", "bot:main", "go", input="x")
    for ident in (first, alone, late):
        assert h.until(ident)["state"] == "succeeded", h.events(bot, ident)
    h.down()


def test_runs_in_a_directory_share_it_unless_the_definition_forbids_it(home):
    h = host(home)
    below = home.dir / "dir"
    below.mkdir(mode=0o777)
    bot = shell_agent(h, mode="disk", path=str(below))
    both = [h.submit(bot, "touch %s; while [ ! -e %s ]; do sleep 0.02; done"
                     % (a, b)) for a, b in ("xy", "yx")]
    for ident in both:
        assert h.until(ident)["state"] == "succeeded"
    bot = shell_agent(h, mode="disk", path=str(below),
                      namespace={"share": False})
    for ident in [h.submit(bot, "mkdir busy; sleep 0.05; rmdir busy")
                  for _ in range(4)]:
        row = h.until(ident)
        assert (row["state"], row["works_in"]) == ("succeeded", str(below))
    run(h, bot, "true")
    h.down()
