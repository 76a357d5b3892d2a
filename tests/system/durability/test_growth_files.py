"""No operation on files costs more than linearly in the number of files.

`skep-bench growth` runs each operation at two sizes and fits an exponent: of the
steps of SQLite's virtual machine, which are the same in every run, and of CPU
time, which also has what SQLite does not count. SKEP_TEST_BIG=1 takes 10,000 and
100,000 files."""
import os
import pathlib

BIG = bool(os.environ.get("SKEP_TEST_BIG"))
SIZES = "10000,100000" if BIG else "400,4000"
STEPS, CPU = 0.06, 0.25 if BIG else 0.5  # over the allowed exponent
OPERATIONS = 44


def grows(home, part):
    memory = pathlib.Path("/dev/shm")  # a sync costs nothing there
    where = memory if memory.is_dir() and not BIG else home.dir
    lines = home.run(home.bin / "skep-bench", "growth", "--part", part, "--sizes",
                     SIZES, "--dir", where, "--json", seconds=2000).lines
    exponents = [x for x in lines if x["metric"].startswith("exponent")]
    assert len(exponents) == 3 * OPERATIONS, len(exponents)
    for x in exponents:
        if x["metric"].startswith("exponent of pages"):
            continue  # rises where the file outgrows the cache
        over = STEPS if x["metric"].startswith("exponent of steps") else CPU
        if x["value"] > x["against_value"] + over:
            yield "%s: %.2f, allowed is %.2f" % (x["metric"], x["value"],
                                                 x["against_value"] + over)


def test_operations_on_a_tree_are_linear_at_most(home):
    slow = list(grows(home, "tree"))
    assert not slow, "\n".join(slow)


def test_operations_on_one_large_directory_are_linear_at_most(home):
    slow = list(grows(home, "directory"))
    assert not slow, "\n".join(slow)


for test in (test_operations_on_a_tree_are_linear_at_most,
             test_operations_on_one_large_directory_are_linear_at_most):
    test.seconds = 2400 if BIG else 240
