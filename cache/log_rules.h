// SPDX-License-Identifier: Apache-2.0
// The constants of the segment log and of its reclaim: the SCM tier and whoever models it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>

namespace mezz::log_rules {

// More writers at once do not raise Optane's write bandwidth: it saturates at four threads (Izraelevitz et al. 2019).
inline constexpr uint32_t kWriterLanesMax = 4;
// A lane's open segment is half empty on average; below this many segments a lane that would show.
inline constexpr uint32_t kSegmentsPerLane = 64;

// Lanes of a log of `segments` on this machine. Asked at every miss, and the C library opens a file to count
// processors: counted once.
inline uint32_t WriterLanes(uint32_t segments) {
  static const uint32_t cpus = std::max(1u, std::thread::hardware_concurrency());
  return std::clamp(segments / kSegmentsPerLane, 1u, std::min(kWriterLanesMax, cpus));
}

// Each victim lets this share of a segment be spared; what is not used may be saved up to kCreditMaxSegments.
inline constexpr uint64_t kSurvivorShareNumerator = 15, kSurvivorShareDenominator = 16;
inline constexpr uint64_t kCreditMaxSegments = 8;

// Where so many victims in a row were spared without a segment coming free, the next ones are dropped whole: survivors
// may lie as loosely where they go as where they came from.
inline constexpr uint32_t kSparingVictimsMax = 32;

// A segment of the proven is queued again instead of emptied if enough of its records (SetRequeuePercent) are live, not
// in DRAM and at least this hot. So many in a row at most: then one is emptied whatever it holds.
inline constexpr unsigned kRequeueHeat = 2;
inline constexpr uint32_t kRequeuesInARowMax = 4;

// A segment is reclaimed before all others once so much of it was records of forgotten files.
inline constexpr unsigned kHollowPercent = 75;

// Memory that failed so often in one segment will fail again: the segment is taken out of use. Once or twice may be
// cosmic rays.
inline constexpr uint32_t kFaultsOfSegmentMax = 3;

// Bytes walked for each byte appended. Victims yield at least a sixteenth of what was walked, so seventeen keep up in
// the worst case; three suffice while a spare segment is left.
inline constexpr uint64_t kPaceCalm = 3, kPaceUrgent = 17;

}  // namespace mezz::log_rules
