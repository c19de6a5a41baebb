# MEZZ_SANITIZE, MEZZ_COVERAGE and MEZZ_FUZZ.
if(MEZZ_SANITIZE)
  add_compile_options(-fsanitize=${MEZZ_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${MEZZ_SANITIZE})
  if(MEZZ_SANITIZE MATCHES undefined)
    # vptr needs typeinfo, which release builds of RocksDB lack.
    add_compile_options(-fno-sanitize-recover=undefined -fno-sanitize=vptr)
  endif()
  if(MEZZ_SANITIZE MATCHES thread)
    # GCC warns of every fence; what it then misses, it reports as a race, and we see it.
    add_compile_options(-Wno-tsan)
  endif()
endif()
if(MEZZ_COVERAGE)
  add_compile_options(--coverage)
  add_link_options(--coverage)
endif()
if(MEZZ_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "MEZZ_FUZZ=ON needs Clang, which brings libFuzzer: tools/install_deps fuzz, "
                        "then cmake -DCMAKE_CXX_COMPILER=clang++")
  endif()
endif()
