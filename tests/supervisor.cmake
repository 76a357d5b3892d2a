unit(test_run_fsm supervisor)
unit(test_runs schema)
unit(test_step supervisor)
unit(test_process_tree supervisor)
