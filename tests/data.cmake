unit(test_transcript schema)
