# What a distribution's packages have beside libraries and programs: man pages, completions for bash, the example of a
# unit. And CPack's settings for Debian's packages, a component each; `tools/package deb` makes them.
find_package(Python3 COMPONENTS Interpreter)
if(NOT Python3_FOUND OR CMAKE_CROSSCOMPILING)
  message(STATUS "no Python, or another machine's programs: man pages and completions are left out")
else()
  set(made ${PROJECT_BINARY_DIR}/share)
  set(man ${PROJECT_SOURCE_DIR}/tools/man.py --version ${PROJECT_VERSION} --output ${made}/man)
  set(pages ${made}/man/man7/mezzanine.7)
  set(of_pages ${PROJECT_SOURCE_DIR}/tools/man.py ${PROJECT_SOURCE_DIR}/docs/reference/options.md
               ${PROJECT_SOURCE_DIR}/docs/how-to/preload.md)
  add_custom_command(OUTPUT ${pages} DEPENDS ${of_pages} VERBATIM COMMAND Python3::Interpreter ${man} mezzanine)
  get_property(programs GLOBAL PROPERTY MEZZ_PROGRAMS)
  foreach(program ${programs})
    set(page ${made}/man/man1/${program}.1)
    set(completion ${made}/bash-completion/completions/${program})
    add_custom_command(OUTPUT ${page} ${completion} DEPENDS ${program} ${PROJECT_SOURCE_DIR}/tools/man.py VERBATIM
                       COMMAND Python3::Interpreter ${man} $<TARGET_FILE:${program}>
                       COMMAND ${CMAKE_COMMAND} -E make_directory ${made}/bash-completion/completions
                       COMMAND sh -c "\"$1\" --completion >\"$2\"" sh $<TARGET_FILE:${program}> ${completion})
    list(APPEND pages ${page} ${completion})
  endforeach()
  add_custom_target(mezz_pages ALL DEPENDS ${pages})
  install(DIRECTORY ${made}/man/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT tools)
  install(DIRECTORY ${made}/man/man7 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT preload)
  install(DIRECTORY ${made}/bash-completion DESTINATION ${CMAKE_INSTALL_DATAROOTDIR} COMPONENT tools)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/tools/grafana COMPONENT preload
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/mezzanine)
install(FILES ${PROJECT_SOURCE_DIR}/docs/how-to/mezzanine-db.service COMPONENT preload
        DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/mezzanine-preload/examples)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mezzanine)
set(CPACK_PACKAGE_VENDOR Mezzanine)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # it would stand before the first line of each description below
# Who builds packages for others says so, as for Debian's own tools.
set(CPACK_PACKAGE_CONTACT "Mezzanine maintainers <maintainers@mezzanine.invalid>")
if(DEFINED ENV{DEBEMAIL})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
                                                WORLD_READ WORLD_EXECUTE)
set(CPACK_COMPONENTS_ALL library preload tools dev)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
# Licence and changelog where Debian has them, and what it wants compressed.
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/tools/cmake/debian_files.cmake)
set(CPACK_MEZZ_SOURCE_DIR ${PROJECT_SOURCE_DIR})
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SOURCE mezzanine)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)

# mezz_package(COMPONENT NAME SECTION LINES...): a Debian package of that component. LINES describe it; the first is
# what lists show.
macro(mezz_package component name section)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section})
  string(REPLACE ";" "\n" CPACK_COMPONENT_${upper}_DESCRIPTION "${ARGN}")
endmacro()
mezz_package(library libmezzanine${PROJECT_VERSION_MAJOR} libs
  "block cache of two tiers for RocksDB: C library"
  "The library that programs in C link, and that bindings of other languages"
  "load. It goes with RocksDB ${RocksDBLibrary_VERSION} and no other release.")
mezz_package(preload mezzanine-preload libs
  "block cache of two tiers for RocksDB programs as they are"
  "LD_PRELOAD=libmezzanine_preload.so and a URI in MEZZANINE_CACHE put a cache of"
  "DRAM and storage-class memory under a program that is linked to librocksdb.so"
  "of release ${RocksDBLibrary_VERSION}. See mezzanine(7).")
mezz_package(tools mezzanine-tools utils
  "replays, simulates and plans block caches of two tiers"
  "mezz_replay compares caches over a RocksDB, mezz_sim asks what another size or"
  "policy would do, mezz_plan finds the cheapest server that meets a target,"
  "mezz_trace makes and converts traces, mezz_inspect looks at a medium.")
mezz_package(dev mezzanine-dev libdevel
  "block cache of two tiers for RocksDB: development files"
  "Headers, static libraries, and the files by which CMake and pkg-config find"
  "them.")
set(CPACK_DEBIAN_PRELOAD_PACKAGE_SUGGESTS mezzanine-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SUGGESTS mezzanine-preload)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
if(NOT MEZZ_FMT_HEADER_ONLY)
  set(fmt ", libfmt-dev")
endif()
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libmezzanine${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION}), liblz4-dev, \
libnuma-dev, libpmem2-dev, librocksdb-dev, libsodium-dev, libzstd-dev${fmt}")
include(CPack)
