unit(test_stats bench_stats)

# Every benchmark, briefly: that it works, not how fast it is.
add_test(NAME unit.bench COMMAND skep-bench all --quick --json
	--dir ${CMAKE_CURRENT_BINARY_DIR})
set_tests_properties(unit.bench PROPERTIES TIMEOUT 1800 LABELS unit)
