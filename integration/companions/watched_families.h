// SPDX-License-Identifier: Apache-2.0
// What a database's writes wait for, over all its column families.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "integration/companions/write_throttle.h"
#include "rocksdb/db.h"

namespace mezz {

// By name, the families that a database's listeners have heard of, and whether RocksDB delays or stops writes for them.
using FamilyReports = std::map<std::string, bool>;

struct Level0Triggers {
  int slowdown = 0;
  int stop = 0;
};
// Of the families in an OPTIONS file, but for those that a throttle cannot work with: not level compaction, no
// automatic compactions, or triggers too close. Reads the text alone: to load the file would make what it names a
// second time.
std::map<std::string, Level0Triggers> TriggersIn(std::string_view options_file);
inline constexpr int kTriggersApartMin = 4;  // two files of each stage

// The families beside the default one. RocksDB's callbacks name a family and give no handle to it, so what is known of
// one is its files, by DB::GetAllColumnFamilyMetaData, and its triggers, by the OPTIONS file of when it was first heard
// of. Not thread-safe.
class WatchedFamilies {
 public:
  explicit WatchedFamilies(rocksdb::DB* db) : db_(db) {}

  // Replaces the Level 0 of `state` by that of the family which has filled the largest part of the way from its
  // slowdown to its stop trigger; a family that is delayed with fewer files than that is limited elsewhere.
  void Add(const FamilyReports& reports, WriteState* state);

 private:
  // Null: none is known that a throttle could work with; told.
  const Level0Triggers* TriggersOf(const std::string& family);

  rocksdb::DB* const db_;
  std::map<std::string, std::optional<Level0Triggers>> triggers_;
};

}  // namespace mezz
