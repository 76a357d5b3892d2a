# Plays supervisor for tests/system/test_worker.py.
add_executable(play_supervisor support/play_supervisor.c)
target_link_libraries(play_supervisor PRIVATE ipc_server)
