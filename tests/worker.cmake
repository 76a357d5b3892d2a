# Plays supervisor for tests/system/test_worker.py.
add_executable(play_supervisor support/play_supervisor.c)
target_link_libraries(play_supervisor PRIVATE ipc_server)

unit(test_exec_line worker)
unit(test_exec_config worker)
unit(test_worker_control worker)
unit(test_tree worker)
fuzz(fuzz_exec_line worker)
unit(test_jsonrpc worker)
fuzz(fuzz_jsonrpc worker)
unit(test_permission worker)
fuzz(fuzz_mcp worker_mcp)
unit(test_sandbox sandbox)
