# system/cli/test_bench.py runs the benchmarks.
unit(test_stats report)
