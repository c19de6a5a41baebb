# The planner: curves; mezz_plan curve and merge.
if(TARGET mezz_plan_curves)
  mezz_test(unit/curves/live_curve_test LABELS unit DEPS mezz::plan_curves)
  mezz_test(stress/live_curve_stress_test LABELS stress DEPS mezz::curves)
  mezz_test(unit/plan/curve_test LABELS unit DEPS mezz::plan_curves)
  mezz_test(unit/plan/curve_file_test LABELS unit DEPS mezz::plan_curves ${MEZZ_FMT})
  mezz_test(unit/plan/sampler_test LABELS unit DEPS mezz::plan_curves)
  mezz_test(model/alternative_curves_test LABELS model DEPS mezz::plan_curves)
  mezz_test(model/curves_test LABELS model DEPS mezz::plan_curves DEFINITIONS ${traces_folder})

  # As it is run: the arguments, and what it must say.
  function(mezz_curve_says name message)
    add_test(NAME tools/mezz_plan_${name} COMMAND mezz_plan ${ARGN} WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    set_tests_properties(tools/mezz_plan_${name} PROPERTIES LABELS "unit;same" PASS_REGULAR_EXPRESSION "${message}")
  endfunction()
  mezz_curve_says(unknown_subcommand "\"frob\" is not known; usage:" frob file)
  mezz_curve_says(curve_of_nothing "curve of what\\? mezz_plan curve TRACE" curve)
  mezz_curve_says(two_traces "\"b\" is one argument too many" curve a b)
  mezz_curve_says(foreign_flag "--rate=0.5 is no flag of merge" merge file --rate=0.5)
  mezz_curve_says(curve_without_out "--out is missing" curve gen:zipf)
  mezz_curve_says(missing_trace "trace none: there is no such file" curve none --out=x.curve)
  mezz_curve_says(unknown_generator "gen:frob|\"frob\"" curve gen:frob --out=x.curve)
  mezz_curve_says(damaged_curve "does not begin as a curve does" merge ${CMAKE_CURRENT_LIST_FILE} --out=x.curve)
  set(small gen:zipf --keys=30000 --ops=60000 --blocks=2000 --seeds=2 --dram=4M,16M)
  mezz_curve_says(curve_a "hit ratio %.*16 MiB.*known to" curve ${small} --scm=0,32M --seed=1 --out=a.curve)
  mezz_curve_says(curve_b "2 samples at rates from" curve ${small} --scm=0,32M --seed=2 --out=b.curve)
  mezz_curve_says(curve_c "hit ratio %" curve ${small} --scm=0,64M --out=c.curve)
  set_tests_properties(tools/mezz_plan_curve_a tools/mezz_plan_curve_b tools/mezz_plan_curve_c
                       PROPERTIES FIXTURES_SETUP curves)
  if(TARGET mezz_replay)
    # A cache's own curve, in the planner's hands.
    add_test(NAME tools/mezz_replay_live_curve
             COMMAND mezz_replay --mode=block --trace=gen:zipf --keys=20000 --ops=60000 --unit=1024 --sizes=unit
                     --caches=hybrid --dram=10M --scm=8M --medium=dram --repeats=2 --db=live_curve.db
                     --curve_file=live.curve --curve_rate=1
             WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    set_tests_properties(tools/mezz_replay_live_curve PROPERTIES LABELS unit FIXTURES_SETUP live_curve)
    mezz_curve_says(merge_live "2 traces: 120000 requests" merge live.curve live.curve --out=live_sum.curve)
    mezz_curve_says(plan_live "cheapest that meets the targets: one_socket" --curve=live.curve
                    --prices=${PROJECT_SOURCE_DIR}/workloads/plan/prices/atc21.yaml --baseline=dram:256G
                    --target=throughput>=0.5*baseline --growth=20000)
    mezz_curve_says(merge_live_with_other "live.curve and a.curve: curves of different .* cannot be merged"
                    merge live.curve a.curve --out=x.curve)
    set_tests_properties(tools/mezz_plan_merge_live tools/mezz_plan_plan_live
                         PROPERTIES FIXTURES_REQUIRED live_curve)
    set_tests_properties(tools/mezz_plan_merge_live_with_other PROPERTIES FIXTURES_REQUIRED "live_curve;curves")
  endif()
  mezz_curve_says(merge "2 traces: 120000 requests" merge a.curve b.curve --out=sum.curve)
  mezz_curve_says(merge_other_grid "a.curve and c.curve: curves of different SCM sizes cannot be merged"
                 merge a.curve c.curve --out=x.curve)
  mezz_curve_says(curve_memory_mode "memory_mode, no packing of records" curve ${small} --scm=0,32M
                 --policy=memory_mode --out=m.curve)
  mezz_curve_says(curve_of_another "hit ratio %" curve gen:zipf --keys=60000 --ops=120000 --blocks=2000 --seeds=2
                 --dram=4M,16M --scm=0,32M --out=other.curve)
  set_tests_properties(tools/mezz_plan_curve_memory_mode tools/mezz_plan_curve_of_another
                       PROPERTIES FIXTURES_SETUP curves)
  set(price --curve=a.curve --prices=${PROJECT_SOURCE_DIR}/workloads/plan/prices/atc21.yaml --baseline=dram:256G
      --target=throughput>=0.9*baseline --growth=2000)
  mezz_curve_says(alternatives "other uses of the same modules.*with memory_mode the cheapest is: one_socket" ${price}
                 --alternatives=m.curve)
  mezz_curve_says(no_alternative "--alternatives has an empty item|--alternatives=b.curve,, has" ${price}
                 --alternatives=b.curve,,)
  mezz_curve_says(alternative_of_another "--alternatives=other.curve: a curve of .* make both of one trace" ${price}
                 --alternatives=other.curve)
  set_tests_properties(tools/mezz_plan_merge tools/mezz_plan_merge_other_grid tools/mezz_plan_alternatives
                       tools/mezz_plan_alternative_of_another
                       tools/mezz_plan_no_alternative PROPERTIES FIXTURES_REQUIRED curves)

  if(NOT MEZZ_SANITIZE AND NOT MEZZ_COVERAGE)
    # 77: no Python here has Dask; ctest then lists the test as skipped.
    find_package(Python3 COMPONENTS Interpreter REQUIRED)
    add_test(NAME fleet/curves COMMAND Python3::Interpreter ${CMAKE_CURRENT_SOURCE_DIR}/fleet/fleet_test.py
             $<TARGET_FILE:mezz_plan>)
    set_tests_properties(fleet/curves PROPERTIES LABELS "fleet;same" TIMEOUT 300 SKIP_RETURN_CODE 77 COST 30)
  endif()
endif()
