# Options, counters, media, the device model and the policies.
mezz_test(unit/cache/base/fork_guard_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/options_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/counters_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/superblock_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/media/model_test LABELS unit DEPS mezz::cache)
mezz_test(unit/cache/media/medium_test LABELS unit DEPS mezz::cache ${MEZZ_NUMA_LIBRARY})
mezz_test(unit/cache/media/file_medium_test LABELS unit DEPS mezz::cache)
mezz_test(unit/admission/policy_test LABELS unit DEPS mezz::admission)
