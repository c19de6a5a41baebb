// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <random>

namespace mezz {

// What NewId() tells of a cache whose blocks may outlive the process. RocksDB builds keys from these numbers where a
// file tells no unique id, and for the rows of a row cache, and promises nothing of them but that one cache never gives
// a number twice. Its own caches count from zero in each process: behind an SCM tier that finds its blocks again, the
// first number of today would name what the first one of yesterday did. So ours count from a random one of 2^62, above
// zero and below 2^63 as RocksDB asserts: two lives of a million numbers each meet in one of 2^41 restarts. Nothing has
// to be written for that, so nothing can be lost; and the tier brings no key of such a number back anyway (FileId{0}).
class NewIds {
 public:
  NewIds() {
    std::random_device random;
    base_ = (uint64_t{random()} << 32 | random()) >> 2;
  }
  // `counted`: by the cache below, from zero.
  uint64_t Of(uint64_t counted) const { return base_ + counted; }

 private:
  uint64_t base_;
};

}  // namespace mezz
