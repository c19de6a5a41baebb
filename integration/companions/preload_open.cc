// SPDX-License-Identifier: Apache-2.0
// Companions for a program that does not know of them:
//
//   LD_PRELOAD=libmezzanine_rocksdb.so MEZZANINE_COMPANIONS='write_throttle=true;dynamic_level0=true' db_bench ...
//
// It interposes DB::Open of one column family, by which db_bench opens its database, and passes on what it does not
// know. What MEZZANINE_COMPANIONS must not say fails the opening, with the reason.
#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "integration/companions/companions.h"
#include "integration/operator_io.h"
#include "integration/tell.h"
#include "rocksdb/db.h"
#include "rocksdb/version.h"

#if ROCKSDB_MAJOR >= 11

namespace ROCKSDB_NAMESPACE {

__attribute__((visibility("default"))) Status DB::Open(const Options& options, const std::string& name,
                                                       std::unique_ptr<DB>* db) {
  static constexpr char kMangled[] =
      "_ZN7rocksdb2DB4OpenERKNS_7OptionsERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEPSt10unique_ptrIS0_"
      "St14default_deleteIS0_EE";
  using Real = Status (*)(const Options&, const std::string&, std::unique_ptr<DB>*);
  static const auto real = reinterpret_cast<Real>(dlsym(RTLD_NEXT, kMangled));
  if (real == nullptr) return Status::NotSupported("DB::Open is not found in this program's RocksDB");
  const char* const text = std::getenv("MEZZANINE_COMPANIONS");
  if (text == nullptr || *text == '\0' || !mezz::RocksDBMatches()) return real(options, name, db);
  Options with = options;
  if (const mezz::Status status = mezz::AddCompanions(text, &with); !status.ok()) {
    mezz::Tell("MEZZANINE_COMPANIONS: " + status.message());
    return Status::InvalidArgument("MEZZANINE_COMPANIONS: " + status.message());
  }
  return real(with, name, db);
}

}  // namespace ROCKSDB_NAMESPACE

#endif
