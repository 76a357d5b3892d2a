unit(test_json5 ops)
unit(test_pack ops)
unit(test_slice ops)
fuzz(fuzz_json5 ops)
