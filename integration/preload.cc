// SPDX-License-Identifier: Apache-2.0
// libmezzanine_preload.so: puts the hybrid cache under a program that has no flag for it.
//
//   LD_PRELOAD=libmezzanine_preload.so MEZZANINE_CACHE='mezzanine://scm=1G@/mnt/pmem0/mezz' program ...
//
// It interposes the functions that make RocksDB's caches, and those that open its databases with them (open_hooks.h);
// what is made instead, and what is added to the databases' options, lies in libmezzanine_preloaded.so beside it. The
// makers of all releases are interposed: a release that is not ours is to be told. MEZZANINE_CACHE unset: nothing
// changes.
//
// This library is loaded into every process that inherits the preload, so it brings no RocksDB along: a shared object
// that the program opens with a RocksDB of its own would be bound to ours, function by function where names agree. Each
// call is passed to the RocksDB that it was meant for. The other library is opened when the first such RocksDB is a
// librocksdb.so, or a librocksdbjni.so, of the release it was built for, and used only if it is bound to that very
// object.
//
// Programs that never make a cache (env, timeout, a shell) are not judged. A URI, a RocksDB or a medium that is no good
// is told on stderr, and the program goes on with its own cache; with MEZZANINE_STRICT=1 it ends with status 2.
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "integration/preload_module.h"
#include "integration/rocksdb_release.h"
#include "integration/tell.h"
#include "rocksdb/cache.h"
#include "rocksdb/version.h"

namespace mezz {

namespace {

using CachePtr = std::shared_ptr<rocksdb::Cache>;

constexpr int kStrictStatus = 2;
constexpr char kVersionFunction[] = "_ZN7rocksdb23GetRocksVersionAsStringB5cxx11Eb";
// The same where C++'s strings are those of before GCC 5.
constexpr char kOldVersionFunction[] = "_ZN7rocksdb23GetRocksVersionAsStringEb";

// Ends the program if it asked for that; else the sentence has been said and it goes on.
void Fail(const std::string& sentence) {
  const char* const strict = std::getenv("MEZZANINE_STRICT");
  const bool end = strict != nullptr && std::strcmp(strict, "1") == 0;
  Tell(fmt::format("MEZZANINE_CACHE: {}; {}", sentence,
                   end ? "the program ends, as MEZZANINE_STRICT=1 asks" : "the program goes on with its own cache"));
  if (end) _exit(kStrictStatus);  // not exit(): other threads may be inside RocksDB
}

// A loaded object (the program or a library), by an address inside of it.
struct Object {
  explicit Object(const void* address) {
    Dl_info info{};
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return;
    base = info.dli_fbase;
    path = info.dli_fname;
  }
  std::string_view file() const { return std::string_view(path).substr(path.rfind('/') + 1); }
  // As the object itself, opened alone, would find the name: in itself, then in what it needs.
  void* Find(const char* name) const {
    void* const handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return nullptr;
    void* const found = dlsym(handle, name);
    dlclose(handle);
    return found;
  }

  const void* base = nullptr;
  std::string path;
};

// The function that `caller` would have reached without us: among all that the program was started with, else in the
// object it was opened in. Null, and told, where there is none: the caller then gets no cache, as from a maker whose
// options are no good.
void* Real(const char* mangled, const void* caller) {
  if (void* const next = dlsym(RTLD_NEXT, mangled)) return next;
  if (void* const own = Object(caller).Find(mangled)) return own;
  Tell(fmt::format("{}: not found in this program's RocksDB", mangled));
  return nullptr;
}

// With our module for it; before 8.9 there is none.
bool IsRocksJava(const Object& object) { return ROCKSDB_MAJOR >= 8 && object.file().starts_with("librocksdbjni"); }

// Empty: the module may work with the RocksDB in `object`. Else why not.
std::string WhyNot(const Object& object) {
  if (!object.file().starts_with("librocksdb.so") && !IsRocksJava(object)) {
    return fmt::format("this program's RocksDB is a part of {}, not a librocksdb.so: it is left alone", object.path);
  }
  constexpr std::string_view kBuilt = kRocksDbRelease;
  void* const version = object.Find(kVersionFunction);
  if (version == nullptr && object.Find(kOldVersionFunction) != nullptr) {
    return fmt::format(
        "this library was built for RocksDB {} and {} has the C++ strings of before GCC 5, as rocksdbjni has before "
        "11.0: it stays out",
        kBuilt, object.path);
  }
  if (version == nullptr || Object(version).base != object.base) {
    return fmt::format("{} does not tell its release: it is left alone", object.path);
  }
  const std::string loaded = reinterpret_cast<std::string (*)(bool)>(version)(/*with_patch=*/true);
  if (kBuilt == loaded) return "";
  return fmt::format("this library was built for RocksDB {} and {} is {}: it stays out, build it for {}", kBuilt,
                     object.path, loaded, loaded);
}

template <typename Function>
bool Bind(void* handle, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
  return *function != nullptr;
}

// The library at `path` with `rocksdb` in the place that it was linked with for one (integration/jvm/CMakeLists.txt).
// Empty: it cannot be read, or has no place for that.
std::string BoundTo(const std::string& path, const std::string& rocksdb) {
  std::ifstream file(path, std::ios::binary);
  std::string library{std::istreambuf_iterator<char>(file), {}};
  const size_t place = library.find(std::string(PreloadModule::kPlaceBytes, '@'));
  if (place == std::string::npos || rocksdb.size() > PreloadModule::kPlaceBytes) return "";
  std::string name = rocksdb;
  name.resize(PreloadModule::kPlaceBytes);
  return library.replace(place, name.size(), name);
}

bool WriteAll(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

// Null: *why says why.
void* OpenLibrary(const std::string& path, std::string* why) {
  void* const handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) *why = dlerror();
  return handle;
}

// The module at `path` for a RocksDB that the program opened for itself: only this module is to see its functions.
// Opened from memory.
void* OpenBound(const std::string& path, const Object& rocksdb, std::string* why) {
  const std::string library = BoundTo(path, rocksdb.path);
  if (library.empty()) {
    *why = fmt::format("it cannot be read, or {} is too long a path", rocksdb.path);
    return nullptr;
  }
  const int memory = memfd_create(PreloadModule::kFileOfRocksJava, MFD_CLOEXEC);
  if (memory < 0 || !WriteAll(memory, library)) {
    *why = fmt::format("a file in memory: {}", std::strerror(errno));
    if (memory >= 0) close(memory);
    return nullptr;
  }
  void* const handle = OpenLibrary(fmt::format("/proc/self/fd/{}", memory), why);
  close(memory);
  return handle;
}

// The module, opened beside this library and never closed: caches of its making live on. Null, and told, if it does not
// work with `rocksdb`.
const PreloadModule* Open(const Object& rocksdb) {
  const Object self(reinterpret_cast<const void*>(&Open));
  const bool rocks_java = IsRocksJava(rocksdb);
  const std::string path = self.path.substr(0, self.path.size() - self.file().size()) +
                           (rocks_java ? PreloadModule::kFileOfRocksJava : PreloadModule::kFile);
  std::string why = "it is of another build than this library";
  void* const handle = rocks_java ? OpenBound(path, rocksdb, &why) : OpenLibrary(path, &why);
  auto module = std::make_unique<PreloadModule>();
  if (handle == nullptr || !Bind(handle, PreloadModule::kRocksDB, &module->rocksdb) ||
      !Bind(handle, PreloadModule::kMakeLru, &module->make_lru) ||
      !Bind(handle, PreloadModule::kMakeHyperClock, &module->make_hyper_clock) ||
      !Bind(handle, PreloadModule::kRaiseWarming, &module->raise_warming) ||
      !Bind(handle, PreloadModule::kWithListeners, &module->with_listeners)) {
    Fail(fmt::format("{} cannot be used: {}", path, why));
    return nullptr;
  }
  if (const Object bound(module->rocksdb()); bound.base != rocksdb.base) {
    Fail(fmt::format("this process has two RocksDBs, {} and {}, which must not be mixed", rocksdb.path, bound.path));
    return nullptr;
  }
  return module.release();
}

// The module for the RocksDB that `real` belongs to, if there is to be one. Each RocksDB of the process is judged once.
const PreloadModule* ModuleFor(const void* real) {
  const char* const uri = std::getenv("MEZZANINE_CACHE");
  if (uri == nullptr || *uri == '\0') return nullptr;
  struct Verdict {
    const void* base;
    const PreloadModule* module;
  };
  static std::mutex mutex;
  static auto* const verdicts = new std::vector<Verdict>;  // never destroyed: static objects may make caches
  const Object rocksdb(real);
  const std::lock_guard lock(mutex);
  for (const Verdict& verdict : *verdicts) {
    if (verdict.base == rocksdb.base) return verdict.module;
  }
  const PreloadModule* module = nullptr;
  if (const std::string why_not = WhyNot(rocksdb); !why_not.empty()) {
    Fail(why_not);
  } else {
    module = Open(rocksdb);
  }
  verdicts->push_back({rocksdb.base, module});
  return module;
}

// Set while the module makes a cache: what it makes is not to be wrapped again.
thread_local bool making = false;

class MakingScope {
 public:
  MakingScope() { making = true; }
  ~MakingScope() { making = false; }
};

template <typename Options>
using Maker = CachePtr (*)(const Options*);  // a member function's `this` is its first argument, as a reference is

template <typename Options, typename Make>
CachePtr MakeInstead(const char* mangled, const Options* options, const void* caller, Make PreloadModule::*make) {
  const auto real = reinterpret_cast<Maker<Options>>(Real(mangled, caller));
  if (real == nullptr) return nullptr;
  const PreloadModule* const module = making ? nullptr : ModuleFor(reinterpret_cast<const void*>(real));
  if (module == nullptr) return real(options);
  const MakingScope scope;
  CachePtr made;
  (module->*make)({*options, real, &Fail}, &made);
  return made;
}

using LruOfArguments = CachePtr(size_t capacity, int num_shard_bits, bool strict_capacity_limit,
                                double high_pri_pool_ratio, std::shared_ptr<rocksdb::MemoryAllocator> memory_allocator,
                                bool use_adaptive_mutex, rocksdb::CacheMetadataChargePolicy metadata_charge_policy,
                                double low_pri_pool_ratio);

// A maker that our release does not export; its RocksDB has been judged. Later headers have such makers inline, so that
// one may lie in whatever was compiled with them: what counts is the RocksDB that this calls.
template <typename Function>
Function* Others(const char* mangled, const void* caller) {
  void* const real = Real(mangled, caller);
  if (real == nullptr) return nullptr;
  void* const version = Object(real).Find(kVersionFunction);
  ModuleFor(version == nullptr ? real : version);
  return reinterpret_cast<Function*>(real);
}

// The options that the database is to be opened with; null: the program's. `real` opens it.
template <typename Function>
std::unique_ptr<rocksdb::DBOptions> With(Function* real, const rocksdb::DBOptions& options, const std::string& name,
                                         const Families& families) {
  std::unique_ptr<rocksdb::DBOptions> with;
  const PreloadModule* const module = ModuleFor(reinterpret_cast<const void*>(real));
  if (module != nullptr) module->with_listeners(options, name, families, &with);
  return with;
}

}  // namespace

rocksdb::Status HidesValidateFamily(const rocksdb::DBOptions& options, const rocksdb::ColumnFamilyOptions& family)
    MEZZ_HIDES(MEZZ_VALIDATE_FAMILY);
rocksdb::Status HidesValidateFamily(const rocksdb::DBOptions& options, const rocksdb::ColumnFamilyOptions& family) {
  auto* const real = reinterpret_cast<ValidateFamily*>(Real(MEZZ_VALIDATE_FAMILY, __builtin_return_address(0)));
  if (real == nullptr) return rocksdb::Status::OK();
  const PreloadModule* const module = ModuleFor(reinterpret_cast<const void*>(real));
  if (module != nullptr) module->raise_warming(family, options);
  return real(options, family);
}

rocksdb::Status HidesOpenDatabase(const rocksdb::DBOptions& options, const std::string& name, const Families& families,
                                  FamilyHandles* handles, void* db) MEZZ_HIDES(MEZZ_OPEN_DATABASE);
rocksdb::Status HidesOpenDatabase(const rocksdb::DBOptions& options, const std::string& name, const Families& families,
                                  FamilyHandles* handles, void* db) {
  auto* const real = reinterpret_cast<OpenDatabase*>(Real(MEZZ_OPEN_DATABASE, __builtin_return_address(0)));
  if (real == nullptr) return rocksdb::Status::NotSupported();
  const auto with = With(real, options, name, families);
  return real(with == nullptr ? options : *with, name, families, handles, db);
}

rocksdb::Status HidesOpenTransactions(const rocksdb::DBOptions& options,
                                      const rocksdb::TransactionDBOptions& transactions, const std::string& name,
                                      const Families& families, FamilyHandles* handles, void* db)
    MEZZ_HIDES(MEZZ_OPEN_TRANSACTIONS);
rocksdb::Status HidesOpenTransactions(const rocksdb::DBOptions& options,
                                      const rocksdb::TransactionDBOptions& transactions, const std::string& name,
                                      const Families& families, FamilyHandles* handles, void* db) {
  auto* const real = reinterpret_cast<OpenTransactions*>(Real(MEZZ_OPEN_TRANSACTIONS, __builtin_return_address(0)));
  if (real == nullptr) return rocksdb::Status::NotSupported();
  const auto with = With(real, options, name, families);
  return real(with == nullptr ? options : *with, transactions, name, families, handles, db);
}

}  // namespace mezz

#define MEZZ_INTERPOSE __attribute__((visibility("default")))
#define MEZZ_LRU_OF_OPTIONS "_ZN7rocksdb11NewLRUCacheERKNS_15LRUCacheOptionsE"
#define MEZZ_LRU_OF_ARGUMENTS \
  "_ZN7rocksdb11NewLRUCacheEmibdSt10shared_ptrINS_15MemoryAllocatorEEbNS_25CacheMetadataChargePolicyEd"
#define MEZZ_LRU_OF_MEMBER "_ZNK7rocksdb15LRUCacheOptions15MakeSharedCacheEv"
#define MEZZ_HYPER_CLOCK "_ZNK7rocksdb22HyperClockCacheOptions15MakeSharedCacheEv"

namespace ROCKSDB_NAMESPACE {

// Of every release that we build for.
MEZZ_INTERPOSE std::shared_ptr<Cache> HyperClockCacheOptions::MakeSharedCache() const {
  return mezz::MakeInstead(MEZZ_HYPER_CLOCK, this, __builtin_return_address(0), &mezz::PreloadModule::make_hyper_clock);
}

#if ROCKSDB_MAJOR < 8

MEZZ_INTERPOSE std::shared_ptr<Cache> NewLRUCache(const LRUCacheOptions& options) {
  return mezz::MakeInstead(MEZZ_LRU_OF_OPTIONS, &options, __builtin_return_address(0), &mezz::PreloadModule::make_lru);
}

// The options are ours, so only a RocksDB of our release may see them: others get the arguments.
MEZZ_INTERPOSE std::shared_ptr<Cache> NewLRUCache(size_t capacity, int num_shard_bits, bool strict_capacity_limit,
                                                  double high_pri_pool_ratio,
                                                  std::shared_ptr<MemoryAllocator> memory_allocator,
                                                  bool use_adaptive_mutex,
                                                  CacheMetadataChargePolicy metadata_charge_policy,
                                                  double low_pri_pool_ratio) {
  const void* const caller = __builtin_return_address(0);
  const auto real = reinterpret_cast<mezz::LruOfArguments*>(mezz::Real(MEZZ_LRU_OF_ARGUMENTS, caller));
  if (real == nullptr) return nullptr;
  if (mezz::making || mezz::ModuleFor(reinterpret_cast<const void*>(real)) == nullptr) {
    return real(capacity, num_shard_bits, strict_capacity_limit, high_pri_pool_ratio, std::move(memory_allocator),
                use_adaptive_mutex, metadata_charge_policy, low_pri_pool_ratio);
  }
  const LRUCacheOptions options(capacity, num_shard_bits, strict_capacity_limit, high_pri_pool_ratio,
                                std::move(memory_allocator), use_adaptive_mutex, metadata_charge_policy,
                                low_pri_pool_ratio);
  return mezz::MakeInstead(MEZZ_LRU_OF_OPTIONS, &options, caller, &mezz::PreloadModule::make_lru);
}

#else

MEZZ_INTERPOSE std::shared_ptr<Cache> LRUCacheOptions::MakeSharedCache() const {
  return mezz::MakeInstead(MEZZ_LRU_OF_MEMBER, this, __builtin_return_address(0), &mezz::PreloadModule::make_lru);
}

#endif

}  // namespace ROCKSDB_NAMESPACE

// Makers that our release does not export, so the RocksDB of whoever calls them is another one: it is told, and called.
namespace mezz {

#if ROCKSDB_MAJOR < 8

CachePtr HidesLruOfMember(const void* options) MEZZ_HIDES(MEZZ_LRU_OF_MEMBER);
CachePtr HidesLruOfMember(const void* options) {
  auto* const real = Others<CachePtr(const void*)>(MEZZ_LRU_OF_MEMBER, __builtin_return_address(0));
  return real == nullptr ? nullptr : real(options);
}

#else

CachePtr HidesLruOfOptions(const void* options) MEZZ_HIDES(MEZZ_LRU_OF_OPTIONS);
CachePtr HidesLruOfOptions(const void* options) {
  auto* const real = Others<CachePtr(const void*)>(MEZZ_LRU_OF_OPTIONS, __builtin_return_address(0));
  return real == nullptr ? nullptr : real(options);
}

CachePtr HidesLruOfArguments(size_t capacity, int num_shard_bits, bool strict_capacity_limit,
                             double high_pri_pool_ratio, std::shared_ptr<rocksdb::MemoryAllocator> memory_allocator,
                             bool use_adaptive_mutex, rocksdb::CacheMetadataChargePolicy metadata_charge_policy,
                             double low_pri_pool_ratio) MEZZ_HIDES(MEZZ_LRU_OF_ARGUMENTS);
CachePtr HidesLruOfArguments(size_t capacity, int num_shard_bits, bool strict_capacity_limit,
                             double high_pri_pool_ratio, std::shared_ptr<rocksdb::MemoryAllocator> memory_allocator,
                             bool use_adaptive_mutex, rocksdb::CacheMetadataChargePolicy metadata_charge_policy,
                             double low_pri_pool_ratio) {
  auto* const real = Others<LruOfArguments>(MEZZ_LRU_OF_ARGUMENTS, __builtin_return_address(0));
  if (real == nullptr) return nullptr;
  return real(capacity, num_shard_bits, strict_capacity_limit, high_pri_pool_ratio, std::move(memory_allocator),
              use_adaptive_mutex, metadata_charge_policy, low_pri_pool_ratio);
}

#endif

}  // namespace mezz
