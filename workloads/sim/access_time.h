// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "admission/curves/two_tier.h"
#include "cache/media/model.h"

namespace mezz::sim {

inline constexpr double kDramRandomReadNs = 81;  // Izraelevitz et al. 2019
// As integration/hybrid_core.cc weighs them for serve=auto.
inline constexpr double kCopyFixedNs = 40, kCopyNsPerByte = 0.03;

// What one access costs a thread that has the devices to itself, by where the block was found; nanoseconds. `lines` is
// BlockSearchLines(block): the dependent line reads of RocksDB's search of a block.
//
//   dram_hit   lines x 81                                     DRAM's random read (Izraelevitz et al. 2019)
//   scm_hit    the cheaper of in place, lines x the medium's random read, and copied: as a promotion
//   promotion  random read + block / a thread's read bandwidth, 40 + 0.03 x block for the copy; its search is free
//   miss       flash + dram_hit
//   scm_write  record / write bandwidth, at least the fixed part of a write
//   spare      a record read and streamed back: random read + record / a thread's read bandwidth + scm_write
//   unpack     a packed record read as a stream, and unpacked: LZ4 1.2 us, zstd 5.7 us for 4 KiB, as measured on source
//              text (docs/how-to/simulate.md); of a hit and of a promotion alike, whose copy it is
//   pack       7 us, zstd 17 us for 4 KiB; in vain, of random bytes, 0.9 and 4.1 us
//   repack     a raw record read as a stream, and its packed record written
//   demotion   from the fast level to the slow one: a record read there as a stream, and written here
//
// Reads are never faster than the shared bandwidth allows. The mean access time charges every write and second chance
// to the accesses, as if none were hidden: sum of count x cost / accesses. Queueing between threads is left out.
struct AccessCosts {
  double dram_hit_ns = 0;
  double scm_hit_ns = 0;
  double promotion_ns = 0;
  double miss_ns = 0;
  double scm_write_ns = 0;
  double spare_ns = 0;
  double unpack_ns = 0;
  double pack_ns = 0;
  double reject_ns = 0;        // of a try in vain
  double packed_write_ns = 0;  // as scm_write and spare, of packed records
  double packed_spare_ns = 0;
  double repack_ns = 0;
};
AccessCosts CostsOf(const MediumModel& model, double block_bytes, double flash_us);
double Lz4UnpackNs(double block_bytes);
// Adds those of records that take `packed_record_bytes`.
void AddPackedCosts(const MediumModel& model, double block_bytes, Codec codec, double packed_record_bytes,
                    AccessCosts* costs);

double MeanAccessNs(const AccessCosts& costs, const SimCounts& counts);
// The same of two levels, each with the costs of its medium.
double MeanAccessNs(const AccessCosts& fast, const AccessCosts& slow, const SimCounts& counts);

}  // namespace mezz::sim
