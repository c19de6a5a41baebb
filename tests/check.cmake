# The model checker (tests/support/check) and what it checks. Its programs compile the core's own source, with
# MEZZ_MODEL_CHECK, instead of linking mezz::cache. They replace operator new and run fibers: no sanitizer follows that.
if(NOT MEZZ_SANITIZE)
  set(checker ${CMAKE_CURRENT_SOURCE_DIR}/support/check)
  function(mezz_check_test path)
    cmake_parse_arguments(ARG "" "" "LABELS;SRCS" ${ARGN})
    mezz_test(${path} ALONE LABELS ${ARG_LABELS} DEPS Threads::Threads PkgConfig::XXHASH PkgConfig::LZ4
              PkgConfig::ZSTD PkgConfig::SODIUM fmt::fmt-header-only)
    string(REPLACE "/" "_" target ${path})
    target_sources(${target} PRIVATE ${checker}/arena.cc ${checker}/choices.cc ${checker}/explorer.cc
                                     ${checker}/memory_model.cc ${ARG_SRCS})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests/support)
    target_compile_definitions(${target} PRIVATE MEZZ_MODEL_CHECK)
    mezz_join_sources(${target})
    set_target_properties(${target} PROPERTIES DISABLE_PRECOMPILE_HEADERS ON)  # they are of another Atomic and -O
    target_compile_options(${target} PRIVATE -UNDEBUG -O2)  # the core's assertions are part of what is checked
  endfunction()

  mezz_check_test(check/litmus_test LABELS unit)
  # The real tier on a tiny medium; tiny_tier.cc stands for the media and for the judge of options.
  file(GLOB core CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cache/*.cc)
  list(FILTER core EXCLUDE REGEX "/options\\.cc$")
  file(GLOB pack CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/cache/pack/*.cc)
  set(core ${core} ${pack} ${PROJECT_SOURCE_DIR}/cache/base/stripe.cc ${PROJECT_SOURCE_DIR}/cache/base/text.cc
           ${PROJECT_SOURCE_DIR}/cache/media/model.cc ${PROJECT_SOURCE_DIR}/cache/media/spin_clock.cc
           ${checker}/tiny_tier.cc)
  mezz_check_test(check/scm_tier_check_test LABELS model SRCS ${core})
  mezz_check_test(check/dictionaries_check_test LABELS model SRCS ${core})
  mezz_check_test(check/workspaces_check_test LABELS model SRCS ${PROJECT_SOURCE_DIR}/cache/pack/workspaces.cc)
  mezz_check_test(check/staged_blocks_check_test LABELS model
                  SRCS ${PROJECT_SOURCE_DIR}/cache/pack/staged_blocks.cc
                       ${PROJECT_SOURCE_DIR}/cache/types.cc ${PROJECT_SOURCE_DIR}/cache/base/stripe.cc)
  mezz_check_test(check/index_growth_check_test LABELS model SRCS ${PROJECT_SOURCE_DIR}/cache/index.cc
                                                                     ${PROJECT_SOURCE_DIR}/cache/tag_notes.cc)
  mezz_check_test(check/index_refill_check_test LABELS model SRCS ${PROJECT_SOURCE_DIR}/cache/index.cc
                                                                     ${PROJECT_SOURCE_DIR}/cache/tag_notes.cc)
  if(MEZZ_LONG_TESTS)
    add_test(NAME long/scm_tier_check_deep COMMAND check_scm_tier_check_test)
    add_test(NAME long/index_growth_check_deep COMMAND check_index_growth_check_test)
    set_tests_properties(long/scm_tier_check_deep long/index_growth_check_deep
                         PROPERTIES LABELS long TIMEOUT 7200 ENVIRONMENT MEZZ_CHECK_DEPTH=1)
  endif()
endif()
