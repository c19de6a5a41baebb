// SPDX-License-Identifier: Apache-2.0
// libmezzanine_rocksdb.so: registers ours by being loaded, so that any program that makes caches from strings can name
// them.
#include "integration/operator_io.h"
#include "integration/registration.h"
#include "rocksdb/utilities/object_registry.h"

namespace mezz {
namespace {

__attribute__((constructor)) void Register() {
  if (RocksDBMatches()) RegisterWith(rocksdb::ObjectLibrary::Default().get());
}

}  // namespace
}  // namespace mezz
