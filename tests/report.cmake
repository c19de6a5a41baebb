# What is made of results: the HTML reports, the comparison.
if(TARGET mezz_report)
  mezz_test(unit/workloads/compare_test LABELS unit DEPS mezz::report)
  mezz_test(unit/workloads/mann_whitney_test LABELS unit DEPS mezz::report)
  mezz_test(unit/workloads/html_report_test LABELS unit DEPS mezz::report)
  mezz_test(unit/workloads/result_file_test LABELS unit DEPS mezz::report mezz::program)
endif()
find_package(Python3 COMPONENTS Interpreter REQUIRED)
# 77: there is no browser; ctest then lists the test as skipped.
if(TARGET mezz_plan_page)
  mezz_test(unit/workloads/plan_page_test LABELS unit DEPS mezz::plan_page)
  add_executable(page_tool browser/page_tool.cc)
  target_link_libraries(page_tool PRIVATE mezz::plan_page)
  mezz_warnings(page_tool)
  set_target_properties(page_tool PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
  add_test(NAME browser/plan COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/browser/plan_test.py
           $<TARGET_FILE:page_tool>)
  set_tests_properties(browser/plan PROPERTIES LABELS "browser;same" TIMEOUT 300 SKIP_RETURN_CODE 77)
endif()
if(TARGET mezz_replay)
  add_test(NAME browser/report COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/browser/report_test.py
           $<TARGET_FILE:mezz_replay>)
  set_tests_properties(browser/report PROPERTIES LABELS browser TIMEOUT 300 SKIP_RETURN_CODE 77)
  add_test(NAME tools/atc21 COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/atc21.py --self-test)
  set_tests_properties(tools/atc21 PROPERTIES LABELS unit TIMEOUT 60)
  if(NOT MEZZ_SANITIZE AND NOT MEZZ_COVERAGE)
    # Every cell filled, in miniature; it writes what it makes to the build folder.
    add_test(NAME tools/reproduce_atc21 COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tools/reproduce-atc21 --quick
             --replay=$<TARGET_FILE:mezz_replay> --out=${PROJECT_BINARY_DIR}/atc21)
    set_tests_properties(tools/reproduce_atc21 PROPERTIES LABELS bench TIMEOUT 300)
  endif()
endif()
