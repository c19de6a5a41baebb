// SPDX-License-Identifier: Apache-2.0
// A program with a RocksDB of any release that makes an LRUCache and opens no database: cache_maker LIBRARY
// lru|lru_opts. By RocksDB's C functions, which are the same in all releases, and reach all of its makers.
#include <dlfcn.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

namespace {

template <typename Function>
Function* Find(void* library, const char* name) {
  return reinterpret_cast<Function*>(dlsym(library, name));
}

void* Make(void* library, const char* kind, size_t bytes) {
  if (std::strcmp(kind, "lru") == 0) {
    auto* const make = Find<void*(size_t)>(library, "rocksdb_cache_create_lru");
    return make == nullptr ? nullptr : make(bytes);
  }
  auto* const new_options = Find<void*()>(library, "rocksdb_lru_cache_options_create");
  auto* const set_capacity = Find<void(void*, size_t)>(library, "rocksdb_lru_cache_options_set_capacity");
  auto* const make = Find<void*(void*)>(library, "rocksdb_cache_create_lru_opts");
  if (new_options == nullptr || set_capacity == nullptr || make == nullptr) return nullptr;
  void* const options = new_options();
  set_capacity(options, bytes);
  return make(options);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 64;
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 65;
  }
  constexpr size_t kBytes = 4 << 20;
  void* const cache = Make(library, argv[2], kBytes);
  auto* const capacity = Find<size_t(void*)>(library, "rocksdb_cache_get_capacity");
  if (cache == nullptr || capacity == nullptr) return 66;
  std::printf("made a cache of %zu bytes\n", capacity(cache));
  return capacity(cache) == kBytes ? 0 : 67;
}
