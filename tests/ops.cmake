unit(test_pack ops)
unit(test_slice ops)
