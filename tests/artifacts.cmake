unit(test_artifact schema)
