# What mezz_replay makes of its results: the HTML report, the comparison.
if(TARGET mezz_report)
  mezz_test(unit/workloads/compare_test LABELS unit DEPS mezz::report)
  mezz_test(unit/workloads/mann_whitney_test LABELS unit DEPS mezz::report)
  mezz_test(unit/workloads/html_report_test LABELS unit DEPS mezz::report)
  mezz_test(unit/workloads/result_file_test LABELS unit DEPS mezz::report)
endif()
if(TARGET mezz_workloads)
  mezz_test(unit/workloads/cache_sizes_test LABELS unit DEPS mezz::workloads)
endif()
if(TARGET mezz_replay)
  find_package(Python3 COMPONENTS Interpreter REQUIRED)
  # 77: there is no browser; ctest then lists the test as skipped.
  add_test(NAME browser/report COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/browser/report_test.py
           $<TARGET_FILE:mezz_replay>)
  set_tests_properties(browser/report PROPERTIES LABELS browser TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()
