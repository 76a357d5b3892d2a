unit(test_sql schema)
unit(test_migrate db)
unit(test_rank db)
unit(test_plans schema)
unit(test_wal db)
unit(test_wal_checkpoint db)
unit(test_wal_processes db)
unit(test_wal_race db)
if(EXISTS /dev/shm) # a sync costs nothing there, so more is done
	set_tests_properties(unit.test_wal_processes unit.test_wal_race
		PROPERTIES ENVIRONMENT TMPDIR=/dev/shm)
endif()
unit(test_upgrade schema)
target_compile_definitions(test_upgrade PRIVATE
	FIXTURES="${CMAKE_CURRENT_SOURCE_DIR}/fixtures")
unit(test_write_queue db)
threaded(test_write_queue)
threaded(test_sql)
fault(fault_migrate db)
