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

# docs/skep.schema.json is what the table of settings says; tools/readme writes
# it anew.
add_test(NAME unit.config_schema COMMAND ${CMAKE_COMMAND} -E compare_files
	${PROJECT_BINARY_DIR}/doc/skep.schema.json
	${PROJECT_SOURCE_DIR}/docs/skep.schema.json)
set_tests_properties(unit.config_schema PROPERTIES LABELS unit)
