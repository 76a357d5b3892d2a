"""A command without rows to print says so, and what to type."""


def lists(home):
    """Every list command, with the arguments that it needs."""
    names = [c["name"] for c in home.skep("help", "--json").lines]
    more = {"namespace": ["a"], "snapshot": ["a"], "msg": ["a"], "vfs": ["a"]}
    return [name.split() + more.get(name.split()[0], [])
            for name in names if name.endswith(" ls")] + [
        ["ps", "--all"], ["events"], ["session", "search", "x"],
        ["vfs", "search", "a", "x"], ["vfs", "find", "a"],
        ["diagnostic", "export"]]


def test_an_empty_list_says_so(home):
    home.skep("agent", "add", "a", "--driver", "script")
    home.skep("vfs", "mkdir", "a", "d")  # creates the database
    home.skep("vfs", "rm", "a", "d")
    full = {("agent", "ls"), ("audit", "ls"), ("namespace", "ls")}
    seen = 0
    for words in lists(home):
        if tuple(words[:2]) in full:
            continue
        r = home.skep(*words)
        assert r.out == "" and r.err.strip(), (words, r.out, r.err)
        r = home.skep(*words, "--json")
        assert r.out == "" and r.err == "", (words, r.out, r.err)
        seen += 1
    assert seen >= 15, seen


def test_quiet_prints_the_first_column(home):
    home.skep("agent", "add", "a", "--driver", "script")
    home.skep("agent", "add", "b", "--driver", "script")
    assert home.skep("agent", "ls", "-q").out == "a\nb\n"
    assert home.skep("session", "ls", "-q").out == ""
    assert home.skep("session", "ls", "-q").err == ""


def test_a_missing_default_agent_is_named(home):
    home.skep("agent", "add", "a", "--driver", "script")
    home.skep("agent", "add", "b", "--driver", "script")
    home.skep("agent", "rm", "a")
    error = home.refused(66, "vector", "ls")
    assert "no default agent" in error and "set b --default" in error, error
    assert "agent 'b'" in home.skep("session", "ls", "-a", "b").err
    home.skep("agent", "rm", "b")
    assert "there are no agents" in home.refused(66, "vector", "ls")


def test_failures_have_a_title_of_their_own(home):
    home.skep("agent", "add", "a", "--driver", "acp", "--force", "--",
              "/nonexistent/x")
    r = home.skep("agent", "test", "a", "--no-prompt", "--json", code=1)
    assert '"title":"the operation failed"' in r.err, r.err
