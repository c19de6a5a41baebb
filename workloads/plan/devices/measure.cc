// SPDX-License-Identifier: Apache-2.0
#include "workloads/plan/devices/measure.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "cache/base/text.h"
#include "cache/media/bus_errors.h"
#include "cache/media/copy.h"
#include "cache/media/medium.h"
#include "cache/media/preparer.h"
#include "cache/options.h"
#include "cache/types.h"
#include "workloads/generators/random.h"
#include "workloads/plan/devices/dax_device.h"

namespace mezz::plan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kScratchBytesMin = kFirstBytesMin;
constexpr uint64_t kReadBytes = 4096;
constexpr uint64_t kWriteBytes = 1 << 20;

double SecondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

uint64_t ScratchBytes(const MeasureOptions& options, uint64_t available) {
  const uint64_t bytes = std::min(options.scratch_bytes_max, available / 4);
  return bytes / kWriteBytes * kWriteBytes;
}

Status Failed() { return Status::IoError("its memory failed while it was read or written: replace the device"); }

// Bytes a second. `write` stores kWriteBytes, and returns false if that failed.
template <typename Write>
Status MeasureWrites(std::span<std::byte> scratch, std::chrono::milliseconds time, const Write& write, double* speed) {
  const Clock::time_point begin = Clock::now();
  uint64_t written = 0;
  do {
    if (!write(scratch.data() + written % scratch.size())) return Failed();
    written += kWriteBytes;
  } while (Clock::now() - begin < time);
  *speed = static_cast<double>(written) / SecondsSince(begin);
  return Status::Ok();
}

// Nanoseconds of a read.
Status MeasureReads(std::span<const std::byte> scratch, std::chrono::milliseconds time, double* read_ns) {
  constexpr uint64_t kReadsAtOnce = 64;  // between two looks at the clock
  std::array<std::byte, kReadBytes> block;
  Random random(1);
  const uint64_t blocks = scratch.size() / kReadBytes;
  const Clock::time_point begin = Clock::now();
  uint64_t reads = 0;
  do {
    for (uint64_t i = 0; i < kReadsAtOnce; ++i) {
      if (!CopyBytes(scratch.subspan(random.Below(blocks) * kReadBytes, kReadBytes), block.data())) return Failed();
    }
    reads += kReadsAtOnce;
  } while (Clock::now() - begin < time);
  *read_ns = SecondsSince(begin) * 1e9 / static_cast<double>(reads);
  return Status::Ok();
}

ScmOptions OptionsOf(const MeasureOptions& options, const Place& place, uint64_t bytes) {
  ScmOptions scm;
  scm.capacity_bytes = bytes;
  scm.prefault_threads = 1;
  switch (place.kind) {
    case PlaceKind::kNumaNode:
      scm.medium = MediumKind::kNumaNode;
      scm.numa_node = place.node;
      break;
    case PlaceKind::kProcess:
      scm.medium = MediumKind::kAnonymous;
      break;
    default:
      scm.medium = MediumKind::kFile;
      scm.path = fmt::format("{}{}/.mezz_plan_devices.{}", options.root, place.path, getpid());
  }
  return scm;
}

// The medium before its preparer goes, and so does what the preparer still touches.
struct Opened {
  std::unique_ptr<Medium> medium;
  std::unique_ptr<Preparer> preparer;
};

Status OpenScratch(const ScmOptions& options, Opened* opened) {
  bool existing = false;
  MEZZ_RETURN_IF_ERROR(OpenMedium(options, &opened->medium, &existing, &opened->preparer));
  if (!options.path.empty()) unlink(options.path.c_str());
  opened->preparer->Start();
  return opened->preparer->Wait();
}

Status MeasureMedium(const MeasureOptions& options, const Place& place, PlaceSpeed* speed) {
  Opened opened;
  MEZZ_RETURN_IF_ERROR(OpenScratch(OptionsOf(options, place, speed->scratch_bytes), &opened));
  const std::span<std::byte> scratch(opened.medium->base(), opened.medium->bytes() / kWriteBytes * kWriteBytes);
  const BusErrorWatch watch(scratch);
  const std::vector<std::byte> piece(kWriteBytes + kLineBytes, std::byte{0x5a});
  const auto write = [&](std::byte* to) {
    const bool stored = opened.medium->Stream(to, piece.data(), kWriteBytes);
    opened.medium->Drain();
    return stored;
  };
  MEZZ_RETURN_IF_ERROR(MeasureWrites(scratch, options.each, write, &speed->write_bytes_per_s));
  MEZZ_RETURN_IF_ERROR(MeasureReads(scratch, options.each, &speed->read_ns));
  speed->persistent_memory = opened.medium->info().persistent_memory;
  speed->medium = opened.medium->info().description;
  return Status::Ok();
}

// Each byte is the one before it, and the first is zero.
bool IsZero(std::span<const std::byte> bytes) {
  return BusErrors::TryTest(
      [&] { return bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0; });
}

Status MeasureDevice(const MeasureOptions& options, const Place& place, PlaceSpeed* speed) {
  CopyFunctions copy;
  MEZZ_RETURN_IF_ERROR(GetCopyFunctions(&copy));
  DaxDevice device;
  MEZZ_RETURN_IF_ERROR(device.Open(options.root + place.path, speed->scratch_bytes, place.alignment));
  const std::span<std::byte> scratch = device.bytes().first(speed->scratch_bytes);
  const BusErrorWatch watch(scratch);
  if (device.writable() && IsZero(scratch)) {
    const std::vector<std::byte> zeros(kWriteBytes);
    const auto write = [&](std::byte* to) {
      return BusErrors::Try([&] {
        copy.stream(to, zeros.data(), kWriteBytes);
        copy.drain();
      });
    };
    MEZZ_RETURN_IF_ERROR(MeasureWrites(scratch, options.each, write, &speed->write_bytes_per_s));
  }
  MEZZ_RETURN_IF_ERROR(MeasureReads(scratch, options.each, &speed->read_ns));
  speed->persistent_memory = true;
  speed->medium = fmt::format("devdax {}", place.path);
  return Status::Ok();
}

}  // namespace

Status MeasurePlace(const MeasureOptions& options, Place* place) {
  PlaceSpeed speed;
  const uint64_t memory = ReadMachineMemory(options.root).available_bytes;
  uint64_t available = place->available_bytes;
  if (TakesMemory(place->kind)) available = place->total_bytes == 0 ? memory : std::min(available, memory);
  speed.scratch_bytes = ScratchBytes(options, available);
  if (speed.scratch_bytes < kScratchBytesMin)
    return Status::NoSpace(fmt::format("there is room for {} of scratch, and it takes {}",
                                       SizeText(speed.scratch_bytes), SizeText(kScratchBytesMin)));
  MEZZ_RETURN_IF_ERROR(place->kind == PlaceKind::kDaxDevice ? MeasureDevice(options, *place, &speed)
                                                            : MeasureMedium(options, *place, &speed));
  place->speed = speed;
  return Status::Ok();
}

}  // namespace mezz::plan
