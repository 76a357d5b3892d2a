unit(test_deliveries schema)
unit(test_channels schema)
unit(test_wire supervisor)
fuzz(fuzz_inbound supervisor)
