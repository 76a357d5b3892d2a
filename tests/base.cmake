unit(test_err base)
unit(test_arena_buf base)
unit(test_id base)
unit(test_cron base)
unit(test_text base)
unit(test_json base)
unit(test_json_write db)
unit(test_config base)
unit(test_file base)
unit(test_thread base)
unit(test_rotated_log base)
unit(test_log base)
threaded(test_id)
threaded(test_file)
fuzz(fuzz_config base)
fuzz(fuzz_json base)
fuzz(fuzz_text base)
fuzz(fuzz_locator schema)

# Documents that are generated from tables; tools/readme writes them.
foreach(DOCUMENT skep.schema.json agent.schema.json DEFINITION.md)
	add_test(NAME unit.docs.${DOCUMENT}
		COMMAND ${CMAKE_COMMAND} -E compare_files
		${PROJECT_BINARY_DIR}/doc/${DOCUMENT}
		${PROJECT_SOURCE_DIR}/docs/${DOCUMENT})
	set_tests_properties(unit.docs.${DOCUMENT} PROPERTIES LABELS unit)
endforeach()
