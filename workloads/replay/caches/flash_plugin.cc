// SPDX-License-Identifier: Apache-2.0
// libmezzanine_flash.so: a modelled device under an unmodified program that makes its FileSystem from a URI.
//
//   LD_PRELOAD=libmezzanine_flash.so db_bench --fs_uri=mezzanine_flash://xpoint_ssd --db=/dev/shm/db ...
//
// It says on stderr that the device is emulated. A folder that is not in memory is refused when a database is made.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "rocksdb/file_system.h"
#include "rocksdb/utilities/object_registry.h"
#include "workloads/replay/caches/flash_file_system.h"
#include "workloads/replay/engine/flash.h"

namespace mezz {
namespace {

constexpr std::string_view kScheme = "mezzanine_flash";

// Owns its device.
class RegisteredFlash final : public rocksdb::FileSystemWrapper {
 public:
  explicit RegisteredFlash(std::unique_ptr<Flash> flash)
      : FileSystemWrapper(NewFlashFileSystem(flash.get())), flash_(std::move(flash)) {}

  const char* Name() const override { return "mezz.RegisteredFlash"; }
  rocksdb::IOStatus CreateDirIfMissing(const std::string& folder, const rocksdb::IOOptions& options,
                                       rocksdb::IODebugContext* dbg) override {
    if (const Status status = CheckInMemory(folder, flash_->model()); !status.ok()) {
      return rocksdb::IOStatus::InvalidArgument(status.message());
    }
    return target()->CreateDirIfMissing(folder, options, dbg);
  }

 private:
  const std::unique_ptr<Flash> flash_;
};

rocksdb::FileSystem* Make(const std::string& uri, std::unique_ptr<rocksdb::FileSystem>* owner, std::string* message) {
  const FlashModel* model = nullptr;
  const std::string name = uri.substr(kScheme.size() + 3);
  Status status = ParseFlash(name, &model);
  if (status.ok() && model == nullptr) status = Status::InvalidArgument("mezzanine_flash://disk is no model");
  const std::string sentence = status.ok() ? Describe(*model) : status.message();
  std::fputs(fmt::format("mezzanine: {}\n", sentence).c_str(), stderr);
  if (!status.ok()) {
    *message = sentence;
    return nullptr;
  }
  *owner = std::make_unique<RegisteredFlash>(std::make_unique<Flash>(*model, /*seed=*/1));
  return owner->get();
}

__attribute__((constructor)) void Register() {
  using Entry = rocksdb::ObjectLibrary::PatternEntry;
  rocksdb::ObjectLibrary::Default()->AddFactory<rocksdb::FileSystem>(
      Entry(std::string(kScheme), /*optional=*/false).AddSeparator("://", /*at_least_one=*/false), Make);
}

}  // namespace
}  // namespace mezz
