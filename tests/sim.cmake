# mezz_sim: the simulator against naive models, against the live tiers, and on the public traces.
if(TARGET mezz_simulator)
  # One thread each, some of them minutes under the thread sanitizer; the runner's threads are those of
  # unit/sim/report_test.
  mezz_test(unit/sim/alternatives_test LABELS unit DEPS mezz::simulator TSAN_LONG)
  mezz_test(unit/sim/references_test APART LABELS unit DEPS mezz::simulator TSAN_LONG)
  mezz_test(unit/sim/sized_references_test APART LABELS unit DEPS mezz::simulator TSAN_LONG)
  mezz_test(unit/sim/trace_test LABELS unit DEPS mezz::simulator TSAN_LONG)
  mezz_test(unit/sim/options_test LABELS unit DEPS mezz::simulator TSAN_LONG)
  mezz_test(unit/sim/dram_models_test APART LABELS unit DEPS mezz::simulator TSAN_LONG)
  mezz_test(unit/sim/scm_model_test APART LABELS unit DEPS mezz::simulator TSAN_LONG)
  mezz_test(unit/sim/pack_model_test APART LABELS unit DEPS mezz::simulator TSAN_LONG)
  mezz_test(unit/sim/two_tier_test LABELS unit DEPS mezz::simulator ${MEZZ_FMT} TSAN_LONG)
  mezz_test(unit/sim/report_test LABELS unit DEPS mezz::simulator ${MEZZ_FMT})
  mezz_test(model/sim_scm_test LABELS model DEPS mezz::simulator mezz::cache TSAN_LONG)
  mezz_test(model/sim_public_traces_test LABELS model DEPS mezz::simulator ${MEZZ_FMT}
            DEFINITIONS ${traces_folder} TSAN_LONG)
  # The caches it compares with are those of RocksDB 8.9 on.
  if(MEZZ_WITH_ROCKSDB AND RocksDBLibrary_VERSION VERSION_GREATER_EQUAL 8.9)
    mezz_test(model/sim_dram_test APART LABELS model DEPS mezz::simulator mezz::rocksdb TSAN_LONG)  # one thread
  endif()
  # What it charges for a block is that of RocksDB 10.6 on; built and compared here is 11.8. What sanitizers keep of
  # freed blocks is more than a small machine has.
  if(MEZZ_WITH_ROCKSDB AND RocksDBLibrary_VERSION VERSION_GREATER_EQUAL 11 AND NOT MEZZ_SANITIZE)
    mezz_test(model/sim_alternatives_test APART LABELS model DEPS mezz::simulator mezz::rocksdb)
  endif()
  if(MEZZ_WITH_ROCKSDB)
    # One thread, minutes.
    mezz_test(model/sim_flow_test APART LABELS model DEPS mezz::simulator mezz::rocksdb TSAN_LONG)
  endif()
  find_package(Python3 COMPONENTS Interpreter)
  if(Python3_FOUND)
    add_test(NAME tools/plot_refuses_what_is_no_result
             COMMAND ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/plot.py ${PROJECT_SOURCE_DIR}/README.md)
    set_tests_properties(tools/plot_refuses_what_is_no_result PROPERTIES LABELS unit
                         PASS_REGULAR_EXPRESSION "README.md is not JSON")
  endif()
endif()
