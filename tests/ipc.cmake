unit(test_message ipc)
unit(test_link ipc ipc_server nng) # nng: the other end, to compare with
fuzz(fuzz_message ipc)
