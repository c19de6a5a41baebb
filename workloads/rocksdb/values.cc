// SPDX-License-Identifier: Apache-2.0
#include "workloads/rocksdb/values.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "admission/curves/block_key.h"

namespace mezz {
namespace {

constexpr double kRatioMax = 8;
constexpr uint64_t kBlocksOfSampleMin = 256;
constexpr size_t kSampleBytesMax = size_t{1} << 30;

constexpr double kRunBytes = 64;      // of random bytes, before they repeat. Longer ones LZ4 begins to skip through
constexpr double kRepeatBytes = 3.5;  // what a codec spends on a run and its repeat: LZ4 five, zstd about two
constexpr size_t kRunBytesMin = 4;    // no codec looks for less
constexpr uint64_t kStep = 0x9e3779b97f4a7c15ull;

// Repeats the first `period` bytes until the end.
void Repeat(std::span<std::byte> bytes, size_t period) {
  for (size_t at = period; at < bytes.size(); at *= 2)
    std::memcpy(bytes.data() + at, bytes.data(), std::min(at, bytes.size() - at));
}

// The steps within a loop have no branch but its end: each hit of --mode=block goes through it.
void MakeBytes(uint64_t word, double ratio, std::span<std::byte> to) {
  const auto size = static_cast<double>(to.size());
  const auto units = static_cast<size_t>(std::max(1.0, std::round(ratio > 1 ? size / (ratio * kRunBytes) : 1)));
  for (size_t unit = 0, from = 0; unit < units; ++unit) {
    const size_t end = to.size() * (unit + 1) / units;
    const std::span<std::byte> bytes = to.subspan(from, end - from);
    const double wanted = std::round(static_cast<double>(bytes.size()) / ratio - kRepeatBytes);
    const size_t run = ratio > 1
                           ? std::min(bytes.size(), std::max(kRunBytesMin, static_cast<size_t>(std::max(0.0, wanted))))
                           : bytes.size();
    size_t at = 0;
    for (; at + sizeof(word) <= run; at += sizeof(word), word += kStep)
      std::memcpy(bytes.data() + at, &word, sizeof(word));
    if (at < run) std::memcpy(bytes.data() + at, &word, run - at);
    word += kStep;
    if (run < bytes.size()) Repeat(bytes, run);
    from = end;
  }
}

Status Unreadable(const std::string& path, const char* why) {
  return Status::IoError(fmt::format("--values={} cannot be read: {}", path, why));
}

}  // namespace

Status ValueOptions::Validate() const {
  if (!(ratio >= 1 && ratio <= kRatioMax)) {
    return Status::InvalidArgument(
        fmt::format("--value_ratio={} is out of range; it goes from 1 to {}", ratio, kRatioMax));
  }
  if (sample.empty() || ratio == 1) return Status::Ok();
  return Status::InvalidArgument(
      fmt::format("--values={} and --value_ratio={} both say what values hold; use one of them", sample, ratio));
}

Status Values::Open(const ValueOptions& options, Values* values) {
  MEZZ_RETURN_IF_ERROR(options.Validate());
  *values = {};
  values->ratio_ = options.ratio;
  if (options.sample.empty()) return Status::Ok();
  const int fd = open(options.sample.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Unreadable(options.sample, std::strerror(errno));
  struct stat info {};
  const bool regular = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  const size_t bytes = std::min(static_cast<size_t>(regular ? info.st_size : 0), kSampleBytesMax);
  const uint64_t needed = std::max(kBlocksOfSampleMin * options.block_bytes, options.value_bytes);
  void* const mapped = regular && bytes >= needed ? mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
  const int error = errno;
  close(fd);
  if (!regular) return Unreadable(options.sample, "it is no file");
  if (bytes < needed) {
    return Status::InvalidArgument(fmt::format(
        "--values={} has {} bytes; values for {}={} are cut from at least {}, so that a block does not hold "
        "the same bytes twice; name a larger sample",
        options.sample, info.st_size, options.block_flag, options.block_bytes, needed));
  }
  if (mapped == MAP_FAILED) return Unreadable(options.sample, std::strerror(error));
  values->path_ = options.sample;
  values->sample_bytes_ = bytes;
  values->sample_ = std::shared_ptr<const std::byte>(
      static_cast<const std::byte*>(mapped),
      [bytes](const std::byte* sample) { munmap(const_cast<std::byte*>(sample), bytes); });
  return Status::Ok();
}

// `at`: in a tape that is the sample over and over, each time from elsewhere.
void Values::Cut(uint64_t at, std::span<std::byte> to) const {
  const uint64_t lap = at / sample_bytes_;
  size_t from = (at % sample_bytes_ + (lap == 0 ? 0 : MixWord(lap) % sample_bytes_)) % sample_bytes_;
  while (!to.empty()) {
    const size_t count = std::min(to.size(), sample_bytes_ - from);
    std::memcpy(to.data(), sample_.get() + from, count);
    to = to.subspan(count);
    from = 0;
  }
}

void Values::FillBytes(uint64_t key, std::span<std::byte> to) const {
  if (sample_ != nullptr) return Cut(key * to.size(), to);
  MakeBytes(MixWord(key * kStep + (static_cast<uint64_t>(to.size()) << 40)), ratio_, to);
}

void Values::Fill(uint64_t key, size_t bytes, std::string* value) const {
  value->resize(bytes);
  FillBytes(key, std::as_writable_bytes(std::span(*value)));
}

bool Values::Matches(uint64_t key, std::string_view value) const {
  std::string expected;
  Fill(key, value.size(), &expected);
  return expected == value;
}

void Values::FillSector(uint64_t number, Sector* sector) const {
  const uint64_t word = MixWord(number);
  if (sample_ == nullptr) return MakeBytes(word, ratio_, *sector);
  Cut(number * kSectorBytes, *sector);
  std::memcpy(sector->data(), &word, sizeof(word));
}

std::string Values::Name() const {
  if (sample_ == nullptr) return fmt::format("ratio-{}", ratio_);
  return fmt::format("sample-{:016x}", XXH3_64bits(sample_.get(), sample_bytes_));
}

std::string Values::Description() const {
  if (sample_ != nullptr) return fmt::format("cut from {} bytes of {}", sample_bytes_, path_);
  return ratio_ == 1 ? "made, incompressible" : fmt::format("made to pack to 1/{}", ratio_);
}

}  // namespace mezz
