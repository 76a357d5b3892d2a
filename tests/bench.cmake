unit(test_stats report)

# Every benchmark, briefly: that it works, not how fast it is.
file(STRINGS ${CMAKE_SOURCE_DIR}/bench/benches.def lines REGEX "^BENCH")
foreach(line ${lines})
	string(REGEX REPLACE "^BENCH.(.*).$" "\\1" name "${line}")
	add_test(NAME unit.bench.${name} COMMAND skep-bench ${name} --quick
		--json --dir ${CMAKE_CURRENT_BINARY_DIR})
	set_tests_properties(unit.bench.${name} PROPERTIES TIMEOUT 1800
		LABELS unit)
endforeach()
