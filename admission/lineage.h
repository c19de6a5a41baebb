// SPDX-License-Identifier: Apache-2.0
// What is known of a block that a compaction writes: where its entries came from, and how often those were asked for.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace mezz {

// Where a compaction found a block that it read, from the least wanted to the most.
enum class Standing : uint8_t {
  kNowhere,  // in neither tier: it read flash
  kScmCold,  // in the SCM tier, not hit since it was written or spared
  kScmHot,   // in the SCM tier, hit
  kDram,     // in the DRAM tier
};
inline constexpr size_t kStandings = 4;

// A block that a compaction read: a parent of blocks that it writes.
struct Parent {
  Standing standing = Standing::kNowhere;
  uint8_t frequency = 0;  // 0..15: how often it was asked for lately (Policy::Frequency)
  uint16_t entries = 1;   // keys in it
};

// What is known of a block that RocksDB has written and offers to the cache before anybody asked for it.
struct Lineage {
  enum class Kind : uint8_t {
    kFlushed,  // by a flush: its entries were in no block before
    kHeir,     // by a compaction; the members below tell about its parents
    kUnknown,  // by a compaction, and its parents are not known
  };
  Kind kind = Kind::kUnknown;
  Standing best = Standing::kNowhere;  // the best of its parents' standings
  uint8_t frequency = 0;               // of all parents, each weighted by the share of its keys that is in this block
  // For each standing, the percentage of its keys whose former block had it. Where keys cannot be read, 100 at `best`.
  std::array<uint8_t, kStandings> percent{};

  // Sums up the parents, key by key. REQUIRES: `parent` held the key that is added.
  struct Sum {
    std::array<uint32_t, kStandings> keys{};
    double frequency = 0;

    void Add(const Parent& parent);
    Lineage Result() const;
  };
};

// The keys of the blocks that one thread's compaction has read lately, each with what is known of its block. A key is
// known by its hash, which the caller salts with what must not be mixed up.
//
// The space is fixed and kWays-way set-associative; each set forgets the oldest key first. One thread, the owner, notes
// keys; any thread may look.
//
// Each slot is one atomic word: tag << 14 | entries << 6 | frequency << 2 | standing. 0: empty.
//   empty or old --Note, by the owner: store--> a key's --kWays keys of the set later, or Clear: store--> another's, 0
// Relaxed: a word is complete in itself and publishes nothing. A reader beside the owner may miss a key that is being
// moved within its set, and takes its block for one that stood nowhere.
//
// Thread-safe as said above. Not copyable.
class ParentTable {
 public:
  ParentTable();

  // For the owner. A key that is noted twice keeps the better standing, as two versions of it were read.
  void Note(uint64_t hash, const Parent& parent);
  void Clear();

  std::optional<Parent> Find(uint64_t hash) const;

  // Enough for the keys of about a hundred open inputs of a compaction. Takes 64 KiB.
  static constexpr size_t kKeys = 8192;
  static constexpr size_t kBytes = kKeys * sizeof(uint64_t);

 private:
  static constexpr size_t kWays = 8;  // a line
  static constexpr unsigned kTagShift = 14;
  struct alignas(64) Set {
    std::array<std::atomic<uint64_t>, kWays> words{};
  };
  static uint64_t WordOf(uint64_t hash, const Parent& parent);
  static Parent ParentOf(uint64_t word);
  // The low bits of the hash choose the set, those above them are the tag.
  static size_t SetOf(uint64_t hash) { return hash % (kKeys / kWays); }

  const std::unique_ptr<std::array<Set, kKeys / kWays>> sets_;
};

}  // namespace mezz
