// SPDX-License-Identifier: Apache-2.0
#include "cache/wal/open_wal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "cache/base/if_memory.h"
#include "cache/base/text.h"
#include "cache/layout.h"
#include "cache/media/file_checks.h"
#include "cache/media/open.h"
#include "cache/wal/wal_checksums.h"
#include "cache/wal/wal_layout.h"

namespace mezz {
namespace {

using wal_layout::kByteOrderMark;
using wal_layout::kFormatVersion;
using wal_layout::kMagic;
using wal_layout::MakeSuperblock;
using wal_layout::Superblock;
using wal_layout::SuperblockChecksum;

constexpr uint64_t kExtentBytesMin = 64 << 10;
constexpr uint64_t kExtentBytesMax = 4 << 20;
constexpr uint64_t kExtentsAimedAt = 256;
constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kSlotsMin = 64;
constexpr uint64_t kSlotsMax = 4096;

// Whether the medium was formatted to the end: the last step of WalMedium::Format writes both words of the UUID, and
// the checksum.
bool IsFormatted(const Superblock& superblock) {
  Superblock without = superblock;
  without.uuid[0] = without.uuid[1] = 0;
  return superblock.uuid[0] != 0 && superblock.uuid[1] != 0 && superblock.checksum != SuperblockChecksum(without);
}

Status Judge(const ScmOptions&, std::span<const std::byte> head, uint64_t medium_bytes, uint64_t wanted,
             bool* existing) {
  if (head.empty()) return Status::Ok();
  Superblock superblock;
  if (head.size() < sizeof(superblock) || std::memcmp(head.data(), kMagic, sizeof(kMagic)) != 0) {
    const bool cache =
        head.size() >= sizeof(layout::kMagic) && std::memcmp(head.data(), layout::kMagic, sizeof(layout::kMagic)) == 0;
    return Status::ForeignFile(fmt::format("holds {} and is left as it is: name another file or remove it",
                                           cache ? "a block cache, not logs," : "data that is not Mezzanine's"));
  }
  std::memcpy(&superblock, head.data(), sizeof(superblock));
  if (superblock.byte_order_mark == __builtin_bswap32(kByteOrderMark)) {
    return Status::NotSupported("holds logs written by a machine of the opposite byte order: name another file");
  }
  if (superblock.format_version != kFormatVersion && superblock.format_version != 0) {
    return Status::NotSupported(
        fmt::format("has log format version {} and this program knows only version {}: name another file",
                    superblock.format_version, kFormatVersion));
  }
  *existing = IsFormatted(superblock);
  if (!*existing) return Status::Ok();
  if (superblock.checksum != SuperblockChecksum(superblock)) {
    return Status::ForeignFile(
        "has a damaged superblock, and perhaps logs behind it: restore it, or remove the file if none are needed");
  }
  if (superblock.capacity_bytes != wanted) {
    return Status::InvalidArgument(
        fmt::format("was made with size={}, not {}: give that size, or remove the file if its logs are not needed",
                    superblock.capacity_bytes, wanted));
  }
  if (medium_bytes < wanted) {
    return Status::ForeignFile(
        fmt::format("is {} long and was {}: logs were cut off; restore it, or remove it if none are needed",
                    ExactBytes(medium_bytes), ExactBytes(wanted)));
  }
  return Status::Ok();
}

std::array<std::byte, MediumFormat::kProvisionalBytes> Provisional(const ScmOptions&, uint64_t bytes) {
  WalOptions options;
  options.size = bytes;
  static_assert(sizeof(Superblock) <= MediumFormat::kProvisionalBytes);
  const Superblock superblock = MakeSuperblock(options.Geometry(), {});
  std::array<std::byte, MediumFormat::kProvisionalBytes> head{};
  std::memcpy(head.data(), &superblock, sizeof(superblock));
  return head;
}

constexpr MediumFormat kWalFormat{.judge = Judge, .provisional = Provisional};

// Whether drained bytes need an msync, because they lie in a page cache. Those of tmpfs do not, as it writes nothing
// back.
bool NeedsMsync(const std::string& path, const Medium& medium) {
  if (medium.info().granularity != StoreGranularity::kPage) return false;
  const int fd = open(path.c_str(), O_PATH | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return true;
  const bool memory = IsMemoryFileSystem(fd);
  close(fd);
  return !memory;
}

// Syncs the file's folder. Without that, a crash may lose the name of a new file, and with it the file.
Status SyncFolderOf(const std::string& path) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) close(fd);
  if (synced) return Status::Ok();
  return Status::IoError(fmt::format("path={} cannot be made to last ({}): name another file", path, ErrnoText(error)));
}

}  // namespace

Status WalOptions::Validate() const {
  if (path.empty()) return Status::InvalidArgument("path is missing: name the file or device that is to hold the logs");
  if (size < kWalSizeMin) {
    return Status::InvalidArgument(
        fmt::format("size={} is smaller than any log file: give at least {}, and room for the logs of all databases",
                    size, HumanBytes(kWalSizeMin)));
  }
  if (size > kCapacityBytesMax) {
    return Status::InvalidArgument(fmt::format("size={} is more than {}", size, HumanBytes(kCapacityBytesMax)));
  }
  return Status::Ok();
}

wal_layout::Geometry WalOptions::Geometry() const {
  wal_layout::Geometry geometry;
  geometry.capacity_bytes = size / kPageBytes * kPageBytes;  // what can be mapped
  geometry.extent_bytes = std::clamp(std::bit_floor(size / kExtentsAimedAt), kExtentBytesMin, kExtentBytesMax);
  geometry.slots = static_cast<uint32_t>(std::clamp(size / geometry.extent_bytes, kSlotsMin, kSlotsMax));
  return geometry;
}

Status OpenWalStore(const WalOptions& options, std::shared_ptr<WalStore>* store) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  const wal_layout::Geometry geometry = options.Geometry();
  ScmOptions scm;
  scm.path = options.path;
  scm.capacity_bytes = geometry.capacity_bytes;
  scm.prepare = Prepare::kBeforeOpen;
  scm.model = options.model;
  std::unique_ptr<Medium> medium;
  std::unique_ptr<Preparer> preparer;
  bool existing = false;
  MEZZ_RETURN_IF_ERROR(OpenFileMedium(
      {.options = scm, .bytes = geometry.capacity_bytes, .first_bytes = geometry.capacity_bytes, .format = kWalFormat},
      &medium, &preparer, &existing));
  preparer.reset();
  medium->GiveUpRest();
  WalStore::Settings settings{.model = options.model};
  if (NeedsMsync(options.path, *medium)) {
    settings.write_back = [](void* pages, size_t bytes) { return msync(pages, bytes, MS_SYNC); };
    if (!existing) MEZZ_RETURN_IF_ERROR(SyncFolderOf(options.path));
  }
  Status status = WalStore::Open(std::move(medium), existing, geometry, settings, store);
  if (!status.ok()) return status.WithPrefix(fmt::format("path={} ", options.path));
  if (options.on_trouble) {
    // The watch ends before the store does.
    const auto tell = [watched = store->get(), told = options.on_trouble](std::string_view /*trouble*/) {
      told(watched->NameTrouble());
    };
    (void)IfThereIsMemory([&] { (*store)->WatchName(tell); });
  }
  return status;
}

}  // namespace mezz
