"""skep demo: the whole line, with deaths in the middle."""


def test_the_demo_loses_nothing(home):
    got = home.skep("demo", "--runs", "16", "--json", seconds=120).json
    assert got["problems"] == 0
    assert got["runs"] == 16
    assert got["succeeded"] + got["cancelled"] == 16
    assert got["workers_adopted"] > 0
    assert got["followed_events"] > 0
