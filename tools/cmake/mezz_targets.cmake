# The project's target functions. Every library gets the alias mezz::NAME and is used by it.

# Header only, fmt costs each source that formats two seconds of compiling, and who links us nothing: for what is
# installed. While developing, the distribution's library.
set(MEZZ_FMT fmt::fmt-header-only)
if(NOT MEZZ_FMT_HEADER_ONLY)
  set(MEZZ_FMT fmt::fmt)
endif()
# Compiled into our objects and not seen by who links them: left out of what we export.
set(MEZZ_HEADER_ONLY fmt::fmt-header-only PkgConfig::NLOHMANN_JSON PkgConfig::XXHASH)

function(mezz_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual)
  # What only some releases of RocksDB let override.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:Clang>:-Wno-inconsistent-missing-override>)
  if(MEZZ_DEVELOPER_MODE)
    target_compile_options(${target} PRIVATE -Werror)
    # GCC's optimiser warns of what std::string and std::optional cannot do, and each release of it elsewhere: that is
    # told, and ends no build.
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      foreach(guess IN ITEMS array-bounds maybe-uninitialized restrict stringop-overflow stringop-overread)
        target_compile_options(${target} PRIVATE -Wno-error=${guess})
      endforeach()
    endif()
  endif()
endfunction()

# A quick build by Clang takes half the time for what it need not optimise: all but these, which tests wait for. With
# -O2 these take little longer than with -O1, and their tests a tenth less.
set(mezz_tests_wait_for admission cache curves generators plan_curves plan_model readers replay_engine requests rocksdb
                        simulator traces)
set(mezz_not_waited_for "")
set(mezz_waited_for "")
if(MEZZ_QUICK_BUILD AND CMAKE_BUILD_TYPE STREQUAL Debug AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  set(mezz_not_waited_for -O0)
  set(mezz_waited_for -O2)
endif()

# mezz_library(NAME SRCS ... [PUBLIC ...] [DEPS ...] [PRIVATE_DEPS ...])
# PUBLIC: the headers that are installed, with those that they include.
function(mezz_library name)
  cmake_parse_arguments(ARG "" "" "SRCS;PUBLIC;DEPS;PRIVATE_DEPS" ${ARGN})
  add_library(mezz_${name} STATIC ${ARG_SRCS})
  add_library(mezz::${name} ALIAS mezz_${name})
  target_include_directories(mezz_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
                                                 $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(mezz_${name} PUBLIC cxx_std_20)
  target_link_libraries(mezz_${name} PUBLIC ${ARG_DEPS})
  foreach(dep ${ARG_PRIVATE_DEPS})
    if(dep IN_LIST MEZZ_HEADER_ONLY)
      set(dep $<BUILD_INTERFACE:${dep}>)
    endif()
    target_link_libraries(mezz_${name} PRIVATE ${dep})
  endforeach()
  set_target_properties(mezz_${name} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY MEZZ_LIBRARIES ${name})
  file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  list(TRANSFORM ARG_PUBLIC PREPEND ${folder}/)
  set_target_properties(mezz_${name} PROPERTIES MEZZ_PUBLIC "${ARG_PUBLIC}")
  mezz_warnings(mezz_${name})
  if(name IN_LIST mezz_tests_wait_for)
    target_compile_options(mezz_${name} PRIVATE ${mezz_waited_for})
  else()
    target_compile_options(mezz_${name} PRIVATE ${mezz_not_waited_for})
  endif()
endfunction()

# Two ways to compile once what many sources include. What is installed, and what results/ has figures of, uses neither,
# so that a source that lacks an include is seen there. Tests are joined there as well: mezz_join_sources(NAME TESTS).
function(mezz_join_sources target)
  if(MEZZ_QUICK_BUILD OR (MEZZ_JOIN_TESTS AND "${ARGN}" STREQUAL TESTS))
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 6)
  endif()
endfunction()
function(mezz_precompile_headers target)
  if(MEZZ_QUICK_BUILD)
    target_precompile_headers(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tools/cmake/precompiled.h)
  endif()
endfunction()

# mezz_program(NAME SRCS ... DEPS ...)
function(mezz_program name)
  cmake_parse_arguments(ARG "" "" "SRCS;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  install(TARGETS ${name} RUNTIME COMPONENT tools)
  set_property(GLOBAL APPEND PROPERTY MEZZ_PROGRAMS ${name})
  mezz_warnings(${name})
  target_compile_options(${name} PRIVATE ${mezz_not_waited_for})
endfunction()

# mezz_install(cache admission ...): these libraries, their public headers, the CMake package and the pkg-config file.
# What no other component has is of `dev`. mezz_packages.cmake makes a package of each; `c` is no package's.
function(mezz_install)
  include(CMakePackageConfigHelpers)
  set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME dev)
  set(package ${CMAKE_INSTALL_LIBDIR}/cmake/mezzanine)
  set(public "")
  foreach(name ${ARGN})
    install(TARGETS mezz_${name} EXPORT mezzanine)
    get_target_property(of_library mezz_${name} MEZZ_PUBLIC)
    list(APPEND public ${of_library})
    set(pc_libs "-lmezz_${name} ${pc_libs}")
  endforeach()
  install(CODE "
    set(ROOT \"${PROJECT_SOURCE_DIR}\")
    set(PUBLIC \"${public}\")
    set(MADE \"${PROJECT_BINARY_DIR}/installed_headers\")
    set(TO \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")
    include(\"${PROJECT_SOURCE_DIR}/tools/cmake/install_headers.cmake\")")
  if(MEZZ_WITH_ROCKSDB)
    # Loaded by path with LD_PRELOAD, never linked against: no SOVERSION.
    install(TARGETS mezzanine_rocksdb mezzanine_preload mezzanine_preloaded
            LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT preload)
    if(TARGET mezzanine_preloaded_jni)
      install(TARGETS mezzanine_preloaded_jni LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT preload)
    endif()
  endif()

  install(EXPORT mezzanine NAMESPACE mezzanine:: DESTINATION ${package} FILE mezzanineTargets.cmake)
  configure_package_config_file(${PROJECT_SOURCE_DIR}/tools/cmake/mezzanineConfig.cmake.in
    ${PROJECT_BINARY_DIR}/mezzanineConfig.cmake INSTALL_DESTINATION ${package})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/mezzanineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/mezzanineConfig.cmake ${PROJECT_BINARY_DIR}/mezzanineConfigVersion.cmake
          ${PROJECT_SOURCE_DIR}/tools/cmake/mezz_dependencies.cmake
          ${PROJECT_SOURCE_DIR}/tools/cmake/FindRocksDBLibrary.cmake DESTINATION ${package})

  set(pc_cflags "")
  set(pc_requires "libpmem2, numa, liblz4, libzstd, libsodium")
  if(NOT MEZZ_FMT_HEADER_ONLY)
    set(pc_requires "${pc_requires}, fmt")
  endif()
  if(MEZZ_WITH_ROCKSDB)
    get_filename_component(rocksdb_lib ${RocksDBLibrary_LIBRARY} DIRECTORY)
    set(pc_rocksdb "-L${rocksdb_lib} -lrocksdb")
    if(MEZZ_ROCKSDB_ROOT)
      set(pc_rocksdb "${pc_rocksdb} -Wl,-rpath,${rocksdb_lib}")
      set(pc_cflags "-I${RocksDBLibrary_INCLUDE_DIR}")
    endif()
    set(pc_libs "${pc_libs}${pc_rocksdb}")
  endif()
  file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
  configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/mezzanine.pc.in ${PROJECT_BINARY_DIR}/mezzanine.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/mezzanine.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  if(MEZZ_WITH_ROCKSDB)
    mezz_install_c()
  endif()
endfunction()

# Of mezzanine_c the library for who runs a program that is linked to it, the rest for who links one. Both together, and
# nothing else, with `cmake --install ... --component c`: what the bindings of other languages link.
function(mezz_install_c)
  configure_file(${PROJECT_SOURCE_DIR}/tools/cmake/mezzanine_c.pc.in ${PROJECT_BINARY_DIR}/mezzanine_c.pc @ONLY)
  install(TARGETS mezzanine_c EXPORT mezzanine LIBRARY COMPONENT library NAMELINK_COMPONENT dev)
  install(TARGETS mezzanine_c LIBRARY COMPONENT c EXCLUDE_FROM_ALL)
  foreach(component dev "c;EXCLUDE_FROM_ALL")
    install(FILES ${PROJECT_SOURCE_DIR}/integration/c/mezzanine_c.h RENAME c.h
            DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mezzanine COMPONENT ${component})
    install(FILES ${PROJECT_BINARY_DIR}/mezzanine_c.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
            COMPONENT ${component})
  endforeach()
endfunction()
