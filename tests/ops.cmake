unit(test_json5 ops)
unit(test_archive ops)
unit(test_slice ops)
fuzz(fuzz_json5 ops)
