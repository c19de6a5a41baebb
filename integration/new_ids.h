// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>

namespace mezz {

// The numbers that NewId() gives for a cache whose blocks may outlive the process. RocksDB builds keys from them if a
// file has no unique id, and for the rows of a row cache. It requires only that one cache never gives a number twice,
// so its own caches count from zero in each process. Behind an SCM tier that finds its blocks again after a restart,
// equal numbers of two processes would name different bytes. So ours count from a random one of 2^62 numbers, above
// zero and below 2^63 as RocksDB asserts. Two lives of a million numbers each overlap in one of 2^41 restarts. Nothing
// has to be written for that, so nothing can be lost. Besides, the tier brings back no key of such a number
// (FileId{0}).
class NewIds {
 public:
  NewIds() {
    std::random_device random;
    base_ = (uint64_t{random()} << 32 | random()) >> 2;
  }
  // `counted` is the number that the cache below gives, which counts from zero.
  uint64_t Of(uint64_t counted) const { return base_ + counted; }

 private:
  uint64_t base_;
};

}  // namespace mezz
