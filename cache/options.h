// SPDX-License-Identifier: Apache-2.0
// The options of the SCM tier. Validate() is the only place that judges them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/option_words.h"
#include "cache/status.h"
#include "cache/types.h"
#include "cache/verify_key.h"

namespace mezz {

// When dictionaries are trained. Each role has one: it is trained from blocks that zstd packs, and used where it makes
// them a twentieth smaller (cache/pack/trainer.h). The defaults are for production; tests train sooner.
struct DictionaryRules {
  // One in `sample_every` packed blocks is a sample. 0: no dictionaries.
  uint32_t sample_every = 8;
  // The bytes of samples that a dictionary is trained from. The dictionary is a 32nd as large, 64 KiB by default, but
  // takes at most a sixteenth of a segment.
  uint32_t sample_bytes_max = 2 << 20;
  // How many bytes are packed between two trainings, in multiples of what the samples of one stand for: 1 GiB by
  // default. It doubles with each training that was of no use, up to 64 times that.
  uint32_t rest = 64;
};
inline constexpr uint32_t kSampleBytesMin = 32 << 10;

// A good pack_stage_bytes: room for 64 blocks of 4 KiB, each up to an eighth larger. One core
// packs them in 0.4 ms with LZ4 and in 0.9 ms with zstd.
inline constexpr uint64_t kUsualPackStageBytes = 288 << 10;
inline constexpr uint64_t kPackStageBytesMin = 64 << 10;
inline constexpr uint64_t kPackStageBytesMax = 64 << 20;

inline constexpr uint32_t kFaultsMaxDefault = 16;

struct RecoveryReport;  // cache/recovery_report.h

struct PrefaultProgress {
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;
  double seconds = 0;  // since the medium was mapped
};

// One of several media of a tier: as the fields of the same names in ScmOptions.
struct ScmMember {
  MediumKind medium = MediumKind::kFile;
  std::string path{};
  int numa_node = -1;
  uint64_t capacity_bytes = 0;
  Level level = Level::kFast;

  // As the URI names it: "dram", "numa:2", a path.
  std::string Name() const;

  bool operator==(const ScmMember&) const = default;
};
// Each member has whole segments, and begins on a huge page.
inline constexpr uint64_t kMemberMultiple = 2 << 20;

struct ScmOptions {
  MediumKind medium = MediumKind::kFile;

  // Several media, 2 to kMembersMax, in place of `medium`, `path` and `numa_node`. Those of one level lie
  // striped: they fill alike, each by its share of the bytes, so that their bandwidths add up. If some are slow, they
  // stand behind the fast ones: blocks are put on the fast ones, and those that reclaim takes from there are offered to
  // the slow ones (SurvivorJudge). `capacity_bytes` is the sum of all. One that fails is left out, and the others go
  // on; a level of which less than kSegmentsOfLevelMin (log_rules.h) segments are left is not written to. An earlier
  // life is found again if it had the same members, in this order and of these sizes, whatever their levels were; what
  // a member lost, or a member that does not remember had, is not.
  std::vector<ScmMember> members;

  // kFile: the file to create or reuse. It is created with mode 0600 and locked while open; a symbolic link is refused.
  std::string path;

  // kNumaNode: the node. All memory of the medium comes from it.
  int numa_node = -1;

  // Bytes of the medium in use, superblock and segments included. The tier never grows past this. It uses the whole
  // segments that fit; a rest at the end stays unused.
  uint64_t capacity_bytes = 0;

  // The unit of reclaim: a power of two, at least 256 KiB. 0 chooses capacity / 256, between 256 KiB and 4 MiB. A block
  // must fit a segment, so larger segments admit larger blocks; reclaims are fewer and longer. Smaller segments waste
  // less of a small medium.
  uint64_t segment_bytes = 0;

  // The index has one 8-byte word for each `expected_block_bytes` of capacity, and a reserve. With `pack` it grows to
  // up to four times that, as more blocks turn out to fit. Smaller values cost DRAM. With larger ones a medium full of
  // small blocks runs out of words, and drops its coldest blocks (scm.displaced).
  uint32_t expected_block_bytes = 4096;

  // What the medium is to behave like, for measurements; of several media all. Or one for each of several, none at all.
  MediumModelName model = MediumModelName::kNone;
  std::vector<MediumModelName> member_models;

  // The version of the program above the tier, written into the superblock. RocksDB derives its cache keys differently
  // before 7.6, so a restart must know who wrote the file. For RocksDB: major * 1000000 + minor * 1000 + patch.
  uint64_t host_version = 0;
  // The host's number of how it derives its keys. Records that were stored under another one, or by another
  // host_version, are not found again.
  uint32_t key_scheme = 0;

  // With anything but kDiscard a key must name the same bytes for all time, as RocksDB's do
  // (docs/explanation/reliability.md). The reason: after a crash a record that was erased or replaced may come back.
  // Keys of FileId{0} do not come back.
  Recovery recovery = Recovery::kDiscard;
  // kDurable is for keys whose bytes change. Call Erase before the new bytes are put; a later life with another
  // `recovery` then does not find the old ones either. On a medium that does not remember it costs nothing.
  EraseMode erase = EraseMode::kVolatile;
  // The recovery ends this long after Open, in milliseconds; blocks that did not come back by then are forgotten. 0: no
  // bound. A larger bound brings more back, and takes CPU and bandwidth of the medium from the first requests for
  // longer.
  uint64_t recovery_budget_ms = 0;
  // Called once when the recovery is over, by a thread of the tier or by Open. It is not called if there is nothing to
  // recover, or if the tier is closed before. It must neither throw nor close the tier.
  std::function<void(const RecoveryReport&)> on_recovered;

  VerifyMode verify = VerifyMode::kSampled;
  // The secret of verify=keyed: give the key, or the file that Open reads it from (mode 0600, owned by this user), not
  // both. The tier keeps neither the secret nor this copy. Records that were stored with another key, or with none, are
  // discarded.
  std::optional<VerifyKey> verify_key;
  std::string verify_key_file;

  // After this many faults of the medium (docs/explanation/reliability.md) the tier closes itself for good: every
  // look-up is a miss, and every put is refused. It also does so when fewer than kSegmentsMin segments are left that
  // have not failed three times. With 0 it does neither: a fault costs the record that it hit, and no more. With a
  // smaller value a failing device is left sooner.
  uint32_t faults_max = kFaultsMaxDefault;
  // kContain covers what the tier itself reads and writes. The bytes of a hit in place are read by the caller, where a
  // SIGBUS still ends the process; use a copy (PinnedBlock::SteadyBytes) where that must not happen.
  BusErrorMode bus_errors = BusErrorMode::kFatal;
  // Called with the rest of a sentence whose subject is the medium:
  // - by Open, if the kernel knows bad blocks of the medium;
  // - once if the tier closes itself, by the thread that met the last fault or by one that calls the tier after it, the
  //   one that destroys it included;
  // - once if the file is removed, replaced or renamed, by a thread of the medium,
  // - once for each medium whose preparation ends early, as its space or memory ran out, by a thread that prepares it.
  // It must neither throw nor call the tier.
  std::function<void(std::string_view what)> on_trouble;

  PackMode pack = kDefaultPackMode;
  DictionaryRules dictionaries;

  // DRAM into which blocks to be packed are copied, if their put leaves that to the stage (PackedBy). A background
  // thread packs and stores them from there; a block for which there is no room is packed by its put. The bytes are
  // split into 64 parts of whole lines, and a block takes one part or more. 0: each put packs. Unused with pack=off.
  uint64_t pack_stage_bytes = 0;

  // The rate at which a background thread checks the payloads of resident records, over and over, in the order of the
  // index. Damaged records are forgotten and counted. A tier of 1 TB takes 12 days at 1 MB/s. 0: no thread.
  uint64_t scrub_bytes_per_second = 0;

  // When the tier is closed, all bytes of a medium of kFile that ever held records are overwritten with zeros, durably,
  // so that nothing is found there (docs/explanation/security.md). The destructor blocks as long as the writing takes.
  // What a killed process leaves is overwritten by the next tier with this option when it is closed, whatever
  // `recovery` is. Nothing is done for the other media, which do not remember.
  bool scrub_on_close = false;

  // What a core dump of the process holds of cached blocks. The tier itself leaves out what waits to be packed, and
  // samples of blocks, whatever this says.
  CoreDump core_dump = CoreDump::kDram;

  // When all pages of the medium are touched once, so that no hit pays for a first-touch fault.
  Prepare prepare = Prepare::kBackground;

  // The number of threads that touch the pages. 0: one for each CPU before Open returns, one in the background. They
  // call `on_prefault` now and then, one thread at a time, also after Open has returned. It must not throw. The last
  // call has bytes_done == bytes_total, unless the tier is closed or space runs out before.
  unsigned prefault_threads = 0;
  std::function<void(const PrefaultProgress&)> on_prefault;

  // Checks everything that can be checked without touching the medium. The message names the option and what to do.
  Status Validate() const;

  // `segment_bytes`, or what 0 chooses. REQUIRES: Validate() is ok.
  uint64_t EffectiveSegmentBytes() const;
  // The options with all sizes rounded down to what is used, and the segment size chosen. REQUIRES: Validate() is ok.
  ScmOptions Effective() const;
  // Whether the medium, or one of several, still has what was stored when it is opened again.
  bool Remembers() const;
  // Where the slow media begin, from the start of the first medium; UINT64_MAX if none is slow. REQUIRES: the options
  // are Effective().
  uint64_t SlowBegin() const;
  // The model of each medium, or one for all; and as the URI names them: "none", "cxl,optane100".
  std::vector<MediumModelName> Models() const;
  std::string ModelText() const;
  // Whether a medium has a model.
  bool IsEmulated() const;
  // The options of one of several media, which name it alone.
  ScmOptions OfMember(size_t number) const;
  // The medium as the URI names it: "dram", "numa:2", a path; of several each with its bytes.
  std::string MediumText() const;
  // `recovery`; for kAuto, what that means on this medium.
  Recovery EffectiveRecovery() const;

  // One line, as it appears in reports: "file:/mnt/pmem0/mezz 1.0 GiB, 4 MiB segments, model none".
  std::string ToString() const;
};

inline constexpr uint64_t kSegmentBytesMin = 256 << 10;
inline constexpr uint64_t kSegmentBytesAutoMax = 4 << 20;
inline constexpr uint64_t kSegmentBytesMax = 64 << 20;
inline constexpr uint32_t kSegmentsMin = 8;  // open segments, one kept free, and something to reclaim
inline constexpr uint64_t kRecoveryBudgetMsMax = 24ull * 3600 * 1000;
inline constexpr uint64_t kCapacityBytesMax = 1ull << 42;  // an index word has 36 bits for a 64-byte line

}  // namespace mezz
