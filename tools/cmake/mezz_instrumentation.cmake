# MEZZ_SANITIZE and MEZZ_COVERAGE.
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
