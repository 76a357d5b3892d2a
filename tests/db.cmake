unit(test_sql schema)
fault(fault_migrate db)
