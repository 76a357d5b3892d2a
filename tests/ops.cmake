unit(test_json5 ops)
unit(test_archive ops)
unit(test_batch ops)
fuzz(fuzz_json5 ops)
