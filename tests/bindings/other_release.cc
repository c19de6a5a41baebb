// SPDX-License-Identifier: Apache-2.0
// Preloaded, it has the process's RocksDB say that it is another release.
#include <string>

namespace rocksdb {

__attribute__((visibility("default"))) std::string GetRocksVersionAsString(bool /*with_patch*/) { return "6.0.0"; }

}  // namespace rocksdb
