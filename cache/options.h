// SPDX-License-Identifier: Apache-2.0
// Everything the SCM tier can be told, and the only judge of it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "cache/status.h"
#include "cache/types.h"
#include "cache/verify_key.h"

namespace mezz {

// What the SCM tier's bytes live on.
enum class MediumKind {
  kFile,       // a mapped file: fsdax, tmpfs, any file system; or a devdax character device
  kNumaNode,   // memory of one NUMA node: CXL, KMEM-DAX
  kAnonymous,  // private memory of the process: tests, and machines without SCM
};
std::string_view ToString(MediumKind kind);
// What was stored is there when the medium is opened again.
constexpr bool Remembers(MediumKind kind) { return kind == MediumKind::kFile; }

// Declared emulation: which device's latency and bandwidth are charged on top of the real medium (media/model.h).
enum class MediumModelName { kNone, kOptane100, kCxl };
std::string_view ToString(MediumModelName name);
Status ParseMediumModel(std::string_view text, MediumModelName* name);  // refuses unknown names, listing the known

// When a hit's payload is checked against its checksum. (Its header is, at every hit.) A mismatch is a counted miss,
// and the record is forgotten.
//   kOff      never; but a packed record always is, before it is unpacked
//   kSampled  about one hit in bytes / 4 (at least 256), by chance: damage that persists is found
//   kAlways   at every hit: about 0.1 ns a byte, and all of the block is read; for media that may fail
//   kKeyed    at every hit, against a code that nobody can make without the caller's key (authenticator.h): about 0.5
//             ns a byte; for media that others may write to. Takes 16 bytes a record
enum class VerifyMode { kOff, kSampled, kAlways, kKeyed };
// At each hit.
constexpr bool VerifiesAll(VerifyMode mode) { return mode == VerifyMode::kAlways || mode == VerifyMode::kKeyed; }
std::string_view ToString(VerifyMode mode);

// Whether records may be packed (docs/explanation/decisions.md, "Packed records"), and with what. Which of them
// are is the caller's to say: ScmTier::Put. Packed records hold more blocks and cost each hit the unpacking.
enum class PackMode {
  kOff,
  kImage,  // with images of blocks that the host hands over compressed (ScmTier::PutImage); others as kLz4
  kLz4,    // about half the size; 7 us to pack 4 KiB, 1.2 to unpack
  kZstd,   // about a third; 17 and 6 us
  kAuto,   // what the caller says, now and then anew: ScmTier::UseCodec. At first kLz4
};
std::string_view ToString(PackMode mode);  // "off", "image", "lz4", "zstd", "auto"
inline constexpr PackMode kDefaultPackMode = PackMode::kAuto;

constexpr bool TakesImages(PackMode mode) { return mode == PackMode::kImage; }
// What the tier itself packs records with, at first; nothing: it does not.
constexpr std::optional<Codec> CodecOf(PackMode mode) {
  if (mode == PackMode::kOff) return std::nullopt;
  return mode == PackMode::kZstd ? Codec::kZstd : Codec::kLz4;
}

// Packs with zstd, or may come to it (kAuto).
constexpr bool MayUseZstd(PackMode mode) { return mode == PackMode::kZstd || mode == PackMode::kAuto; }

// For each role a dictionary is trained from the blocks that zstd packs, and used where it makes them a twentieth
// smaller (cache/pack/trainer.h). The defaults are for production; tests train sooner.
struct DictionaryRules {
  // Of the blocks that are packed one in so many is a sample. 0: no dictionaries.
  uint32_t sample_every = 8;
  // A dictionary is trained from so many bytes of samples, and is a 32nd as large: 64 KiB, less where it would take
  // more than a sixteenth of a segment.
  uint32_t sample_bytes_max = 2 << 20;
  // After a training so many times what its samples stood for is packed before the next: 1 GiB. Twice that after each
  // training that was of no use, up to 64 times.
  uint32_t rest = 64;
};
inline constexpr uint32_t kSampleBytesMin = 32 << 10;

// When the medium's pages are made present.
enum class Prepare {
  kBackground,  // a first part at open, the rest behind the open tier, which grows into it
  kBeforeOpen,  // all of it before Open returns: benchmarks and tests that want the whole medium from the first request
};
std::string_view ToString(Prepare prepare);                    // "background", "open"
Status ParsePrepare(std::string_view text, Prepare* prepare);  // refuses unknown words, listing the known

// What becomes of the blocks that an earlier life left on a medium of kFile. The other media forget by themselves:
// there every start is cold, and kRequire is refused.
//
// Open reads what the snapshot of the index that a close left says of segments (32 bytes each), or, where there is
// none, one line of each segment (about 10 us each), and does not wait for more: the blocks come back while the tier
// serves, the youngest first where there is no snapshot.
enum class Recovery {
  kAuto,     // kWarm where the medium remembers, kDiscard where it does not
  kDiscard,  // they are forgotten
  kWarm,     // they are found again, where medium and options are those they were stored with; else forgotten
  kRequire,  // as kWarm; Open fails where nothing could be kept, and leaves the medium as it is
};
std::string_view ToString(Recovery recovery);  // "auto", "discard", "warm", "require"

// What ScmTier::Erase of one key promises of the time after a restart. (EraseAll is always durable.)
enum class EraseMode {
  kVolatile,  // nothing: an older record may be found again
  kDurable,   // no older record is found again, however this process ends; a line of the medium and a drain each
};
std::string_view ToString(EraseMode mode);  // "volatile", "durable"

// What becomes of the process when the medium's memory stops being there under its hands (cache/media/bus_errors.h).
enum class BusErrorMode {
  kFatal,    // it ends, as by any SIGBUS
  kContain,  // what the tier itself touches is a counted miss, and its segment is not used any more; installs a handler
};
std::string_view ToString(BusErrorMode mode);  // "fatal", "contain"

// What to give pack_stage_bytes where a core is to spare: 64 blocks of 4 KiB, each of which may be an eighth larger,
// packed in 0.4 (LZ4) to 0.9 ms (zstd).
inline constexpr uint64_t kUsualPackStageBytes = 288 << 10;
inline constexpr uint64_t kPackStageBytesMin = 64 << 10;
inline constexpr uint64_t kPackStageBytesMax = 64 << 20;

inline constexpr uint32_t kFaultsMaxDefault = 16;

struct RecoveryReport;  // cache/recoverer.h

struct PrefaultProgress {
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;
  double seconds = 0;  // since this medium was mapped
};

struct ScmOptions {
  MediumKind medium = MediumKind::kFile;

  // kFile: the file to create or reuse. Created 0600, never followed through a symbolic link, locked while open.
  std::string path;

  // kNumaNode: the node whose memory is used, and no other.
  int numa_node = -1;

  // Bytes of the medium in use: superblock, segments and all. The tier never grows past this; it
  // uses the whole segments that fit, so what is left over at the end stays unused.
  uint64_t capacity_bytes = 0;

  // Unit of reclaim; a power of two, at least 256 KiB. 0 chooses capacity / 256, between 256 KiB and 4 MiB. Larger
  // segments admit larger blocks (a block must fit one) and cost fewer, longer reclaims; smaller ones waste less of a
  // small medium.
  uint64_t segment_bytes = 0;

  // The index has one 8-byte word for each `expected_block_bytes` of capacity (and a reserve); with `pack` it grows, as
  // more blocks turn out to fit, to four times that. Smaller values cost DRAM; with larger ones a medium full of small
  // blocks runs out of words first and drops its coldest blocks (scm.displaced).
  uint32_t expected_block_bytes = 4096;

  MediumModelName model = MediumModelName::kNone;

  // Version of the program above the tier, written into the superblock: RocksDB derives its cache keys differently
  // before 7.6, so a restart must know who wrote the file. RocksDB: major * 1000000 + minor * 1000 + patch.
  uint64_t host_version = 0;
  // The host's name for how it derives its keys. Records that were stored under another one, or by another
  // host_version, are not found again.
  uint32_t key_scheme = 0;

  // With anything but kDiscard a key must name the same bytes for all time, as RocksDB's do
  // (docs/explanation/reliability.md): a record that was erased or replaced before a crash may be what comes back. Keys
  // of FileId{0} do not come back.
  Recovery recovery = Recovery::kDiscard;
  // kDurable is for keys whose bytes change: whoever changes them calls Erase before he puts the new ones. Also for a
  // later life with another `recovery`. A medium that forgets by itself needs nothing for it.
  EraseMode erase = EraseMode::kVolatile;
  // So long after Open the recovery ends; what did not come back by then is forgotten. 0: no such bound. A larger one
  // brings more back, and costs the first requests more CPU and bandwidth of the medium beside them.
  uint64_t recovery_budget_ms = 0;
  // Called once when it is over, by a thread of its own or by Open, unless there is nothing to recover or the tier is
  // closed before; must neither throw nor close the tier.
  std::function<void(const RecoveryReport&)> on_recovered;

  VerifyMode verify = VerifyMode::kSampled;
  // The secret of verify=keyed, or the file it is read from at Open (0600, and ours): one of them. The tier keeps
  // neither it nor this copy. What was stored with another key, or with none, is discarded.
  std::optional<VerifyKey> verify_key;
  std::string verify_key_file;

  // After so many faults of the medium (docs/explanation/reliability.md) the tier closes itself for good: every
  // look-up is a miss, and every put is refused. So it does too when less than kSegmentsMin segments are left that
  // have not failed three times. 0: neither; a fault costs what it hit, and no more. Smaller: a failing device is left
  // sooner.
  uint32_t faults_max = kFaultsMaxDefault;
  // kContain: what the tier reads and writes. Bytes of a hit in place are read by others, whom a SIGBUS ends as before:
  // copy them (PinnedBlock::SteadyBytes) where none may.
  BusErrorMode bus_errors = BusErrorMode::kFatal;
  // Called with the rest of a sentence that begins with the medium: by Open, if the kernel knows bad blocks of it; and
  // once if the tier closes itself, by whichever thread met the last fault, or comes by after it; the destructor's too;
  // and once if the file is removed, replaced or renamed, by a thread of the medium's. Must neither throw nor call the
  // tier.
  std::function<void(std::string_view what)> on_trouble;

  PackMode pack = kDefaultPackMode;
  DictionaryRules dictionaries;

  // Blocks to be packed are copied into so much DRAM, and packed and stored from there by a background thread, so that
  // no put waits for it; a block for which there is no room is packed by its put. Rounded down to whole lines for each
  // of 64 parts: a block takes one part or more. 0: each put packs. Unused with pack=off.
  uint64_t pack_stage_bytes = 0;

  // A background thread checks the payloads of resident records at this rate, over and over, in the order of the index;
  // 0: none. Damaged records are forgotten and counted. A tier of 1 TB takes 12 days at 1 MB/s.
  uint64_t scrub_bytes_per_second = 0;

  // When the tier is closed, all bytes of a medium of kFile that ever held records are overwritten with zeros, durably,
  // so that nothing is found there (docs/explanation/security.md). Takes what writing them takes: the destructor
  // blocks. What a process leaves that is killed, the next tier with this option overwrites when it is closed, whatever
  // `recovery` is.
  // The other media forget by themselves: nothing is done.
  bool scrub_on_close = false;

  // Whether a core dump of the process holds the medium (MADV_DONTDUMP otherwise).
  bool core_dump = false;

  // All pages of the medium are touched once, so that no hit pays a first-touch fault.
  Prepare prepare = Prepare::kBackground;

  // Threads that do so. 0: one per CPU at open, one in the background. `on_prefault` is called now and then by one of
  // them at a time, also behind the open tier, and must not throw; the last call has bytes_done == bytes_total, unless
  // the tier is closed or space runs out before.
  unsigned prefault_threads = 0;
  std::function<void(const PrefaultProgress&)> on_prefault;

  // Judges everything that can be judged without touching the medium.
  Status Validate() const;

  // Resolved `segment_bytes`. REQUIRES: Validate() is ok.
  uint64_t EffectiveSegmentBytes() const;
  // `recovery`, and what kAuto is on this medium.
  Recovery EffectiveRecovery() const;

  // One line, as it appears in reports: "file:/mnt/pmem0/mezz 1.0 GiB, 4 MiB segments, model none".
  std::string ToString() const;
};

inline constexpr uint64_t kSegmentBytesMin = 256 << 10;
inline constexpr uint64_t kSegmentBytesAutoMax = 4 << 20;
inline constexpr uint64_t kSegmentBytesMax = 64 << 20;
inline constexpr uint32_t kSegmentsMin = 8;  // open segments, one kept free, and something to reclaim
inline constexpr uint64_t kRecoveryBudgetMsMax = 24ull * 3600 * 1000;
inline constexpr uint64_t kCapacityBytesMax = 1ull << 42;  // 36 bits of 64-byte lines in an index word

}  // namespace mezz
