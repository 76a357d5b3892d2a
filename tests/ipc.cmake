unit(test_message ipc)
unit(test_message_fields ipc)
unit(test_ipc_server ipc ipc_server)
unit(test_ipc_client ipc ipc_server nng) # nng: the other end, to compare with
fuzz(fuzz_message ipc)
