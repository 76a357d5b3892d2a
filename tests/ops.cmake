unit(test_pack ops)
