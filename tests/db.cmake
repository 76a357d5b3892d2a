unit(test_sql schema)
unit(test_migrate db)
unit(test_upgrade schema)
target_compile_definitions(test_upgrade PRIVATE
	FIXTURES="${CMAKE_CURRENT_SOURCE_DIR}/fixtures")
unit(test_turn db)
threaded(test_turn)
threaded(test_sql)
fault(fault_migrate db)
