"""A run works in the workspace that it names."""
from workspace_lib import fails, host, read, run, shell_agent, spaces


def test_a_run_works_in_the_namespace_that_it_names(home):
    h = host(home)
    bot = shell_agent(h)
    run(h, bot, "echo one > f")
    home.skep("namespace", "create", "bot:other")
    row = run(h, bot, "ls; echo two > f", workspace="other")
    assert (row["workspace"], row["works_in"]) == ("other", "other")
    assert read(home, "bot:main", "f") == "one\n"
    assert read(home, "bot:other", "f") == "two\n"
    assert "has no namespace nowhere" in fails(h, bot, "true",
                                               workspace="nowhere")
    assert spaces(home) == ["main", "other"]
    h.down()


def test_a_run_works_in_a_fork_and_the_source_stays(home):
    h = host(home)
    bot = shell_agent(h)
    run(h, bot, "echo one > f")
    home.skep("snapshot", "create", "bot:main", "clean")
    run(h, bot, "echo later > f")
    row = run(h, bot, "cat f; echo forked > f", fork_of="main")
    assert row["works_in"] == row["id"]
    run(h, bot, "test $(cat f) = one; echo old > f", fork_of="main@clean",
        workspace="past")
    assert read(home, "bot:main", "f") == "later\n"
    assert read(home, "bot:" + row["id"], "f") == "forked\n"
    assert read(home, "bot:past", "f") == "old\n"
    assert spaces(home) == sorted(["main", "past", row["id"]])
    assert "already exists" in fails(h, bot, "true", fork_of="main",
                                     workspace="past")
    assert "no namespace or snapshot main@gone" in fails(
        h, bot, "true", fork_of="main@gone")
    h.down()


def test_a_fork_has_the_quota_of_its_source(home):
    h = host(home)
    bot = shell_agent(h, limits={"disk": "4M"})
    run(h, bot, "mkdir d; head -c 1000000 /dev/zero > d/f")
    home.skep("snapshot", "create", "bot:main", "clean")
    fill = "head -c 3500000 /dev/zero > g"
    for fork_of in ("main", "main@clean"):
        got = h.until(h.submit(bot, fill, fork_of=fork_of, workspace="over"))
        assert got["state"] == "failed", got
        used = home.skep("vfs", "quota", "bot:over", "--json").json
        assert used["max_bytes"] == 4 << 20 and used["bytes"] <= 4 << 20, used
        home.skep("namespace", "rm", "bot:over")
        run(h, bot, "rm -r d;" + fill, fork_of=fork_of, workspace="fits")
        used = home.skep("vfs", "quota", "bot:fits", "--json").json
        assert used["bytes"] == 3500000, used
        home.skep("namespace", "rm", "bot:fits")
    home.skep("vfs", "fsck", "bot")
    h.down()


def test_a_fork_of_another_agent_may_grow_by_the_limit(home):
    h = host(home)
    run(h, shell_agent(h), "head -c 3000000 /dev/zero > f")
    small = shell_agent(h, "small", limits={"disk": "1M"})
    run(h, small, "head -c 900000 /dev/zero > g", fork_of="bot:main",
        workspace="fits")
    used = home.skep("vfs", "quota", "small:fits", "--json").json
    assert used["max_bytes"] == 3000000 + (1 << 20), used
    got = h.until(h.submit(small, "head -c 2000000 /dev/zero > g",
                           fork_of="bot:main", workspace="over"))
    assert got["state"] == "failed", got
    h.down()


def test_a_run_works_in_a_new_namespace(home):
    h = host(home)
    bot = shell_agent(h)
    run(h, bot, "echo one > f")
    row = run(h, bot, "test ! -e f; echo new > g", fresh=True, workspace="new")
    assert row["is_fresh"] and read(home, "bot:new", "g") == "new\n"
    below = home.dir / "repo"
    below.mkdir()
    (below / "f").write_text("host\n")
    run(h, bot, "test $(cat f) = host; echo mine > f", over=str(below),
        workspace="copy")
    assert (below / "f").read_text() == "host\n"
    assert read(home, "bot:copy", "f") == "mine\n"
    h.down()


def test_an_ephemeral_namespace_ends_with_its_run(home):
    h = host(home)
    bot = shell_agent(h)
    run(h, bot, "echo one > f")
    run(h, bot, "test ! -e f; echo x > x", ephemeral=True)
    run(h, bot, "test $(cat f) = one; echo y > f", ephemeral=True,
        fork_of="main")
    got = h.until(h.submit(bot, "exit 3", ephemeral=True))
    assert got["state"] == "failed"
    assert spaces(home) == ["main"]
    assert home.query(home.agent_db(bot), "SELECT count(*) FROM vfs_ns") == [
        (1,)]
    assert read(home, "bot:main", "f") == "one\n"
    h.down()


def test_a_session_that_a_run_creates_keeps_its_workspace(home):
    h = host(home)
    bot = shell_agent(h)
    run(h, bot, "echo one > f")
    run(h, bot, "echo forked > f", fork_of="main", workspace="w", session="s")
    got = h.call("GET", "/v1/sessions/bot/s")
    assert got["workspace"] == "w", got
    run(h, bot, "true", ephemeral=True, session="e")
    assert h.call("GET", "/v1/sessions/bot/e")["workspace"] is None
    run(h, bot, "true", session="plain")
    assert h.call("GET", "/v1/sessions/bot/plain")["workspace"] is None
    home.skep("session", "patch", "-a", "bot", "plain", '{"workspace":"w"}')
    assert h.call("GET", "/v1/sessions/bot/plain")["workspace"] == "w"
    assert "no namespace 'x'" in home.refused(
        65, "session", "patch", "-a", "bot", "plain", '{"workspace":"x"}')
    h.down()
