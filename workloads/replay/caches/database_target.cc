// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/caches/database_target.h"

#include <fmt/format.h>

#include <algorithm>

#include "cache/types.h"

namespace mezz {
namespace {

uint64_t TouchLines(const rocksdb::Slice& value) {
  uint64_t sum = 0;
  for (size_t at = 0; at < value.size(); at += kLineBytes) sum += static_cast<unsigned char>(value[at]);
  return sum;
}

std::string_view View(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

std::array<RoleCounts, kRoleSlots> RolesOf(const rocksdb::PerfContext& perf, uint64_t read_ahead) {
  const RoleCounts index{perf.block_cache_index_hit_count, 0, perf.index_block_read_count, 0};
  const RoleCounts filter{perf.block_cache_filter_hit_count, 0, perf.filter_block_read_count, 0};
  const auto rest = [](uint64_t all, uint64_t a, uint64_t b) { return all - std::min(all, a + b); };
  return {RoleCounts{rest(perf.block_cache_hit_count, index.hits, filter.hits), 0,
                     rest(perf.block_read_count, index.flash_reads, filter.flash_reads), read_ahead},
          index, filter};
}

// While one lives, RocksDB also counts this thread's look-ups by level, which alone tells of misses. That costs a
// search of a tree each time, so only where misses and reads may differ.
class LevelsCounted {
 public:
  LevelsCounted() { rocksdb::get_perf_context()->EnablePerLevelPerfContext(); }
  ~LevelsCounted() { rocksdb::get_perf_context()->DisablePerLevelPerfContext(); }
  LevelsCounted(const LevelsCounted&) = delete;
  LevelsCounted& operator=(const LevelsCounted&) = delete;

  // Since the thread's first.
  uint64_t Misses() const {
    uint64_t misses = 0;
    for (const auto& level : *rocksdb::get_perf_context()->level_to_perf_context)
      misses += level.second.block_cache_miss_count;
    return misses;
  }
};

}  // namespace

DatabaseTarget::DatabaseTarget(const Databases& dbs, const BuiltCache& cache, const TargetSettings& settings)
    : dbs_(dbs), settings_(settings), peer_(cache, settings.mean_block_bytes) {
  write_.disableWAL = true;
}

void DatabaseTarget::Begin() { perf_ = BlockCounts::Start(); }

bool DatabaseTarget::Execute(const Request& request) {
  if (!Dispatch(request)) return false;
  const BlockCounts now = Counts();
  peer_.ChargeSinceLast(now);
  published_.Publish(now);
  return true;
}

void DatabaseTarget::End() {
  published_.Publish(Counts());
  roles_ = RolesOf(*perf_, read_ahead_);
}

BlockCounts DatabaseTarget::Counts() const {
  BlockCounts counts = BlockCounts::Of(*perf_);
  counts.read_ahead = read_ahead_;
  return counts;
}

void DatabaseTarget::AddTo(WindowResult* result) const {
  for (size_t i = 0; i < operations_.size(); ++i) {
    if (operations_[i] > 0) result->operations[std::string(kWordsOf<Operation>[i])] += operations_[i];
  }
  for (size_t i = 0; i < kRoleSlots; ++i) result->roles[i] += roles_[i];
  result->not_found += not_found_;
  result->touched += touched_;
}

bool DatabaseTarget::Dispatch(const Request& request) {
  if (request.operation == Operation::kMultiGet) return Collect(request);
  ++operations_[static_cast<size_t>(request.operation)];
  const DatabaseKey encoded = EncodeKey(request.key);
  const rocksdb::Slice key(encoded.data(), encoded.size());
  if (request.operation == Operation::kGet) return Get(request, key);
  return request.operation == Operation::kSeek ? Seek(request, key) : Write(request, key);
}

bool DatabaseTarget::Get(const Request& request, const rocksdb::Slice& key) {
  value_.Reset();
  rocksdb::DB* const db = dbs_.Of(request.key);
  const rocksdb::Status status = db->Get(read_, db->DefaultColumnFamily(), key, &value_);
  const bool right = Answer(request, status, value_, request.key);
  value_.Reset();  // pins its block no longer than the request
  return right;
}

bool DatabaseTarget::Collect(const Request& request) {
  batch_.push_back(request.key);
  if (request.batch_left > 0) return true;
  ++operations_[static_cast<size_t>(Operation::kMultiGet)];
  const bool right = MultiGet(request);
  batch_.clear();
  return right;
}

bool DatabaseTarget::MultiGet(const Request& last) {
  const size_t keys = batch_.size();
  const auto number = [this](uint64_t key) { return dbs_.NumberOf(key); };
  std::ranges::sort(batch_, {}, number);
  batch_encoded_.clear();
  batch_keys_.clear();
  for (const uint64_t key : batch_) batch_encoded_.push_back(EncodeKey(key));
  for (const DatabaseKey& encoded : batch_encoded_) batch_keys_.emplace_back(encoded.data(), encoded.size());
  if (batch_values_.size() < keys) batch_values_ = std::vector<rocksdb::PinnableSlice>(keys);
  batch_statuses_.resize(keys);
  for (size_t from = 0, to = 0; from < keys; from = to) {
    while (to < keys && number(batch_[to]) == number(batch_[from])) ++to;
    rocksdb::DB* const db = dbs_.Of(batch_[from]);
    db->MultiGet(read_, db->DefaultColumnFamily(), to - from, &batch_keys_[from], &batch_values_[from],
                 &batch_statuses_[from]);
  }
  bool right = true;
  for (size_t i = 0; i < keys; ++i) {
    right = right && Answer(last, batch_statuses_[i], batch_values_[i], batch_[i]);
    batch_values_[i].Reset();
  }
  return right;
}

bool DatabaseTarget::Write(const Request& request, const rocksdb::Slice& key) {
  rocksdb::DB* const db = dbs_.Of(request.key);
  if (request.operation == Operation::kDelete) {
    const rocksdb::Status deleted = db->Delete(write_, key);
    return deleted.ok() || Fail(request, deleted.ToString());
  }
  const uint32_t bytes = settings_.put_value_bytes > 0 ? settings_.put_value_bytes : request.value_bytes;
  settings_.values.Fill(request.key, bytes, &put_value_);
  const bool merge = request.operation == Operation::kMerge;
  const rocksdb::Status written = merge ? db->Merge(write_, key, put_value_) : db->Put(write_, key, put_value_);
  return written.ok() || Fail(request, written.ToString());
}

bool DatabaseTarget::Seek(const Request& request, const rocksdb::Slice& key) {
  const LevelsCounted counted;
  const uint64_t misses = counted.Misses(), reads = perf_->block_read_count;
  const bool right = Scan(request, key);
  const uint64_t missed = counted.Misses() - misses;
  read_ahead_ += missed - std::min(missed, perf_->block_read_count - reads);
  return right;
}

bool DatabaseTarget::Scan(const Request& request, const rocksdb::Slice& key) {
  const std::unique_ptr<rocksdb::Iterator> it(dbs_.Of(request.key)->NewIterator(read_));
  uint32_t entries = 0;
  for (it->Seek(key); it->Valid() && entries < std::max(request.scan_length, 1u); it->Next(), ++entries) {
    touched_ += TouchLines(it->value());
    if (settings_.verify && !settings_.values.Matches(DecodeKey(View(it->key())), View(it->value())))
      return Fail(request, "a scanned value's bytes are wrong");
  }
  return it->status().ok() || Fail(request, it->status().ToString());
}

bool DatabaseTarget::Answer(const Request& request, const rocksdb::Status& status, const rocksdb::PinnableSlice& value,
                            uint64_t key) {
  if (status.IsNotFound() && settings_.may_be_missing) {
    ++not_found_;
    return true;
  }
  if (!status.ok()) return Fail(request, status.ToString());
  touched_ += TouchLines(value);
  return !settings_.verify || settings_.values.Matches(key, View(value)) ||
         Fail(request, "the value's bytes are wrong");
}

bool DatabaseTarget::Fail(const Request& request, std::string_view what) {
  error_ = fmt::format("request for key {}: {}", request.key, what);
  return false;
}

}  // namespace mezz
