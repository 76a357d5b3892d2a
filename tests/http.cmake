# A server that shows what http/ can do, for tests/system and bench.
add_executable(http_test_server support/http_test_server.c)
target_link_libraries(http_test_server PRIVATE http)
