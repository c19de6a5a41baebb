// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <libpmem2.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include "cache/base/descriptor.h"
#include "cache/base/text.h"
#include "cache/media/copy.h"
#include "cache/media/file_checks.h"
#include "cache/media/locked_file.h"
#include "cache/media/open.h"
#include "cache/media/populate.h"
#include "cache/types.h"

namespace mezz {
namespace {

struct ConfigDeleter {
  void operator()(pmem2_config* config) const { pmem2_config_delete(&config); }
};
struct SourceDeleter {
  void operator()(pmem2_source* source) const { pmem2_source_delete(&source); }
};
using Config = std::unique_ptr<pmem2_config, ConfigDeleter>;
using Source = std::unique_ptr<pmem2_source, SourceDeleter>;

int ReserveRange(int fd, uint64_t offset, uint64_t bytes) {
  int error = 0;
  do {
    error = posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  } while (error == EINTR);
  return error;
}

StoreGranularity Granted(pmem2_map* map) {
  switch (pmem2_map_get_store_granularity(map)) {
    case PMEM2_GRANULARITY_BYTE:
      return StoreGranularity::kByte;
    case PMEM2_GRANULARITY_CACHE_LINE:
      return StoreGranularity::kCacheLine;
    case PMEM2_GRANULARITY_PAGE:
      break;
  }
  return StoreGranularity::kPage;
}

// A mapped file or devdax device.
class FileMedium : public Medium {
 public:
  explicit FileMedium(const MediumOrder& order) : order_(order), path_(order.options.path), wanted_(order.bytes) {}
  ~FileMedium() override;

  Status Open(std::unique_ptr<Preparer>* preparer, bool* existing);
  void GiveUpRest() const override;
  uint64_t bytes_before() const override {
    return file_.is_device() ? bytes_
                             : static_cast<uint64_t>(file_.found().st_size);  // a device has no length to grow by
  }
  std::vector<BadRange> BadRanges() const override { return bad_; }
  std::string NameTrouble() const override { return file_.NameTrouble(); }
  bool IsNameless() const override { return file_.IsNameless(); }
  void WatchName(const std::function<void(std::string_view trouble)>& told) override { file_.WatchName(told); }
  void KeepChanges() override { file_.Keep(); }

 private:
  Status OpenFile(std::unique_ptr<Preparer>* preparer, bool* existing);
  Status OpenDevdax(std::unique_ptr<Preparer>* preparer, bool* existing);
  Status JudgeFileContents(bool* existing);
  Status JudgeDeviceContents(bool* existing);
  // Of one of several media, whose head cannot be read: nobody touches it, and the others go on.
  Status LeaveHead() {
    if (!AnyMeets(bad_, 0, MediumFormat::kHeadBytes)) bad_.insert(bad_.begin(), {0, MediumFormat::kHeadBytes});
    return Status::Ok();
  }
  bool IsUntouched(std::span<const std::byte> head) const;
  Status Judge(std::span<const std::byte> head, uint64_t medium_bytes, bool* existing);
  Status StampProvisionalSuperblock();
  // The same through the mapping: hugetlbfs takes no write.
  Status StampMapped();
  // Of the file: on hugetlbfs whole pages.
  uint64_t FileBytes() const { return huge_page_bytes_ == 0 ? wanted_ : RoundUp(wanted_, huge_page_bytes_); }
  // Gives the file its size, and all of its space where that is cheap; else `*by_chunks` does, while it is prepared.
  Status Reserve(std::function<int(uint64_t offset, uint64_t bytes)>* by_chunks);
  // `fd`: as LockedFile::OpenAgain returned it.
  Status MakeSource(int fd, Source* source);
  // Asks the kernel. Refused: nobody could tell what the medium holds.
  Status FindBadRanges(const Source& source);
  Status Map(const Source& source, uint64_t map_bytes);
  Status ReservationError(int error, const char* step) const;
  Status Pmem2Error(const char* step) const;
  void Describe(const std::string& description, bool devdax);
  std::string name() const { return fmt::format("path={}", path_); }

  const MediumOrder order_;  // its options are of the caller: not used once Open has returned
  const std::string path_;
  const uint64_t wanted_;
  LockedFile file_{path_, &child_rules_};
  uint64_t huge_page_bytes_ = 0;  // of hugetlbfs; 0: the file is not there
  pmem2_map* map_ = nullptr;
  std::vector<BadRange> bad_;  // whole pages, ascending
};

FileMedium::~FileMedium() {
  // In a child libpmem2's locks may be held for ever.
  if (!child_rules_.InOwner()) return;
  file_.EndWatch();
  child_rules_.ProtectInChild(nullptr, 0);
  if (map_ != nullptr) pmem2_map_delete(&map_);
}

// Truncates the file. If that fails, it takes more room than it needs, and is truncated when it is opened again.
void FileMedium::GiveUpRest() const {
  if (!child_rules_.InOwner() || file_.is_device() || file_.found().st_size <= static_cast<off_t>(FileBytes())) return;
  [[maybe_unused]] const int ignored = ftruncate(file_.fd(), static_cast<off_t>(FileBytes()));
}

Status FileMedium::Open(std::unique_ptr<Preparer>* preparer, bool* existing) {
  MEZZ_RETURN_IF_ERROR(child_rules_.Check());
  CopyFunctions copy;
  MEZZ_RETURN_IF_ERROR(GetCopyFunctions(&copy));
  stream_ = copy.stream;
  drain_ = copy.drain;
  MEZZ_RETURN_IF_ERROR(file_.Open());
  MEZZ_RETURN_IF_ERROR(file_.is_device() ? OpenDevdax(preparer, existing) : OpenFile(preparer, existing));
  file_.NoteName();
  if (order_.range == nullptr) file_.Keep();
  return Status::Ok();
}

Status FileMedium::OpenFile(std::unique_ptr<Preparer>* preparer, bool* existing) {
  huge_page_bytes_ = HugePagesOf(file_.fd()).page_bytes;
  MEZZ_RETURN_IF_ERROR(JudgeFileContents(existing));
  PromisedMemory promised;
  MEZZ_RETURN_IF_ERROR(CheckFileSystemHolds(path_, file_.fd(), file_.found(), wanted_,
                                            SpaceStillNeeded(order_.earlier, file_.found().st_dev), &promised));
  const bool stamps_mapped = huge_page_bytes_ != 0 && !*existing && bad_.empty();
  if (file_.found().st_size == 0 && !stamps_mapped) MEZZ_RETURN_IF_ERROR(StampProvisionalSuperblock());
  std::function<int(uint64_t, uint64_t)> reserve;
  MEZZ_RETURN_IF_ERROR(Reserve(&reserve));
  const Descriptor mapped(file_.OpenAgain());
  Source source;
  MEZZ_RETURN_IF_ERROR(MakeSource(mapped.get(), &source));
  MEZZ_RETURN_IF_ERROR(FindBadRanges(source));
  MEZZ_RETURN_IF_ERROR(Map(source, FileBytes()));
  if (stamps_mapped) MEZZ_RETURN_IF_ERROR(StampMapped());
  MEZZ_RETURN_IF_ERROR(
      PrepareFirstPart(order_, base_, name(), std::move(reserve), preparer, std::move(promised), bad_));
  const bool dax = info_.granularity != StoreGranularity::kPage;
  Describe(fmt::format("file {} ({}{})", path_, FileSystemName(file_.fd()), dax ? "-dax" : ""), /*devdax=*/false);
  return Status::Ok();
}

Status FileMedium::OpenDevdax(std::unique_ptr<Preparer>* preparer, bool* existing) {
  const Descriptor mapped(file_.OpenAgain());
  Source source;
  MEZZ_RETURN_IF_ERROR(MakeSource(mapped.get(), &source));
  size_t device_bytes = 0;
  size_t alignment = 0;
  if (pmem2_source_size(source.get(), &device_bytes) != 0 || pmem2_source_alignment(source.get(), &alignment) != 0) {
    return Pmem2Error("does not tell its size");
  }
  if (wanted_ > device_bytes) {
    return Status::NoSpace(fmt::format("path={} needs {} and the device has {}: lower capacity_bytes", path_,
                                       ExactBytes(wanted_), ExactBytes(device_bytes)));
  }
  MEZZ_RETURN_IF_ERROR(FindBadRanges(source));
  MEZZ_RETURN_IF_ERROR(Map(source, RoundUp(wanted_, alignment)));
  MEZZ_RETURN_IF_ERROR(JudgeDeviceContents(existing));
  MEZZ_RETURN_IF_ERROR(PrepareFirstPart(order_, base_, name(), {}, preparer, PromisedMemory(), bad_));
  Describe(fmt::format("devdax {}", path_), /*devdax=*/true);
  return Status::Ok();
}

Status FileMedium::JudgeFileContents(bool* existing) {
  *existing = false;
  if (file_.found().st_size == 0) return Judge({}, 0, existing);
  std::array<std::byte, MediumFormat::kHeadBytes> head;
  const ssize_t got = pread(file_.fd(), head.data(), head.size(), 0);
  if (got < 0 && order_.range != nullptr) return LeaveHead();
  if (got < 0) {
    return Status::IoError(fmt::format("path={} cannot be read ({}): name another file", path_, ErrnoText(errno)));
  }
  // It has its size before its first bytes.
  if (huge_page_bytes_ != 0 && IsUntouched(head)) return Judge({}, 0, existing);
  return Judge({head.data(), static_cast<size_t>(got)}, static_cast<uint64_t>(file_.found().st_size), existing);
}

Status FileMedium::JudgeDeviceContents(bool* existing) {
  *existing = false;
  std::array<std::byte, MediumFormat::kHeadBytes> head;
  const BusErrorWatch watch({base_, head.size()});
  const bool read = !AnyMeets(bad_, 0, head.size()) && CopyBytes({base_, head.size()}, head.data());
  if (!read && order_.range != nullptr) return LeaveHead();
  if (!read) return Status::IoError(fmt::format("path={} cannot be read: replace the device", path_));
  // A device has no size that could tell a new one.
  if (IsUntouched(head)) return Judge({}, wanted_, existing);
  return Judge(head, wanted_, existing);  // the device has them: OpenDevdax asked
}

// Whether the medium was never used: it holds zeros, and perhaps words of the magic. That is written first, and a cut
// of power may have let one word arrive.
bool FileMedium::IsUntouched(std::span<const std::byte> head) const {
  const auto ours = order_.format.provisional(order_.options, wanted_);
  for (size_t at = 0; at < head.size(); at += sizeof(uint64_t)) {
    const auto is = [&](const std::byte* word) { return std::memcmp(head.data() + at, word, sizeof(uint64_t)) == 0; };
    static constexpr std::array<std::byte, sizeof(uint64_t)> kZero{};
    if (!is(kZero.data()) && !(at < MediumFormat::kMagicBytes && is(ours.data() + at))) return false;
  }
  return true;
}

Status FileMedium::Judge(std::span<const std::byte> head, uint64_t medium_bytes, bool* existing) {
  Status status = order_.format.judge(order_.options, head, medium_bytes, wanted_, existing);
  if (status.ok()) return status;
  const std::string prefix = fmt::format("path={} ", path_);
  if (!file_.is_device()) return status.WithPrefix(prefix);
  const std::string said = prefix + ForDevice(status.message());
  switch (status.code()) {
    case Status::Code::kForeignFile:
      return Status::ForeignFile(said);
    case Status::Code::kNotSupported:
      return Status::NotSupported(said);
    default:
      return Status::InvalidArgument(said);
  }
}

Status FileMedium::StampProvisionalSuperblock() {
  const auto head = order_.format.provisional(order_.options, wanted_);
  file_.NoteResized();
  const ssize_t put = pwrite(file_.fd(), head.data(), head.size(), 0);
  if (put == static_cast<ssize_t>(head.size())) return Status::Ok();
  return ReservationError(put < 0 ? errno : ENOSPC, "written");
}

Status FileMedium::StampMapped() {
  const auto head = order_.format.provisional(order_.options, wanted_);
  const BusErrorWatch watch({base_, head.size()});
  if (BusErrors::Try([&] { std::memcpy(base_, head.data(), head.size()); })) return Status::Ok();
  return ReservationError(ENOSPC, "written");
}

Status FileMedium::Reserve(std::function<int(uint64_t offset, uint64_t bytes)>* by_chunks) {
  // What is cut off may be what a superblock still speaks of: GiveUpRest.
  if (file_.found().st_size < static_cast<off_t>(FileBytes())) {
    file_.NoteResized();
    if (ftruncate(file_.fd(), static_cast<off_t>(FileBytes())) != 0) return ReservationError(errno, "resized");
  }
  // Where populating reserves, and reports a shortage as well, fallocate would only be a slower way to do the same.
  const bool memory = IsMemoryFileSystem(file_.fd());
  if (memory && KernelCanPopulate()) return Status::Ok();
  int error = memory ? EOPNOTSUPP : 0;
  while (!memory && fallocate(file_.fd(), 0, 0, static_cast<off_t>(wanted_)) != 0) {
    error = errno;
    if (error != EINTR) break;
    error = 0;
  }
  // The C library then writes to each block of the file: too long a time for all of it at once.
  if (error == EOPNOTSUPP || error == ENOSYS) {
    *by_chunks = [fd = file_.fd()](uint64_t offset, uint64_t bytes) { return ReserveRange(fd, offset, bytes); };
    return Status::Ok();
  }
  return error == 0 ? Status::Ok() : ReservationError(error, "given its space");
}

Status FileMedium::ReservationError(int error, const char* step) const {
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return Status::NoSpace(fmt::format("path={} cannot be {} ({}, {} needed): free some or lower capacity_bytes", path_,
                                       step, ErrnoText(error), ExactBytes(wanted_)));
  }
  return Status::IoError(fmt::format("path={} cannot be {} ({}): name another file", path_, step, ErrnoText(error)));
}

Status FileMedium::Pmem2Error(const char* step) const {
  return Status::IoError(
      fmt::format("path={} {} (libpmem2: {}): name another file or device", path_, step, pmem2_errormsg()));
}

Status FileMedium::MakeSource(int fd, Source* source) {
  MEZZ_RETURN_IF_ERROR(file_.CheckIsSame(fd));
  pmem2_source* made = nullptr;
  if (pmem2_source_from_fd(&made, fd) != 0) return Pmem2Error("cannot be mapped");
  source->reset(made);
  return Status::Ok();
}

// Finds the bad ranges, in whole pages: the kernel lists sectors, but a touch of a bad sector loses its page.
Status FileMedium::FindBadRanges(const Source& source) {
  constexpr uint64_t kPageBytes = 4096;
  pmem2_badblock_context* context = nullptr;
  if (pmem2_badblock_context_new(&context, source.get()) != 0) return Status::Ok();  // it does not tell
  pmem2_badblock found{};
  while (pmem2_badblock_next(context, &found) == 0) {
    const uint64_t begin = found.offset / kPageBytes * kPageBytes;
    const uint64_t end = std::min(RoundUp(found.offset + found.length, kPageBytes), wanted_);
    if (begin < end) bad_.push_back({begin, end});
  }
  pmem2_badblock_context_delete(&context);
  std::ranges::sort(bad_, {}, [](const BadRange& range) { return std::pair(range.begin, range.end); });
  if (order_.range != nullptr) return Status::Ok();  // the other media go on
  // The cache goes on without the rest; a log could not.
  const uint64_t needed = &order_.format == &kCacheFormat ? MediumFormat::kHeadBytes : wanted_;
  if (!AnyMeets(bad_, 0, needed)) return Status::Ok();
  return Status::IoError(fmt::format(
      "path={} has bad blocks where none may be, which the kernel knows of: name another file or device, or have the "
      "device cleared (ndctl clear-errors)",
      path_));
}

Status FileMedium::Map(const Source& source, uint64_t map_bytes) {
  pmem2_config* made = nullptr;
  if (pmem2_config_new(&made) != 0) return Pmem2Error("cannot be mapped");
  const Config config(made);
  if (order_.range != nullptr) {
    if (map_bytes != wanted_) {
      return Status::NotSupported(
          fmt::format("path={} has pages that {} are no multiple of, as one of several media must be: give it {}",
                      path_, ExactBytes(wanted_), ExactBytes(map_bytes)));
    }
    const uint64_t at = order_.range->base_offset() + order_.range_offset;
    if (pmem2_config_set_vm_reservation(made, order_.range->reservation(), at) != 0)
      return Pmem2Error("cannot be mapped");
  }
  if (pmem2_config_set_required_store_granularity(made, PMEM2_GRANULARITY_PAGE) != 0 ||
      pmem2_config_set_length(made, map_bytes) != 0 || pmem2_map_new(&map_, made, source.get()) != 0) {
    return Pmem2Error("cannot be mapped");
  }
  base_ = static_cast<std::byte*>(pmem2_map_get_address(map_));
  bytes_ = wanted_;
  child_rules_.ProtectInChild(base_, pmem2_map_get_size(map_));
  info_.granularity = Granted(map_);
  // libpmem2's own persist does the same, and keeps from its caller how it ended.
  if (info_.granularity == StoreGranularity::kPage) persist_ = SyncPages;
  madvise(base_, bytes_, MADV_HUGEPAGE);  // a wish: tmpfs heeds it where it is set up for it
  return Status::Ok();
}

void FileMedium::Describe(const std::string& description, bool devdax) {
  // libpmem2 takes its user's word for the granularity when this variable is set; a report must not.
  const bool forced = std::getenv("PMEM2_FORCE_GRANULARITY") != nullptr;
  info_.description = description;
  info_.persistent_memory = devdax || (info_.granularity != StoreGranularity::kPage && !forced);
  const bool memory = info_.persistent_memory || IsMemoryFileSystem(file_.fd());
  info_.emulated = !memory || order_.options.model != MediumModelName::kNone;
}

}  // namespace

bool SyncPages(const void* from, size_t bytes) {
  static const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const size_t before = reinterpret_cast<uintptr_t>(from) % page_bytes;
  auto* const page = const_cast<char*>(static_cast<const char*>(from) - before);
  return msync(page, before + bytes, MS_SYNC) == 0;
}

Status OpenFileMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium, std::unique_ptr<Preparer>* preparer,
                      bool* existing) {
  auto file = std::make_unique<FileMedium>(order);
  MEZZ_RETURN_IF_ERROR(file->Open(preparer, existing));
  *medium = std::move(file);
  return Status::Ok();
}

}  // namespace mezz
