unit(test_sql schema)
