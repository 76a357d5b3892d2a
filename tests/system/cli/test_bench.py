"""skep-bench: every benchmark works and says what others rely on. Nothing here
looks at how fast anything is. Benchmarks without a supervisor run on the build with
sanitizers ($SKEP_FAULTS_BIN), if there is one; the crash tests do that for skepd."""
import json
import os
import pathlib
import re
import signal
import subprocess
import time
from xml.etree import ElementTree

import lib

ROOT = pathlib.Path(__file__).resolve().parents[3]
NAMES = re.findall(r"^BENCH\((\w+)\)", (ROOT / "bench" / "benches.def")
                   .read_text(), re.M)

# Metrics that people and programs look for by name, and against what.
METRICS = {
    "transcript": ["append_events_per_s/reference", "append_events_per_s/floor",
                   "append_p99_us"],
    "start": ["first_commit_ms_p50", "first_commit_ms_p99", "starts_per_s",
              "floor_ms_p50"],
    "density": ["live_workers", "worker_pss_kb", "supervisor_rss_mb"],
    "cancel": ["cancel_terminal_ms_p99"],
    "vfs": ["create_us/sqlite", "read_us/sqlite", "stat_us/sqlite",
            "readdir_us/sqlite", "write64k_us/sqlite", "read64k_us/sqlite",
            "overwrite4k_us/sqlite", "rename_us/sqlite", "delete_us/sqlite",
            "create_of_sqlite/target", "delete_of_sqlite/target",
            "fork_ms", "snapshot_ms", "tree_import_s", "tree_mb"],
    "fuse": ["fuse_create_us/ext4", "fuse_rename_us/ext4",
             "fuse_delete_us/ext4", "fuse_delete_of_bindfs/target",
             "fuse_delete_of_bindfs/1.3 prototypes",
             "fuse_big_peak_rss_mb/limit"],
}
IN_ONE_PROCESS = {"contention", "growth", "transcript", "vfs"}
KEYS = ["bench", "metric", "unit", "value", "spread", "against",
        "against_value", "ratio"]


def bench(home, *args, **more):
    return home.run(home.bin / "skep-bench", *args, **more)


def use_sanitizers(home):
    built = os.environ.get("SKEP_FAULTS_BIN")
    if built and (pathlib.Path(built) / "skep-bench").exists():
        home.bin = pathlib.Path(built)
        home.env["PATH"] = "%s:%s" % (built, home.env["PATH"])


def check_line(line, name):
    assert list(line)[:len(KEYS)] == KEYS, list(line)
    assert line["bench"] == name, line
    assert isinstance(line["value"], (int, float)), line
    if line["against"] and line["against_value"] and line["value"]:
        better = line["value"] / line["against_value"]
        if line["less_is_better"]:
            better = 1 / better
        assert abs(line["ratio"] - better) < 0.01 * better + 1e-6, line
    for item in ("kernel", "filesystem", "sqlite", "cores", "load"):
        assert line["env"][item], line["env"]


def run_quick(home, name):
    if name in IN_ONE_PROCESS:
        use_sanitizers(home)
    r = bench(home, name, "--quick", "--json", code=None)
    if r.code == 69:  # the machine cannot do it, and says so
        assert len(r.err) > 20, r.err
        return
    assert r.code == 0, r.out + r.err
    assert r.lines, "no metric"
    output = set()
    for line in r.lines:
        check_line(line, name)
        output |= {line["metric"], "%s/%s" % (line["metric"], line["against"])}
    for metric in METRICS.get(name, []):
        # without bindfs there is less to compare with
        assert metric in output or "bindfs" in metric, (metric, sorted(output))
    assert not list(home.dir.glob("skep-bench-*")), "it left files"


def make(name):
    def test(home):
        run_quick(home, name)
    return test


for each in NAMES:
    globals()["test_%s_gives_its_metrics" % each] = make(each)


def test_a_report_is_one_page_with_plots(home):
    page = home.dir / "out.html"
    plots = home.dir / "plots"
    plots.mkdir()
    bench(home, "contention", "--quick", "--report", page, "--plots", plots)
    for path in sorted(plots.glob("contention-*.svg")):
        ElementTree.parse(path)
    assert len(list(plots.iterdir())) >= 4
    text = page.read_text()
    assert text.count("<svg") >= 4 and "</html>" in text
    assert "prefers-color-scheme" in text and "@media print" in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", text)


def test_two_runs_can_be_compared(home):
    for name in "ab":
        r = bench(home, "transcript", "--seconds", "0.02", "--rounds", "4",
                  "--json")
        (home.dir / name).write_text(r.out)
    r = bench(home, "compare", home.dir / "a", home.dir / "b")
    assert "append_events_per_s" in r.out, r.out
    (home.dir / "bad").write_text('{"bench":')
    r = bench(home, "compare", home.dir / "a", home.dir / "bad", code=65)
    assert "bad" in r.err, r.err


def test_csv_has_a_head_and_a_row_for_each_metric(home):
    r = bench(home, "density", "--quick", "--csv", code=None)
    rows = r.out.splitlines()
    assert rows[0].startswith("bench,metric,unit,value"), rows
    assert len(rows) > 1 and all(r.startswith("density,") for r in rows[1:])


def test_ctrl_c_ends_it_with_what_there_is(home):
    p = subprocess.Popen([home.bin / "skep-bench", "transcript", "--seconds",
                          "0.2", "--rounds", "60", "--json"], cwd=home.dir,
                         env=home.env, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    time.sleep(3)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=lib.HANG)
    assert p.returncode in (0, 130), (p.returncode, err)
    for line in out.decode().splitlines():
        check_line(json.loads(line), "transcript")
    assert not list(home.dir.glob("skep-bench-*")), "it left files"


def test_a_workload_says_what_writers_do(home):
    work = home.dir / "work.json"
    work.write_text('{"mix": {"append": 6, "tail": 3, "patch": 1}, '
                    '"bytes": [200, 3000], "sessions": 3, "batch": 2}')
    r = bench(home, "contention", "--quick", "--layout", "own",
              "--workload", work)
    assert re.search(r"own +2 +tail +\d", r.out), r.out
    assert re.search(r"own +2 +patch +\d", r.out), r.out
    for text, word in (('{"mix": {"append": 0}}', "append"),
                       ('{"mix": {"drop": 1}}', "drop"),
                       ('{"bytes": 7}', "bytes"),
                       ('{"bytes": [500, "x"]}', "bytes"),
                       ('{"speed": 1}', "speed"),
                       ('{"batch": 1', "work.json")):
        work.write_text(text)
        r = bench(home, "contention", "--quick", "--workload", work, code=None)
        assert r.code in (64, 65) and word in r.err, (text, r.code, r.err)


def test_bad_calls_say_what_there_is(home):
    assert "transcript" in bench(home, "nonsense", code=64).err
    assert "--seconds" in bench(home, "vfs", "--seconds", "x", code=64).err
    r = bench(home, "vfs", "--quick", "--dir", home.dir / "not", code=None)
    assert r.code != 0 and "not" in r.err, r.err
    for name in NAMES:
        assert "--report" in bench(home, name, "--help").out
    assert "redis" in bench(home, "peers").out
