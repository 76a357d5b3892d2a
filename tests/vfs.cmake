add_library(vfs_support STATIC support/vfs_test.c)
target_link_libraries(vfs_support PUBLIC support vfs)
unit(test_vfs vfs_support)
unit(test_vfs_snap vfs_support)
