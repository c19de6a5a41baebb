// SPDX-License-Identifier: Apache-2.0
// What stands beside a database and sets options of it while it runs: write_throttle.h, dynamic_level0.h and adoc.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "cache/status.h"
#include "integration/companions/companion_options.h"
#include "integration/companions/write_throttle.h"
#include "rocksdb/listener.h"
#include "rocksdb/options.h"

namespace mezz {

// Gives every database that is opened with `options` its companions:
//
//   rocksdb::Options options;
//   mezz::Status status = mezz::AddCompanions("write_throttle=true;dynamic_level0=true", &options);
//   ... DB::Open(options, ...)
//
// They act from the first flush or compaction on, on a thread of their own, through SetDBOptions and SetOptions of the
// default column family, each of which writes an OPTIONS file. From RocksDB 11 on the database tells of its end. Older
// releases do not (kDatabaseTellsItsEnd): call StopCompanions before you close the database.
//
// Refuses, by name: what ParseCompanions refuses, options that a companion cannot work with, and a second companion for
// an option that one of options->listeners sets. dynamic_level0 counts reads by options->statistics, which it makes if
// there are none. Leaves *options as they are unless it returns Ok.
Status AddCompanions(std::string_view text, rocksdb::Options* options);
Status AddCompanions(const CompanionOptions& companions, rocksdb::Options* options);

struct CompanionStats {
  uint64_t databases = 0;   // that companions watch now
  uint64_t looks = 0;       // at a database's state
  uint64_t rates_set = 0;   // of write_throttle
  uint64_t shapes_set = 0;  // of dynamic_level0
  uint64_t flows_set = 0;   // of adoc
  uint64_t refused = 0;     // databases that could not have them; why was told
  uint64_t failed = 0;      // options that RocksDB did not take, and looks without memory or a thread
  WriteThrottle::Stage stage = WriteThrottle::Stage::kFree;  // of the database that was looked at last
  DynamicLevel0::Cut cut = DynamicLevel0::Cut::kAsOpened;    // likewise
};

// The listener that AddCompanions made, and what a registry makes of {id=mezzanine_companions;with=key=value,...}
// among the listeners of an OPTIONS file. Thread-safe; never blocks RocksDB's threads but in OnDBShutdownBegin, for as
// long as one option takes to be set.
class Companions : public rocksdb::EventListener {
 public:
  static constexpr char kName[] = "mezzanine_companions";

  virtual CompanionStats Stats() const = 0;
  // Returns when no database is touched any more, for good. Sets back what was set.
  virtual void Stop() = 0;
  // Returns when all that databases reported so far has been looked at.
  virtual void DrainForTest() = 0;
  virtual const CompanionOptions& options() const = 0;
};
// Null if the options have none.
Companions* GetCompanions(const rocksdb::DBOptions& options);
// Of all companions in the options; before the last database that was opened with them is closed.
void StopCompanions(const rocksdb::DBOptions& options);

// Without options, to be configured by a registry.
std::unique_ptr<Companions> NewUnconfiguredCompanions();

// Of the RocksDB that this is built for.
extern const bool kDatabaseTellsItsEnd;

}  // namespace mezz
