unit(test_message ipc)
unit(test_link ipc ipc_server)
fuzz(fuzz_message ipc)
