// SPDX-License-Identifier: Apache-2.0
#include "integration/registration.h"

#include <fmt/format.h>

#include <memory>
#include <string>
#include <utility>

#include "integration/companions/companions.h"
#include "integration/companions/wal_file_system.h"
#include "integration/hybrid_cache.h"
#include "integration/hybrid_registry.h"
#include "integration/operator_io.h"
#include "integration/option_table.h"
#include "integration/reporter.h"
#include "integration/scm_secondary_cache.h"
#include "rocksdb/utilities/object_registry.h"
#include "rocksdb/version.h"

// Cache::CreateFromString asks the registry from 9.7 on.
#if ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR >= 907
#define MEZZ_CACHE_URI 1
#include "integration/rocksdb_compat.h"
#include "rocksdb/advanced_cache.h"
#endif

namespace mezz {

namespace {

// The registry's errors are lost in stock tools: they print "OK" and a null cache. So the sentence goes to stderr too.
void Refuse(const Status& status, std::string* message) {
  *message = InKeys(status.message());
  Tell(*message);
}

using Entry = rocksdb::ObjectLibrary::PatternEntry;

// Matches SCHEME:// and whatever follows: the factory is the judge of the rest.
Entry SchemeEntry(std::string_view scheme) {
  constexpr std::string_view kSeparator = "://";
  const std::string name(scheme.substr(0, scheme.size() - kSeparator.size()));
  return Entry(name, /*optional=*/false).AddSeparator(std::string(kSeparator), /*at_least_one=*/false);
}

rocksdb::SecondaryCache* MakeSecondary(const std::string& uri, std::unique_ptr<rocksdb::SecondaryCache>* owner,
                                       std::string* message) {
  const Status status = NoThrow([&] {
    HybridCacheOptions options;
    MEZZ_RETURN_IF_ERROR(ParseScmSecondaryUri(uri, &options));
    options.scm.on_prefault = PrefaultLine();
    HearReportSignal();
    return MakeScmSecondaryCache(options, owner);
  });
  if (!status.ok()) {
    Refuse(status, message);
    return nullptr;
  }
  KeepReported(*GetHybridStats(owner->get()));
  return owner->get();
}

#ifdef MEZZ_CACHE_URI
// The registry wants a cache that one pointer owns, and hybrid caches are shared. Forwards what CacheWrapper leaves
// out, and reports when the program lets go of the cache.
class RegisteredCache final : public rocksdb::CacheWrapper {
 public:
  explicit RegisteredCache(std::shared_ptr<rocksdb::Cache> hybrid)
      : CacheWrapper(std::move(hybrid)),
        registration_(static_cast<const rocksdb::Cache*>(this), GetHybridStats(target_.get())) {
    memory_allocator_ = WrappedAllocator(target_);
  }
  ~RegisteredCache() override { ReportAtEnd(*GetHybridStats(target_.get())); }

  const char* Name() const override { return target_->Name(); }
  using CacheWrapper::Release;
  bool Release(Handle* handle, bool useful, bool erase_if_last_ref) override {
    return target_->Release(handle, useful, erase_if_last_ref);
  }
  rocksdb::Status GetSecondaryCacheCapacity(size_t& bytes) const override {
    return target_->GetSecondaryCacheCapacity(bytes);
  }
  rocksdb::Status GetSecondaryCachePinnedUsage(size_t& bytes) const override {
    return target_->GetSecondaryCachePinnedUsage(bytes);
  }
  void DisownData() override { target_->DisownData(); }
  std::string GetPrintableOptions() const override { return target_->GetPrintableOptions(); }

 private:
  const HybridRegistration registration_;  // the databases that have it are opened as plugin_open.cc says
};

// In table options RocksDB takes what is no `id=` for options of the cache that is there; so a URI is one in braces, as
// block_cache={id={mezzanine://...}}, and comes with them.
std::string_view WithoutBraces(std::string_view uri) {
  return uri.starts_with('{') && uri.ends_with('}') ? uri.substr(1, uri.size() - 2) : uri;
}

rocksdb::Cache* MakeHybrid(const std::string& given, std::unique_ptr<rocksdb::Cache>* owner, std::string* message) {
  std::shared_ptr<rocksdb::Cache> hybrid;
  const Status status = NoThrow([&] {
    HybridCacheOptions options;
    MEZZ_RETURN_IF_ERROR(ParseHybridUri(WithoutBraces(given), &options));
    options.scm.on_prefault = PrefaultLine();
    HearReportSignal();
    return NewHybridCache(options, &hybrid);
  });
  if (!status.ok()) {
    Refuse(status, message);
    return nullptr;
  }
  KeepReported(*GetHybridStats(hybrid.get()));
  *owner = std::make_unique<RegisteredCache>(std::move(hybrid));
  return owner->get();
}
#endif

rocksdb::EventListener* MakeCompanions(const std::string&, std::unique_ptr<rocksdb::EventListener>* owner,
                                       std::string*) {
  *owner = NewUnconfiguredCompanions();
  return owner->get();
}

}  // namespace

int RegisterWith(rocksdb::ObjectLibrary* library) {
  library->AddFactory<rocksdb::SecondaryCache>(SchemeEntry(kScmSecondaryScheme), MakeSecondary);
  if (kDatabaseTellsItsEnd) library->AddFactory<rocksdb::EventListener>(Companions::kName, MakeCompanions);
  RegisterWalFileSystem(library);
#ifdef MEZZ_CACHE_URI
  library->AddFactory<rocksdb::Cache>(SchemeEntry(kHybridScheme), MakeHybrid);
  library->AddFactory<rocksdb::Cache>(SchemeEntry(fmt::format("{{{}", kHybridScheme)), MakeHybrid);
#endif
  size_t types = 0;
  return static_cast<int>(library->GetFactoryCount(&types));
}

}  // namespace mezz
