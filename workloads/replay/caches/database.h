// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cache/status.h"
#include "rocksdb/env.h"
#include "workloads/replay/caches/backing_store.h"
#include "workloads/replay/caches/databases.h"
#include "workloads/replay/caches/options.h"
#include "workloads/replay/caches/workload.h"
#include "workloads/requests/progress.h"
#include "workloads/rocksdb/values.h"

namespace mezz {

// The folder --db: DIR/base has --dbs databases, "0" and up, which hold each distinct key once; DIR/mezz_replay.json
// says what that is; DIR/run-N are clones of the base (hard links), one for each cache, gone at the end. Only one
// process uses a folder at a time.
class Database final : public BackingStore {
 public:
  // Refuses a folder that holds what mezz_replay did not make, that is in use, or that lacks the space for what
  // must be loaded; nothing is written but a lock file.
  static Status Claim(const ReplayOptions& options, const DatabaseWorkload& workload,
                      std::unique_ptr<Database>* database);
  ~Database() override;  // removes the clones: close them first

  // Loads the base unless the folder holds just that already.
  Status Load(Progress* progress, const std::atomic<bool>& stop) override;
  // Makes clone `number`; gone, with its folder's content, when this object goes.
  Status PathFor(unsigned number, std::string* path) override;
  int lock_fd() const override { return lock_; }

  bool reused() const override { return reusable_; }
  // Of the base's data blocks, uncompressed.
  uint64_t bytes() const override { return base_bytes_; }
  uint64_t mean_block_bytes() const override { return mean_block_bytes_; }

 private:
  Database(const ReplayOptions& options, const DatabaseWorkload& workload);

  Status Lock();
  Status CheckOwner() const;
  Status CheckSpace() const;
  rocksdb::Options BaseOptions() const;
  Status WriteManifest(bool complete);
  Status WriteKeys(const Databases& dbs, Progress* progress, const std::atomic<bool>& stop);
  Status MeasureBase();
  void RemoveClones();
  std::string Path(const std::string& name) const { return options_.db_dir + "/" + name; }

  const ReplayOptions options_;
  const DatabaseWorkload& workload_;
  Values values_;
  const std::unique_ptr<rocksdb::Env> env_;  // of the base, whose reads do not wait; null: RocksDB's own
  nlohmann::json content_;                   // what the base must hold
  int lock_ = -1;
  bool reusable_ = false;
  uint64_t mean_block_bytes_ = 0;
  uint64_t base_bytes_ = 0;
};

}  // namespace mezz
