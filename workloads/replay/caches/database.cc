// SPDX-License-Identifier: Apache-2.0
#include "workloads/replay/caches/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>

#include "rocksdb/table.h"
#include "rocksdb/utilities/checkpoint.h"
#include "workloads/program/program.h"
#include "workloads/replay/caches/flash_file_system.h"
#include "workloads/replay/caches/open_databases.h"
#include "workloads/rocksdb/open_db.h"

namespace mezz {
namespace {

namespace fs = std::filesystem;

constexpr char kManifest[] = "mezz_replay.json";
constexpr char kLock[] = "mezz_replay.lock";
constexpr char kProgram[] = "mezz_replay";
constexpr char kClonePrefix[] = "run-";
// Of a database while it is loaded, whatever it is replayed with: files that a compaction only moves are as large as
// what was flushed, and the database may be used again by a run with another --write_buffer.
constexpr size_t kLoadBufferBytes = 64 << 20;
constexpr uint64_t kFixedRoom = 64 << 20;  // logs, manifests, one memtable's worth in flight
constexpr uint64_t kRowOverhead = 24;      // key, sequence number, lengths
constexpr double kRoomFactor = 1.25;       // index, filters, a compaction's output beside its input

bool IsOurName(const std::string& name) {
  return name == kManifest || name == kLock || name == "base" || name.starts_with(kClonePrefix) ||
         name.starts_with(std::string(kManifest) + ".");
}

nlohmann::json ReadManifest(const std::string& path) {
  std::ifstream file(path);
  if (!file) return nullptr;
  nlohmann::json manifest = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  return manifest.is_object() && manifest.value("program", "") == kProgram ? manifest : nlohmann::json();
}

uint64_t FolderBytes(const std::string& path) {
  uint64_t bytes = 0;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(path, error)) {
    if (entry.is_regular_file(error)) bytes += entry.file_size(error);
  }
  return bytes;
}

double Mebibytes(double bytes) { return bytes / (1 << 20); }

}  // namespace

Database::Database(const ReplayOptions& options, const DatabaseWorkload& workload)
    : options_(options),
      workload_(workload),
      env_(options.flash != nullptr ? NewFlashEnv(/*flash=*/nullptr) : nullptr) {}

rocksdb::Options Database::BaseOptions() const {
  rocksdb::Options options = DatabaseOptions(options_, nullptr, Warming::kNone);
  if (env_ != nullptr) options.env = env_.get();
  return options;
}

Status Database::Claim(const ReplayOptions& options, const DatabaseWorkload& workload,
                       std::unique_ptr<Database>* database) {
  std::unique_ptr<Database> claimed(new Database(options, workload));
  MEZZ_RETURN_IF_ERROR(Values::Open(options.value_options(), &claimed->values_));
  claimed->content_ = {{"workload", workload.Identity()},
                       {"value_bytes", options.value_bytes},
                       {"values", claimed->values_.Name()},
                       {"block_bytes", options.block_bytes},
                       {"key_layout", "big-endian-8"},
                       {"rocksdb", RocksDbVersion()},
                       {"dbs", options.dbs},
                       {"compression", options.compression},
                       {"loaded_by", kLoadBufferBytes}};
  MEZZ_RETURN_IF_ERROR(claimed->CheckOwner());
  if (options.flash != nullptr) MEZZ_RETURN_IF_ERROR(CheckInMemory(options.db_dir, *options.flash));
  std::error_code error;
  fs::create_directory(options.db_dir, error);
  if (error) {
    return Status::IoError(fmt::format("--db={} cannot be created: {}", options.db_dir, error.message()));
  }
  MEZZ_RETURN_IF_ERROR(claimed->Lock());
  const nlohmann::json manifest = ReadManifest(claimed->Path(kManifest));
  claimed->reusable_ = manifest.is_object() && manifest.value("complete", false) &&
                       manifest.value("content", nlohmann::json()) == claimed->content_;
  claimed->RemoveClones();  // of a run that was killed
  if (!claimed->reusable_) MEZZ_RETURN_IF_ERROR(claimed->CheckSpace());
  *database = std::move(claimed);
  return Status::Ok();
}

Database::~Database() {
  if (lock_ < 0) return;
  RemoveClones();
  close(lock_);
}

Status Database::CheckOwner() const {
  const std::string& dir = options_.db_dir;
  std::error_code error;
  if (!fs::exists(dir, error)) {
    fs::path folder = fs::absolute(dir).lexically_normal();
    if (!folder.has_filename()) folder = folder.parent_path();  // it ended in a slash
    const fs::path parent = folder.parent_path();
    if (fs::is_directory(parent, error)) return Status::Ok();
    return Status::NotFound(fmt::format("--db={}: its parent folder does not exist", dir));
  }
  if (!fs::is_directory(dir, error)) {
    return Status::InvalidArgument(fmt::format("--db={} is not a folder", dir));
  }
  bool empty = true;
  bool only_ours = true;
  for (const auto& entry : fs::directory_iterator(dir, error)) {
    const std::string name = entry.path().filename().string();
    if (name != kLock) empty = false;
    if (!IsOurName(name)) only_ours = false;
  }
  if (error) return Status::IoError(fmt::format("--db={} cannot be read: {}", dir, error.message()));
  if (empty || (only_ours && ReadManifest(Path(kManifest)).is_object())) return Status::Ok();
  return Status::ForeignFile(fmt::format(
      "--db={} holds files that mezz_replay did not make; name an empty or a new folder, or empty this one", dir));
}

Status Database::Lock() {
  lock_ = open(Path(kLock).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock_ < 0) {
    return Status::IoError(fmt::format("--db={} cannot be written: {}", options_.db_dir, std::strerror(errno)));
  }
  if (flock(lock_, LOCK_EX | LOCK_NB) == 0) return Status::Ok();
  close(lock_);
  lock_ = -1;
  return Status::Busy(fmt::format("--db={} is in use by another mezz_replay; name another folder", options_.db_dir));
}

Status Database::CheckSpace() const {
  constexpr uint64_t kSample = 1000;
  const uint64_t keys = workload_.distinct_keys();
  const uint64_t sample = std::min(keys, kSample);
  double row_bytes = 0;
  for (uint64_t i = 0; i < sample; ++i) {
    row_bytes += kRowOverhead + workload_.InitialValueBytes(workload_.key(i * (keys / sample)));
  }
  row_bytes /= static_cast<double>(sample);
  const double needed = static_cast<double>(keys) * row_bytes * kRoomFactor + kFixedRoom;
  const std::optional<uint64_t> room = RoomIn(options_.db_dir, options_.flash);
  if (!room) return Status::IoError(fmt::format("--db={}: {}", options_.db_dir, std::strerror(errno)));
  const double free = static_cast<double>(*room) + static_cast<double>(FolderBytes(Path("base")));
  if (needed <= free) return Status::Ok();
  return Status::NoSpace(fmt::format(
      "--db={}: {} distinct keys of {:.0f} bytes need {:.0f} MiB, {} has {:.0f} MiB; use fewer keys or smaller values, "
      "or "
      "{}",
      options_.db_dir, keys, row_bytes, Mebibytes(needed), options_.flash != nullptr ? "the memory" : "the disk",
      Mebibytes(free), options_.flash != nullptr ? "--flash=disk with a folder on a disk" : "another disk"));
}

Status Database::WriteManifest(bool complete) {
  const nlohmann::json manifest = {{"program", kProgram}, {"content", content_}, {"complete", complete}};
  return WriteJson(Path(kManifest), manifest, /*indent=*/2);
}

Status Database::Load(Progress* progress, const std::atomic<bool>& stop) {
  if (!reusable_) {
    progress->Phase(fmt::format("loading {} keys into {}", workload_.distinct_keys(), Path("base")));
    MEZZ_RETURN_IF_ERROR(WriteManifest(/*complete=*/false));
    std::error_code error;
    fs::remove_all(Path("base"), error);
    rocksdb::Options options = BaseOptions();
    options.create_if_missing = true;
    options.error_if_exists = true;
    options.write_buffer_size = kLoadBufferBytes;
    fs::create_directory(Path("base"), error);
    Databases dbs;
    MEZZ_RETURN_IF_ERROR(OpenDatabases(options_, options, Path("base"), &dbs));
    MEZZ_RETURN_IF_ERROR(WriteKeys(dbs, progress, stop));
    if (stop.load(std::memory_order_relaxed)) return Status::Ok();
    for (const auto& db : dbs.all()) MEZZ_RETURN_IF_ERROR(FromRocksDb(db->Close(), "closing " + Path("base")));
    dbs.Close();
    MEZZ_RETURN_IF_ERROR(WriteManifest(/*complete=*/true));
  }
  return MeasureBase();
}

Status Database::WriteKeys(const Databases& dbs, Progress* progress, const std::atomic<bool>& stop) {
  rocksdb::WriteOptions write;
  write.disableWAL = true;
  std::string value;
  const uint64_t keys = workload_.distinct_keys();
  for (uint64_t i = 0; i < keys && !stop.load(std::memory_order_relaxed); ++i) {
    const uint64_t key = workload_.key(i);
    const DatabaseKey encoded = EncodeKey(key);
    values_.Fill(key, workload_.InitialValueBytes(key), &value);
    const rocksdb::Status put = dbs.Of(key)->Put(write, {encoded.data(), encoded.size()}, value);
    if (!put.ok()) return FromRocksDb(put, "loading " + Path("base"));
    if (i % 8192 == 0) progress->Update(i, keys);
  }
  if (stop.load(std::memory_order_relaxed)) return Status::Ok();
  for (const auto& db : dbs.all()) {
    MEZZ_RETURN_IF_ERROR(FromRocksDb(db->Flush({}), "flushing " + Path("base")));
    MEZZ_RETURN_IF_ERROR(FromRocksDb(db->CompactRange({}, nullptr, nullptr), "compacting " + Path("base")));
  }
  return Status::Ok();
}

Status Database::MeasureBase() {
  Databases dbs;
  MEZZ_RETURN_IF_ERROR(OpenDatabases(options_, BaseOptions(), Path("base"), &dbs));
  uint64_t blocks = 0;
  uint64_t bytes = 0;
  for (const auto& db : dbs.all()) {
    rocksdb::TablePropertiesCollection tables;
    MEZZ_RETURN_IF_ERROR(FromRocksDb(db->GetPropertiesOfAllTables(&tables), "reading " + Path("base")));
    for (const auto& [name, table] : tables) {
      blocks += table->num_data_blocks;
      bytes += options_.compression == "none" ? table->data_size : table->raw_key_size + table->raw_value_size;
      base_bytes_ += table->data_size;
    }
  }
  mean_block_bytes_ = blocks == 0 ? options_.block_bytes : bytes / blocks;
  return Status::Ok();
}

Status Database::PathFor(unsigned number, std::string* path) {
  *path = Path(kClonePrefix + std::to_string(number));
  std::error_code error;
  fs::create_directory(*path, error);
  Databases base;
  MEZZ_RETURN_IF_ERROR(OpenDatabases(options_, BaseOptions(), Path("base"), &base));
  for (unsigned i = 0; i < options_.dbs; ++i) {
    rocksdb::Checkpoint* made = nullptr;
    MEZZ_RETURN_IF_ERROR(
        FromRocksDb(rocksdb::Checkpoint::Create(base.all()[i].get(), &made), "cloning " + Path("base")));
    const std::unique_ptr<rocksdb::Checkpoint> checkpoint(made);
    MEZZ_RETURN_IF_ERROR(
        FromRocksDb(checkpoint->CreateCheckpoint(fmt::format("{}/{}", *path, i)), "cloning to " + *path));
  }
  return Status::Ok();
}

void Database::RemoveClones() {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(options_.db_dir, error)) {
    std::error_code ignored;
    if (entry.path().filename().string().starts_with(kClonePrefix)) fs::remove_all(entry.path(), ignored);
  }
}

}  // namespace mezz
