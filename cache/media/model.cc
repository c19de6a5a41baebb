// SPDX-License-Identifier: Apache-2.0
#include "cache/media/model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "cache/media/spin_clock.h"
#include "cache/types.h"

namespace mezz {
namespace {

// Izraelevitz et al. 2019: Izraelevitz, Yang, Zhang et al., "Basic Performance Measurements of the Intel Optane DC
// Persistent Memory Module", arXiv 1903.05714. Yang et al. 2020: "An Empirical Guide to the Behavior and Use of
// Scalable Persistent Memory", FAST'20. Melody: Liu et al., "Systematic CXL Memory Characterization and Performance
// Analysis at Scale", ASPLOS'25. Vistara: Meta's CXL memory expander, ISCA'26, as reported by the press.

constexpr MediumModel kNone = {.name = "none",
                               .random_read_ns = 0,
                               .write_ns = 0,
                               .thread_read_bytes_per_ns = 0,
                               .read_bytes_per_ns = 0,
                               .write_bytes_per_ns = 0,
                               .read_unit_bytes = kLineBytes};

// One DIMM of Optane PMem 100, App-direct.
constexpr MediumModel kOptane100 = {
    .name = "optane100",
    .random_read_ns = 305,  // Izraelevitz et al. 2019
    .write_ns = 90,         // Izraelevitz et al. 2019: until the store is in the persistence domain (ADR)
    // 10 line-fill buffers (Cascade Lake, the host of that generation) * 64 B / 170 ns, the latency of sequential
    // reads (Yang et al. 2020). Above what a thread gets in Izraelevitz et al. 2019 (39.4 GB/s shared by the ~17
    // threads that saturate six DIMMs: 2.3 GB/s), so copies, which stream, are not overcharged.
    .thread_read_bytes_per_ns = 10 * 64 / 170.0,
    .read_bytes_per_ns = 6.6,   // Izraelevitz et al. 2019, sequential, one DIMM
    .write_bytes_per_ns = 2.3,  // Izraelevitz et al. 2019, non-temporal stores, one DIMM
    .read_unit_bytes = 256,     // Yang et al. 2020: the media is read in XPLines of 256 B
};

// One CXL expander with two DDR4 channels on a PCIe 5 host.
constexpr MediumModel kCxl = {
    .name = "cxl",
    .random_read_ns = 250,  // within the 140 to 410 ns of the devices in Melody
    // No published figure: the completion of a CXL.mem write crosses the link and back like a read's, so the
    // latency of a read is taken, an upper bound.
    .write_ns = 250,
    // 16 line-fill buffers * 64 B / 250 ns: hosts of CXL memory are Sapphire Rapids or later, whose Golden Cove core
    // has 16 (Intel Architecture Day 2021); sequential reads have no shorter latency there than random ones.
    .thread_read_bytes_per_ns = 16 * 64 / 250.0,
    // Vistara: 76 GB/s for two expanders of two DDR4-2400 channels each; two channels have 38.4 GB/s at their pins.
    // The link is full duplex, so each direction is given the whole of it.
    .read_bytes_per_ns = 38,
    .write_bytes_per_ns = 38,
    .read_unit_bytes = kLineBytes,
};

// The entries of a restart point, by RocksDB's default block builder.
constexpr size_t kEntriesPerRestart = 16;
// The lines of the entry found, as BlockSearchLines counts them.
constexpr unsigned kEntryLines = 2;
// The lines of a filter that a probe reads: the record's header, the parameters at the filter's end, and one line of
// bits.
constexpr unsigned kFilterProbeLines = 3;

// The number of restart points, which is at a data block's end, beside some flags. 0 if the value there cannot be it.
size_t Restarts(std::span<const std::byte> block) {
  constexpr uint32_t kCountMask = (1u << 28) - 1;
  uint32_t word = 0;
  if (block.size() < sizeof(word)) return 0;
  std::memcpy(&word, block.data() + block.size() - sizeof(word), sizeof(word));
  const size_t restarts = word & kCountMask;
  return restarts * sizeof(word) < block.size() ? restarts : 0;
}

InPlaceRead ReadWhole(size_t bytes) { return {.lines = 1, .stream_bytes = bytes}; }

// The reads of a data block. Sixteen entries lie between two restart points, so the number of points tells how long an
// entry is. With one point there may be one entry or sixteen. Then the walk to the entry and its value are taken for a
// stream over the whole block, which is right for one long value and too much for several.
InPlaceRead SearchData(const MediumModel& model, std::span<const std::byte> block) {
  InPlaceRead search{.lines = BlockSearchLines(block.size())};
  const size_t restarts = Restarts(block);
  if (restarts == 0) return search;
  if (restarts == 1) {
    const InPlaceRead walk{.lines = std::min(2u, search.lines), .stream_bytes = block.size()};
    return OwnNs(model, walk) > OwnNs(model, search) ? walk : search;
  }
  const size_t entry_bytes = block.size() / (kEntriesPerRestart * (restarts - 1));
  search.stream_bytes = entry_bytes - std::min(entry_bytes, kEntryLines * kLineBytes);
  return search;
}

unsigned CeilLog2(size_t value) { return value <= 1 ? 0 : static_cast<unsigned>(std::bit_width(value - 1)); }

}  // namespace

const MediumModel& GetMediumModel(MediumModelName name) {
  switch (name) {
    case MediumModelName::kOptane100:
      return kOptane100;
    case MediumModelName::kCxl:
      return kCxl;
    case MediumModelName::kNone:
      break;
  }
  return kNone;
}

unsigned BlockSearchLines(size_t block_bytes) {
  // docs/explanation/emulation.md derives the numbers.
  constexpr size_t kBytesPerRestart = 1024;
  constexpr size_t kRestartsPerLine = kLineBytes / sizeof(uint32_t);
  constexpr unsigned kHeaderLines = 1;
  constexpr unsigned kRestartCountLines = 1;
  constexpr size_t kRecordHeaderBytes = 32;
  const size_t restarts = std::max<size_t>(1, block_bytes / kBytesPerRestart);
  const unsigned key_lines = CeilLog2(restarts);
  const unsigned array_lines = CeilLog2((restarts + kRestartsPerLine - 1) / kRestartsPerLine);
  const unsigned lines = kHeaderLines + kRestartCountLines + key_lines + array_lines + kEntryLines;
  const size_t record_lines = (kRecordHeaderBytes + block_bytes + kLineBytes - 1) / kLineBytes;
  return static_cast<unsigned>(std::min<size_t>(lines, record_lines));
}

InPlaceRead HowReadInPlace(const MediumModel& model, BlockRole role, std::span<const std::byte> payload) {
  switch (role) {
    case BlockRole::kData:
      return SearchData(model, payload);
    case BlockRole::kIndex:
      return {.lines = BlockSearchLines(payload.size())};
    case BlockRole::kFilter:
      return {.lines = std::min(kFilterProbeLines, BlockSearchLines(payload.size()))};
    case BlockRole::kDictionary:
    case BlockRole::kBlob:
    case BlockRole::kOther:
      break;
  }
  return ReadWhole(payload.size());
}

double OwnNs(const MediumModel& model, const InPlaceRead& read) {
  const double lines_ns = read.lines * model.random_read_ns;
  if (read.stream_bytes == 0 || model.thread_read_bytes_per_ns <= 0) return lines_ns;
  return lines_ns + static_cast<double>(read.stream_bytes) / model.thread_read_bytes_per_ns;
}

Throttle::Throttle(const MediumModel& model) : model_(model) {
  SpinClock::NowNs();  // calibrates now rather than in the first charge
}

void Throttle::ChargeInPlace(const InPlaceRead& read) {
  const size_t device_bytes =
      size_t{read.lines} * model_.read_unit_bytes + RoundUp(read.stream_bytes, model_.read_unit_bytes);
  Spend(read_busy_until_ns_, model_.read_bytes_per_ns, device_bytes, OwnNs(model_, read));
}

void Throttle::ChargeStreamRead(size_t bytes) {
  Spend(read_busy_until_ns_, model_.read_bytes_per_ns, RoundUp(bytes, model_.read_unit_bytes),
        OwnNs(model_, ReadWhole(bytes)));
}

void Throttle::ChargeWrite(size_t bytes) {
  Spend(write_busy_until_ns_, model_.write_bytes_per_ns, bytes, model_.write_ns);
}

void Throttle::Spend(std::atomic<uint64_t>& busy_until_ns, double bandwidth, size_t bytes, double own_ns) {
  const uint64_t now = SpinClock::NowNs();
  uint64_t deadline = now + static_cast<uint64_t>(std::ceil(own_ns));
  if (bandwidth > 0) {
    const auto transfer_ns = static_cast<uint64_t>(std::ceil(static_cast<double>(bytes) / bandwidth));
    uint64_t busy = busy_until_ns.load(std::memory_order_relaxed);
    uint64_t until = 0;
    do {
      until = std::max(busy, now) + transfer_ns;
    } while (!busy_until_ns.compare_exchange_weak(busy, until, std::memory_order_relaxed));
    deadline = std::max(deadline, until);
  }
  SpinClock::SpinUntilNs(deadline);
}

}  // namespace mezz
