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

namespace mezz {

// What the SCM tier's bytes live on.
enum class MediumKind {
  kFile,       // a mapped file: fsdax, tmpfs, any file system; or a devdax character device
  kNumaNode,   // memory of one NUMA node: CXL, KMEM-DAX
  kAnonymous,  // private memory of the process: tests, and machines without SCM
};
std::string_view ToString(MediumKind kind);

// Declared emulation: which device's latency and bandwidth are charged on top of the real medium (media/model.h).
enum class MediumModelName { kNone, kOptane100, kCxl };
std::string_view ToString(MediumModelName name);
Status ParseMediumModel(std::string_view text, MediumModelName* name);  // refuses unknown names, listing the known

// When a hit's payload is checked against its checksum. (Its header is, at every hit.) A mismatch is a counted miss,
// and the record is forgotten.
//   kOff      never; but a packed record always is, before it is unpacked
//   kSampled  about one hit in bytes / 4 (at least 256), by chance: damage that persists is found
//   kAlways   at every hit: about 0.1 ns a byte, and all of the block is read; for media that are not trusted
enum class VerifyMode { kOff, kSampled, kAlways };
std::string_view ToString(VerifyMode mode);

// Whether records may be packed (docs/decisions.md, "Packed records"), and with what. Which of them are is the caller's
// to say: ScmTier::Put. Packed records hold more blocks and cost each hit the unpacking.
enum class PackMode {
  kOff,
  kImage,  // with images of blocks that the host hands over compressed (ScmTier::PutImage); others as kLz4
  kLz4,    // about half the size; 7 us to pack 4 KiB, 1.2 to unpack
  kZstd,   // about a third; 17 and 6 us
  kAuto,   // what the caller says, now and then anew: ScmTier::UseCodec. At first kLz4; takes images
};
std::string_view ToString(PackMode mode);  // "off", "image", "lz4", "zstd", "auto"
inline constexpr PackMode kDefaultPackMode = PackMode::kOff;
// Blocks that the tier is expected to hold for each that it would hold raw: source text in blocks of 4 KiB. The index
// is sized by it; data that pack better displace their coldest blocks (scm.displaced), data that do not pack waste
// DRAM. kAuto is sized for LZ4.
constexpr double ExpectedPackRatio(PackMode mode) {
  return mode == PackMode::kOff ? 1 : mode == PackMode::kZstd ? 3.25 : 2.25;
}

constexpr bool TakesImages(PackMode mode) { return mode == PackMode::kImage || mode == PackMode::kAuto; }
// What the tier itself packs records with, at first; nothing: it does not.
constexpr std::optional<Codec> CodecOf(PackMode mode) {
  if (mode == PackMode::kOff) return std::nullopt;
  return mode == PackMode::kZstd ? Codec::kZstd : Codec::kLz4;
}

// pack=kZstd trains a dictionary for each role from the blocks it packs, and uses it where that makes them a twentieth
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

struct PrefaultProgress {
  uint64_t bytes_done = 0;
  uint64_t bytes_total = 0;
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

  // The index has one 8-byte word for each `expected_block_bytes` of capacity (and a reserve), with `pack` for each so
  // many that are expected to fit (ExpectedPackRatio). Smaller values cost DRAM; with larger ones a medium full of
  // small blocks runs out of words first and drops its coldest blocks.
  uint32_t expected_block_bytes = 4096;

  MediumModelName model = MediumModelName::kNone;

  // Version of the program above the tier, written into the superblock: RocksDB derives its cache keys differently
  // before 7.6, so a restart must know who wrote the file. RocksDB: major * 1000000 + minor * 1000 + patch.
  uint64_t host_version = 0;

  VerifyMode verify = VerifyMode::kSampled;

  PackMode pack = kDefaultPackMode;
  DictionaryRules dictionaries;

  // A background thread checks the payloads of resident records at this rate, over and over, in the order of the index;
  // 0: none. Damaged records are forgotten and counted. A tier of 1 TB takes 12 days at 1 MB/s.
  uint64_t scrub_bytes_per_second = 0;

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

  // One line, as it appears in reports: "file:/mnt/pmem0/mezz 1.0 GiB, 4 MiB segments, model none".
  std::string ToString() const;
};

inline constexpr uint64_t kSegmentBytesMin = 256 << 10;
inline constexpr uint64_t kSegmentBytesAutoMax = 4 << 20;
inline constexpr uint64_t kSegmentBytesMax = 64 << 20;
inline constexpr uint32_t kSegmentsMin = 8;                // open segments, one kept free, and something to reclaim
inline constexpr uint64_t kCapacityBytesMax = 1ull << 42;  // 36 bits of 64-byte lines in an index word

}  // namespace mezz
