// SPDX-License-Identifier: Apache-2.0
// A program over a RocksDB that has Mezzanine inside, and nothing of Mezzanine but a URI:
//
//   plugin_user FOLDER URI    opens a database by an options string, and writes
//   plugin_user FOLDER        opens it by its OPTIONS file, reads all, and prints the cache's report
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "rocksdb/advanced_cache.h"
#include "rocksdb/cache.h"
#include "rocksdb/convenience.h"
#include "rocksdb/db.h"
#include "rocksdb/table.h"
#include "rocksdb/utilities/options_util.h"

namespace {

constexpr int kKeys = 20'000;

std::string Key(int n) { return "key" + std::to_string(100'000 + n); }
std::string Value(int n) { return std::string(900, static_cast<char>('a' + n % 26)) + std::to_string(n); }

bool Ok(const rocksdb::Status& status, const char* what) {
  if (!status.ok()) std::printf("%s: %s\n", what, status.ToString().c_str());
  return status.ok();
}

const rocksdb::BlockBasedTableOptions* TableOf(const rocksdb::Options& options) {
  return options.table_factory->GetOptions<rocksdb::BlockBasedTableOptions>();
}

bool Write(const std::string& folder, const std::string& uri) {
  rocksdb::ConfigOptions config;
  rocksdb::Options options;
  const std::string text =
      "create_if_missing=true;compression=kNoCompression;block_based_table_factory={block_cache={id={" + uri +
      "}};prepopulate_block_cache=kFlushAndCompaction}";
  if (!Ok(rocksdb::GetOptionsFromString(config, rocksdb::Options(), text, &options), "options")) return false;
  std::unique_ptr<rocksdb::DB> db;
  if (!Ok(rocksdb::DB::Open(options, folder, &db), "open")) return false;
  for (int n = 0; n < kKeys; ++n) {
    if (!Ok(db->Put({}, Key(n), Value(n)), "put")) return false;
  }
  return Ok(db->Flush({}), "flush") && Ok(db->CompactRange({}, nullptr, nullptr), "compact") &&
         Ok(db->Close(), "close");
}

bool Read(const std::string& folder) {
  rocksdb::ConfigOptions config;
  rocksdb::DBOptions db_options;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  if (!Ok(rocksdb::LoadLatestOptions(config, folder, &db_options, &families), "OPTIONS file")) return false;
  const rocksdb::Options options(db_options, families[0].options);
  const std::shared_ptr<rocksdb::Cache> cache = TableOf(options)->block_cache;
  if (cache == nullptr) {
    std::printf("the OPTIONS file has no cache\n");
    return false;
  }
  std::unique_ptr<rocksdb::DB> db;
  if (!Ok(rocksdb::DB::Open(options, folder, &db), "open again")) return false;
  for (int round = 0; round < 2; ++round) {
    for (int n = 0; n < kKeys; ++n) {
      rocksdb::PinnableSlice value;
      if (!Ok(db->Get({}, db->DefaultColumnFamily(), Key(n), &value), "get")) return false;
      if (value != rocksdb::Slice(Value(n))) {
        std::printf("wrong bytes of %s\n", Key(n).c_str());
        return false;
      }
    }
  }
  std::printf("%s\n%s\n", cache->Name(), cache->GetPrintableOptions().c_str());
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) return 2;
  return (argc == 3 ? Write(argv[1], argv[2]) : Read(argv[1])) ? 0 : 1;
}
