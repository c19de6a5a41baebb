// SPDX-License-Identifier: Apache-2.0
#include "integration/companions/companions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>

#include "cache/base/if_memory.h"
#include "cache/base/start_thread.h"
#include "cache/base/steady_clock.h"
#include "integration/companions/database_companions.h"
#include "integration/tell.h"
#include "rocksdb/db.h"
#include "rocksdb/statistics.h"
#include "rocksdb/utilities/options_type.h"

namespace mezz {
namespace {

template <typename Listener>
concept TellsItsEnd = requires(Listener listener) {
  listener.OnDBShutdownBegin(nullptr);
};

// How often Level 0's cut, and the flow of data, are judged where nothing is flushed.
constexpr std::chrono::seconds kInterval{1};

// Which options of which open database companions of this process set: two listeners know nothing of each other.
class ProcessClaims {
 public:
  static ProcessClaims& Get() {
    static auto* const claims = new ProcessClaims;  // never destroyed: databases may outlive our statics
    return *claims;
  }
  Status Take(const std::string& session, const std::vector<OptionClaim>& claims) {
    const std::lock_guard lock(mutex_);
    auto& held = held_[session];
    MEZZ_RETURN_IF_ERROR(CheckClaims(held, claims));
    held.insert(held.end(), claims.begin(), claims.end());
    return Status::Ok();
  }
  void Give(const std::string& session, const std::vector<OptionClaim>& claims) {
    const std::lock_guard lock(mutex_);
    auto& held = held_[session];
    for (const OptionClaim& claim : claims) {
      std::erase_if(held, [&](const OptionClaim& one) { return one.option == claim.option; });
    }
    if (held.empty()) held_.erase(session);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::vector<OptionClaim>> held_;
};

// A database's state, under the listener's mutex; what it holds is the worker's alone while `busy`.
//
//   (new) --first event--> due --worker--> busy --> idle --event--> due ...
//   any but busy --its end--> ended: never touched again, whatever still reports of it
struct Watched {
  rocksdb::DB* db = nullptr;
  bool due = false;
  bool busy = false;
  bool ended = false;
  bool refused = false;
  FamilyReports families;
  FlushReports flushes;
  std::unique_ptr<DatabaseCompanions> companions;  // made by the worker at the first look
};

// Sets no option in a callback: RocksDB before 11 waits there for writers, who may wait for the very flush that calls.
class CompanionsListener final : public Companions {
 public:
  CompanionsListener() {
    using rocksdb::ConfigOptions;
    static const std::unordered_map<std::string, rocksdb::OptionTypeInfo> info = {
        {"with",
         {0, rocksdb::OptionType::kString, rocksdb::OptionVerificationType::kNormal, rocksdb::OptionTypeFlags::kNone,
          [](const ConfigOptions&, const std::string&, const std::string& text, void* listener) {
            return static_cast<CompanionsListener*>(listener)->Configure(text);
          },
          [](const ConfigOptions&, const std::string&, const void* listener, std::string* text) {
            *text = static_cast<const CompanionsListener*>(listener)->options_.ToText();
            std::ranges::replace(*text, ';', ',');  // which OPTIONS files cannot nest
            return rocksdb::Status::OK();
          },
          [](const ConfigOptions&, const std::string&, const void* one, const void* other, std::string*) {
            return static_cast<const CompanionsListener*>(one)->options_.ToText() ==
                   static_cast<const CompanionsListener*>(other)->options_.ToText();
          }}}};
    RegisterOptions("MezzanineCompanions", this, &info);
  }
  explicit CompanionsListener(const CompanionOptions& options) : CompanionsListener() {
    options_ = options;
    configured_ = true;
  }
  ~CompanionsListener() override {
    {
      const std::lock_guard lock(mutex_);
      for (auto& [session, watched] : watched_) watched.ended = true;  // or closed without StopCompanions: gone
    }
    Stop();
  }

  const char* Name() const override { return kName; }

  void OnFlushBegin(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) override {
    if (options_.adoc) IfThereIsMemory([&] { NoteFlushBegin(db, info); });
  }
  void OnFlushCompleted(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) override {
    IfThereIsMemory([&] { Report(db, info.cf_name, options_.adoc ? FlushOf(db, info) : FlushReports()); });
  }
  void OnCompactionCompleted(rocksdb::DB* db, const rocksdb::CompactionJobInfo& info) override {
    IfThereIsMemory([&] { Report(db, info.cf_name); });
  }
  // Does not say of which database.
  void OnStallConditionsChanged(const rocksdb::WriteStallInfo& info) override {
    const std::lock_guard lock(mutex_);
    for (auto& entry : watched_) {
      Watched& watched = entry.second;
      if (watched.ended || watched.refused) continue;
      watched.due = true;
      IfThereIsMemory(
          [&] { watched.families[info.cf_name] = info.condition.cur != rocksdb::WriteStallCondition::kNormal; });
    }
    work_.notify_one();
  }
  // RocksDB before 11 has none to override.
  void OnDBShutdownBegin(rocksdb::DB* db) {  // NOLINT(modernize-use-override)
    IfThereIsMemory([&] {
      std::string session;
      if (db->GetDbSessionId(session).ok()) End(session);
    });
  }

  CompanionStats Stats() const override {
    const std::lock_guard lock(mutex_);
    CompanionStats stats = stats_;
    for (const auto& [session, watched] : watched_) stats.databases += watched.companions != nullptr && !watched.ended;
    return stats;
  }
  const CompanionOptions& options() const override { return options_; }

  void Stop() override {
    std::thread worker;
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      worker = std::move(worker_);
    }
    work_.notify_all();
    if (worker.joinable()) worker.join();
  }

  void DrainForTest() override {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] {
      return stopping_ ||
             std::ranges::none_of(watched_, [](const auto& one) { return one.second.due || one.second.busy; });
    });
  }

 private:
  // By a registry, before the listener is given to anyone.
  rocksdb::Status Configure(std::string_view text) {
    const Status status = kDatabaseTellsItsEnd ? ParseCompanions(text, &options_)
                                               : Status::NotSupported(
                                                     "companions from an OPTIONS string need RocksDB 11: this one does "
                                                     "not tell of a database's end; use AddCompanions");
    if (!status.ok()) {
      Tell(status.message());  // what reads OPTIONS files may drop the sentence
      return rocksdb::Status::InvalidArgument(status.message());
    }
    configured_ = true;
    return rocksdb::Status::OK();
  }

  uint64_t NowNs() const { return options_.now_ns ? options_.now_ns() : SteadyNs(); }

  // RocksDB does not say how long a flush took.
  void NoteFlushBegin(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) {
    constexpr size_t kBeginsMax = 64;  // flushes that failed leave theirs
    std::string session;
    if (info.cf_name != rocksdb::kDefaultColumnFamilyName || !db->GetDbSessionId(session).ok()) return;
    const uint64_t now = NowNs();
    const std::lock_guard lock(mutex_);
    if (flush_begins_.size() == kBeginsMax) flush_begins_.clear();
    flush_begins_[{session, info.job_id}] = now;
  }
  FlushReports FlushOf(rocksdb::DB* db, const rocksdb::FlushJobInfo& info) {
    std::string session;
    if (!db->GetDbSessionId(session).ok()) return {};
    const uint64_t now = NowNs();
    const std::lock_guard lock(mutex_);
    const auto begin = flush_begins_.extract({session, info.job_id});
    if (begin.empty() || now <= begin.mapped()) return {};
    const rocksdb::TableProperties& table = info.table_properties;
    const auto bytes = static_cast<double>(table.data_size + table.index_size + table.filter_size);
    return {.flushes = 1, .speed_sum = bytes * 1e9 / static_cast<double>(now - begin.mapped())};
  }

  void Report(rocksdb::DB* db, const std::string& family, const FlushReports& flushes = {}) {
    std::string session;
    if (!configured_ || !db->GetDbSessionId(session).ok()) return;
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    Watched& watched = watched_[session];
    if (watched.ended || watched.refused) return;
    if (watched.db == nullptr) watched.db = db;  // the same ever after, and the worker reads it without the mutex
    watched.families.try_emplace(family, false);
    watched.flushes.flushes += flushes.flushes;
    watched.flushes.speed_sum += flushes.speed_sum;
    if (!worker_.joinable()) worker_ = StartThread("mezz-companion", [this] { Work(); });
    watched.due = worker_.joinable();  // or the next report starts it
    stats_.failed += !watched.due;
    work_.notify_one();
  }

  // Afterwards nothing touches the database.
  void End(const std::string& session) {
    std::unique_lock lock(mutex_);
    Watched& watched = watched_[session];
    watched.ended = true;  // stays, against callbacks that are still on their way
    watched.due = false;
    idle_.wait(lock, [&] { return !watched.busy; });
    const auto companions = std::exchange(watched.companions, nullptr);
    lock.unlock();
    if (companions != nullptr) SetBack(session, companions.get());
  }

  void SetBack(const std::string& session, DatabaseCompanions* companions) {
    IfThereIsMemory([&] { companions->SetBack(); });
    IfThereIsMemory([&] { ProcessClaims::Get().Give(session, ClaimsOf(options_)); });
  }

  void Work() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      const auto ready = [&] {
        return stopping_ || std::ranges::any_of(watched_, [](const auto& one) { return one.second.due; });
      };
      if (!work_.wait_for(lock, kInterval, ready) && (options_.dynamic_level0 || options_.adoc)) {
        for (auto& [session, watched] : watched_) watched.due = watched.companions != nullptr && !watched.ended;
      }
      for (auto& [session, watched] : watched_) {
        if (!stopping_ && watched.due) LookLocked(&lock, session, &watched);
      }
    }
    for (auto& [session, watched] : watched_) {
      if (watched.companions == nullptr || watched.ended) continue;
      watched.ended = watched.busy = true;
      lock.unlock();
      SetBack(session, watched.companions.get());
      lock.lock();
      watched.busy = false;
      watched.companions.reset();
    }
    idle_.notify_all();
  }

  // Leaves the mutex while it is at the database: its elements stay where they are.
  void LookLocked(std::unique_lock<std::mutex>* lock, const std::string& session, Watched* watched) {
    assert(!watched->busy && !watched->ended);
    watched->due = false;
    watched->busy = true;
    FamilyReports families;
    const bool copied = IfThereIsMemory([&] { families = watched->families; });
    const FlushReports flushes = std::exchange(watched->flushes, {});
    lock->unlock();
    Status status;
    DatabaseCompanions::Look look;
    const bool looked = copied && IfThereIsMemory([&] {
                          if (watched->companions == nullptr) status = MakeFor(session, watched);
                          if (!status.ok()) return;
                          look = watched->companions->LookAndAct(NowNs(), families, flushes);
                        });
    lock->lock();
    watched->busy = false;
    if (!looked) {
      ++stats_.failed;
    } else if (!status.ok()) {
      watched->refused = true;
      ++stats_.refused;
    } else {
      ++stats_.looks;
      stats_.rates_set += look.rate_set;
      stats_.shapes_set += look.shape_set;
      stats_.flows_set += look.flow_set;
      stats_.failed += static_cast<uint64_t>(look.failed);
      stats_.stage = watched->companions->stage();
      stats_.cut = watched->companions->cut();
    }
    idle_.notify_all();
  }

  Status MakeFor(const std::string& session, Watched* watched) {
    Status status = ProcessClaims::Get().Take(session, ClaimsOf(options_));
    if (status.ok()) {
      status = DatabaseCompanions::Make(options_, watched->db, &watched->companions);
      if (!status.ok()) ProcessClaims::Get().Give(session, ClaimsOf(options_));
    }
    if (!status.ok()) Tell(fmt::format("{} stays as it is: {}", watched->db->GetName(), status.message()));
    return status;
  }

  CompanionOptions options_;  // fixed once configured_
  bool configured_ = false;

  mutable std::mutex mutex_;  // guards what follows; held for no call into a database
  std::condition_variable work_, idle_;
  std::map<std::string, Watched> watched_;                        // by session
  std::map<std::pair<std::string, int>, uint64_t> flush_begins_;  // by session and job: when, in nanoseconds
  CompanionStats stats_;
  std::thread worker_;
  bool stopping_ = false;
};

std::vector<OptionClaim> ClaimsOf(const rocksdb::DBOptions& options) {
  std::vector<OptionClaim> claims;
  for (const auto& listener : options.listeners) {
    if (std::strcmp(listener->Name(), Companions::kName) != 0) continue;
    const auto more = ClaimsOf(static_cast<Companions&>(*listener).options());
    claims.insert(claims.end(), more.begin(), more.end());
  }
  return claims;
}

}  // namespace

const bool kDatabaseTellsItsEnd = TellsItsEnd<rocksdb::EventListener>;

Status AddCompanions(const CompanionOptions& companions, rocksdb::Options* options) {
  MEZZ_RETURN_IF_ERROR(companions.Validate());
  MEZZ_RETURN_IF_ERROR(CheckClaims(ClaimsOf(*options), ClaimsOf(companions)));
  auto statistics = options->statistics;
  if (companions.dynamic_level0 && statistics == nullptr) statistics = rocksdb::CreateDBStatistics();
  rocksdb::DBOptions with = *options;
  with.statistics = statistics;
  MEZZ_RETURN_IF_ERROR(CheckDatabase(companions, with, *options));
  options->listeners.push_back(std::make_shared<CompanionsListener>(companions));
  options->statistics = std::move(statistics);
  return Status::Ok();
}

Status AddCompanions(std::string_view text, rocksdb::Options* options) {
  CompanionOptions companions;
  MEZZ_RETURN_IF_ERROR(ParseCompanions(text, &companions));
  return AddCompanions(companions, options);
}

Companions* GetCompanions(const rocksdb::DBOptions& options) {
  for (const auto& listener : options.listeners) {
    if (std::strcmp(listener->Name(), Companions::kName) == 0) return static_cast<Companions*>(listener.get());
  }
  return nullptr;
}

void StopCompanions(const rocksdb::DBOptions& options) {
  for (const auto& listener : options.listeners) {
    if (std::strcmp(listener->Name(), Companions::kName) == 0) static_cast<Companions&>(*listener).Stop();
  }
}

std::unique_ptr<Companions> NewUnconfiguredCompanions() { return std::make_unique<CompanionsListener>(); }

}  // namespace mezz
