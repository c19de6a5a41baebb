// SPDX-License-Identifier: Apache-2.0
// What passes for a RocksDB of another release inside of an object: some of its functions, by their true names. Says
// which of them were reached.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#define OTHER_EXPORT __attribute__((visibility("default"), noinline))

namespace rocksdb {

class Cache;
struct LRUCacheOptions {
  OTHER_EXPORT std::shared_ptr<Cache> MakeSharedCache() const;
  int layout_of_another_release = 0;
};
int reached = 0;

OTHER_EXPORT std::string GetRocksVersionAsString(bool /*with_patch*/) {
  const char* const version = std::getenv("OTHER_VERSION");
  return version == nullptr ? "6.0.0" : version;
}
OTHER_EXPORT std::shared_ptr<Cache> NewLRUCache(const LRUCacheOptions&) {
  reached |= 1;
  return nullptr;
}
std::shared_ptr<Cache> LRUCacheOptions::MakeSharedCache() const {
  reached |= 2;
  return nullptr;
}

}  // namespace rocksdb

extern "C" OTHER_EXPORT int UseRocksDB(const char*) {
  const std::string version = rocksdb::GetRocksVersionAsString(true);
  const rocksdb::LRUCacheOptions options;
  rocksdb::NewLRUCache(options);
  options.MakeSharedCache();
  std::printf("reached %d of %s\n", rocksdb::reached, version.c_str());
  return rocksdb::reached == 3 ? 0 : 1;
}
