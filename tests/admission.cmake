# The adaptive policy and its parts: alone, under threads, and through the simulator.
mezz_test(unit/admission/block_hash_test LABELS unit DEPS mezz::admission)
mezz_test(unit/admission/form_rule_test LABELS unit DEPS mezz::admission)
mezz_test(unit/admission/codec_choice_test LABELS unit DEPS mezz::admission)
mezz_test(unit/admission/decision_counters_test LABELS unit DEPS mezz::admission)
mezz_test(unit/admission/frequency_sketch_test LABELS unit DEPS mezz::admission)
mezz_test(unit/admission/write_limits_test LABELS unit DEPS mezz::admission)
mezz_test(unit/admission/miniatures_test LABELS unit DEPS mezz::admission TSAN_LONG)  # one thread
mezz_test(unit/admission/promotion_feedback_test LABELS unit DEPS mezz::admission)
mezz_test(unit/admission/promotion_threshold_test APART LABELS unit DEPS mezz::admission)
mezz_test(unit/admission/dram_window_test APART LABELS unit DEPS mezz::admission)
mezz_test(unit/admission/adaptive_policy_test APART LABELS unit DEPS mezz::admission)
mezz_test(stress/admission_stress_test LABELS stress DEPS mezz::admission)
if(TARGET mezz_simulator)
  # One thread, and five minutes under the thread sanitizer.
  mezz_test(model/adaptive_properties_test LABELS model DEPS mezz::simulator TSAN_LONG)
endif()
