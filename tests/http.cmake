# A server that shows what http/ can do, for tests/system and bench.
add_executable(http_test_server support/http_test_server.c)
target_link_libraries(http_test_server PRIVATE http)
add_executable(http_client_probe support/http_client_probe.c)
target_link_libraries(http_client_probe PRIVATE http_client)

unit(test_sse base)
unit(test_http_parse http)
unit(test_http_plumbing http)
unit(test_http_conn http)
target_sources(test_http_conn PRIVATE support/http_wire.c)

fuzz(fuzz_sse base)
fuzz(fuzz_http http)
target_sources(fuzz_http PRIVATE support/http_wire.c)
unit(test_tail schema)
unit(test_ai_frames supervisor)
