# What other languages have of us, over the unmodified packages of their registries: tools/check --bindings.
if(NOT MEZZ_WITH_ROCKSDB OR MEZZ_SANITIZE)
  return()
endif()
add_custom_target(bindings_tests)

# What stands on libmezzanine_c: with any RocksDB.
add_library(bindings_other_release MODULE EXCLUDE_FROM_ALL bindings/other_release.cc)
add_dependencies(bindings_tests mezzanine_c bindings_other_release)
foreach(language c go python rust)
  add_test(NAME bindings/${language} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/bindings/${language}_test.sh
           ${PROJECT_BINARY_DIR} ${RocksDBLibrary_VERSION} ${RocksDBLibrary_INCLUDE_DIR} ${RocksDBLibrary_LIBRARY}
           $<TARGET_FILE:bindings_other_release>)
  set_tests_properties(bindings/${language} PROPERTIES LABELS bindings TIMEOUT 1200 SKIP_RETURN_CODE 77)
endforeach()
set_tests_properties(bindings/rust PROPERTIES TIMEOUT 3000)  # compiles us anew, optimised

if(RocksDBLibrary_VERSION VERSION_LESS 8.9)
  return()
endif()
add_dependencies(bindings_tests mezzanine_preload mezzanine_preloaded_jni)
if(NOT RocksDBLibrary_VERSION VERSION_LESS 9.7)
  add_test(NAME bindings/plugin
           COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/bindings/plugin_test.sh ${RocksDBLibrary_VERSION})
  set_tests_properties(bindings/plugin PROPERTIES LABELS bindings TIMEOUT 3600 SKIP_RETURN_CODE 77)
endif()
set(library "")
if(TARGET mezzanine_jni)
  set(library $<TARGET_FILE:mezzanine_jni>)
  add_dependencies(bindings_tests mezzanine_jni)
endif()
add_test(NAME bindings/jvm COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/bindings/jvm_test.sh
         "${library}" ${RocksDBLibrary_VERSION} ${PROJECT_BINARY_DIR})
# What Maven fetches the first time takes minutes, and so does a native library for each release.
set_tests_properties(bindings/jvm PROPERTIES LABELS bindings TIMEOUT 3600 SKIP_RETURN_CODE 77)
