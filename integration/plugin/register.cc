// SPDX-License-Identifier: Apache-2.0
// What RocksDB calls where Mezzanine is compiled into it as a plug-in.
#include <string>

#include "integration/registration.h"
#include "rocksdb/utilities/object_registry.h"

extern "C" int register_mezzanine(rocksdb::ObjectLibrary& library, const std::string& /*name*/) {
  return mezz::RegisterWith(&library);
}
