# The model checker (tests/support/check) and what it checks. Its program compiles the core's own source, with
# MEZZ_MODEL_CHECK, instead of linking mezz::cache. It replaces operator new and runs fibers: no sanitizer follows that.
if(NOT MEZZ_SANITIZE)
  set(checker ${CMAKE_CURRENT_SOURCE_DIR}/support/check)
  # The real tier on a tiny medium; tiny_tier.cc stands for the media and for the judge of options.
  file(GLOB core CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cache/*.cc ${PROJECT_SOURCE_DIR}/cache/pack/*.cc)
  list(FILTER core EXCLUDE REGEX "/cache/options(_validate)?\\.cc$")
  foreach(source base/stripe base/text base/words base/undumped_memory media/emulation media/model media/spin_clock)
    list(APPEND core ${PROJECT_SOURCE_DIR}/cache/${source}.cc)
  endforeach()
  file(GLOB checking CONFIGURE_DEPENDS ${checker}/*.cc)
  add_library(mezz_checked STATIC ${core} ${checking})
  add_library(mezz::checked ALIAS mezz_checked)
  target_include_directories(mezz_checked PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests/support)
  target_link_libraries(mezz_checked PUBLIC Threads::Threads PkgConfig::XXHASH PkgConfig::LZ4 PkgConfig::ZSTD
                                            PkgConfig::SODIUM ${MEZZ_FMT})
  target_compile_definitions(mezz_checked PUBLIC MEZZ_MODEL_CHECK)
  target_compile_options(mezz_checked PUBLIC -UNDEBUG -O2)  # the core's assertions are part of what is checked
  mezz_warnings(mezz_checked)
  mezz_join_sources(mezz_checked TESTS)
  mezz_precompile_headers(mezz_checked)

  foreach(test litmus_test scm_tier_check_test dictionaries_check_test workspaces_check_test staged_blocks_check_test
               index_growth_check_test index_refill_check_test segment_log_check_test)
    mezz_test(check/${test} APART LABELS check DEPS mezz::checked)
  endforeach()
  if(MEZZ_LONG_TESTS)
    foreach(test scm_tier_check index_growth_check)
      add_test(NAME long/${test}_deep COMMAND check_checked --source=check/${test}_test.cc)
      set_tests_properties(long/${test}_deep PROPERTIES LABELS long TIMEOUT 7200 ENVIRONMENT MEZZ_CHECK_DEPTH=1)
    endforeach()
  endif()
endif()
