// SPDX-License-Identifier: Apache-2.0
// The constants of the segment log and of its reclaim, for the SCM tier and for the models of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>

namespace mezz::log_rules {

// More writers at once do not raise Optane's write bandwidth: it saturates at four threads (Izraelevitz et al. 2019).
inline constexpr uint32_t kWriterLanesMax = 4;
// The least number of segments for each lane. A lane's open segment is half empty on average; with fewer segments that
// would show in the capacity.
inline constexpr uint32_t kSegmentsPerLane = 64;

// The number of writer lanes of a log of `segments` on this machine. The processors are counted once: this is called at
// every miss, and the C library opens a file to count them.
inline uint32_t WriterLanes(uint32_t segments) {
  static const uint32_t cpus = std::max(1u, std::thread::hardware_concurrency());
  return std::clamp(segments / kSegmentsPerLane, 1u, std::min(kWriterLanesMax, cpus));
}

// So many segments are to be free, that each writer lane has one ready and reclaim its reserve. Below it a put
// reclaims.
constexpr uint32_t FreeKept(uint32_t writer_lanes) { return 1 + writer_lanes; }

// What lies in withdrawn segments moves unjudged while so many more are free. Where few are, so many others at most are
// reclaimed for each of them: enough as long as what is hot fits.
inline constexpr uint32_t kFreeToMove = 2, kReclaimedToMoveMax = 4;

// A level of ordered media with fewer segments than this is not written to: two are open, one is kept free, one is to
// be reclaimed.
inline constexpr uint32_t kSegmentsOfLevelMin = 4;

// A record of the slow media that was hit this often there is written to the fast ones when its block leaves DRAM.
inline constexpr unsigned kRaiseHeat = 2;

// The share of a victim's segment that may be spared. What a victim does not use is saved for later ones, up to
// kCreditMaxSegments.
inline constexpr uint64_t kSurvivorShareNumerator = 15, kSurvivorShareDenominator = 16;
inline constexpr uint64_t kCreditMaxSegments = 8;

// After this many victims in a row that freed no segment, the next ones are dropped whole. Survivors may waste as much
// space where they go as where they came from.
inline constexpr uint32_t kSparingVictimsMax = 32;

// A proven segment is queued again, instead of emptied, if enough of its records (SetRequeuePercent) are live, not in
// DRAM and at least this hot. At most kRequeuesInARowMax are queued in a row; the next one is emptied whatever it
// holds.
inline constexpr unsigned kRequeueHeat = 2;
inline constexpr uint32_t kRequeuesInARowMax = 4;

// A segment is sparse, and reclaimed before all others, once this share of it was records of forgotten files.
inline constexpr unsigned kSparsePercent = 75;
constexpr uint64_t SparseBytes(uint64_t segment_bytes) { return segment_bytes * kSparsePercent / 100; }

// A segment in which memory failed this often is taken out of use, as it will fail again. Fewer faults may be cosmic
// rays.
inline constexpr uint32_t kFaultsOfSegmentMax = 3;

// The bytes that reclaim walks for each byte appended. A victim yields at least a sixteenth of what was walked, so
// seventeen keep up in the worst case. Three suffice while a spare segment is left.
inline constexpr uint64_t kPaceCalm = 3, kPaceUrgent = 17;

}  // namespace mezz::log_rules
