# mezz_plan: the model against closed forms, the price books, the answer.
if(TARGET mezz_plan_model)
  set(price_books MEZZ_PRICE_BOOKS="${PROJECT_SOURCE_DIR}/workloads/plan/prices")
  mezz_test(unit/plan/queueing_test LABELS unit DEPS mezz::plan_model ${MEZZ_FMT})
  mezz_test(unit/plan/own_dram_test LABELS unit DEPS mezz::plan_model ${MEZZ_FMT} DEFINITIONS ${price_books})
  mezz_test(unit/plan/performance_test LABELS unit DEPS mezz::plan_model ${MEZZ_FMT} DEFINITIONS ${price_books})
  mezz_test(unit/plan/price_book_test LABELS unit DEPS mezz::plan_model ${MEZZ_FMT} DEFINITIONS ${price_books})
  mezz_test(unit/plan/answer_test LABELS unit DEPS mezz::plan_model ${MEZZ_FMT} DEFINITIONS ${price_books})
  mezz_test(unit/plan/no_purchase_test LABELS unit DEPS mezz::plan_model ${MEZZ_FMT} DEFINITIONS ${price_books})
  mezz_test(unit/plan/ordered_media_plan_test LABELS unit DEPS mezz::plan_model ${MEZZ_FMT} DEFINITIONS ${price_books})
  mezz_test(unit/plan/calibrate_test LABELS unit DEPS mezz::plan_model ${MEZZ_FMT})
  mezz_test(unit/plan/run_plan_test LABELS unit DEPS mezz::plan_model ${MEZZ_FMT} DEFINITIONS ${price_books})
  mezz_test(unit/plan/devices_test LABELS unit DEPS mezz::plan_devices ${MEZZ_FMT})
  if(MEZZ_WITH_ROCKSDB)
    mezz_test(unit/plan/uri_test ALONE LABELS unit DEPS mezz::plan_model mezz::plan_devices mezz::rocksdb ${MEZZ_FMT}
              DEFINITIONS ${price_books})
  endif()
endif()

# The program, from its flags to what it prints. Its threads are those of unit/plan/run_plan_test.
if(TARGET mezz_plan AND NOT MEZZ_SANITIZE MATCHES thread)
  set(books ${PROJECT_SOURCE_DIR}/workloads/plan/prices)
  set(small --trace=gen:ycsb_b --ops=200000 --keys=600000 --growth=1000 --baseline=dram:256G)
  function(mezz_plan_says name says)
    add_test(NAME plan/${name} COMMAND mezz_plan ${ARGN})
    set_tests_properties(plan/${name} PROPERTIES LABELS "unit;same" PASS_REGULAR_EXPRESSION ${says})
  endfunction()
  mezz_plan_says(from_a_trace "cheapest that meets the targets: one_socket.*mezzanine://dram_total="
                 ${small} --prices=${books}/atc21.yaml --target=throughput>=0.95*baseline)
  mezz_plan_says(targets_that_nothing_meets "nothing meets the targets. Nearest is.*blocks it"
                 ${small} --prices=${books}/2026.yaml --target=p99<=1us)
  mezz_plan_says(without_prices "mezz_plan: --prices is missing" ${small} --target=throughput>=1)
  mezz_plan_says(trace_and_curve "one of --trace=T and --curve=FILE" ${small} --curve=c --prices=p --target=t)
  mezz_plan_says(a_rate_with_a_curve "--rate=5000.* is of no use with --curve.*--ops_per_s"
                 --curve=c --prices=${books}/2026.yaml --baseline=dram:256G --target=hit>=1 --rate=5000)
  mezz_plan_says(a_flag_of_another_command "is no flag of" --out=file ${small})
  mezz_plan_says(calibrate_refuses_what_is_no_result "this is no result of mezz_replay"
                 calibrate ${PROJECT_SOURCE_DIR}/README.md --out=${CMAKE_CURRENT_BINARY_DIR}/calibration.json)
  mezz_plan_says(predicts_nothing_without_a_curve "/nowhere.curve" predict /nowhere.curve --sizes=1M+1M)
  mezz_plan_says(devices "memory: .* available of .*tmpfs.*memory of the process.*dram.*@dram"
                 devices --list)
  mezz_plan_says(devices_takes_no_operand "\"dax0.0\" is one argument too many. mezz_plan devices and" devices dax0.0)
  mezz_plan_says(calibrates "base +2708 ns"
                 calibrate ${PROJECT_SOURCE_DIR}/results/calibration/a_none.json
                 --out=${CMAKE_CURRENT_BINARY_DIR}/calibration.json)
endif()
