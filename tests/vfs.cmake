add_library(vfs_support STATIC support/vfs_test.c support/vfs_model.c
	support/vfs_model_dir.c support/vfs_model_lib.c)
target_link_libraries(vfs_support PUBLIC support vfs)
unit(test_vfs vfs_support)
unit(test_vfs_snap vfs_support)
unit(test_vfs_model vfs_support)
unit(test_vfs_diff vfs_support)
unit(test_vfs_port vfs_support)
unit(test_vfs_check vfs_support)
