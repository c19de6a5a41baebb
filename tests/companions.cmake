# What stands beside the cache: integration/companions.
if(NOT MEZZ_WITH_ROCKSDB)
  return()
endif()
mezz_test(unit/companions/write_throttle_test LABELS unit DEPS mezz::companions)
mezz_test(unit/companions/adoc_test LABELS unit DEPS mezz::companions)
mezz_test(unit/companions/dynamic_level0_test APART LABELS unit DEPS mezz::companions)
mezz_test(unit/companions/companions_test LABELS unit DEPS mezz::companions mezz::rocksdb)
