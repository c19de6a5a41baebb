// SPDX-License-Identifier: Apache-2.0
// The options of the SCM tier that are one of a few words.
#pragma once

#include <optional>

#include "cache/base/words.h"
#include "cache/types.h"

namespace mezz {

// What the SCM tier's bytes live on.
enum class MediumKind {
  kFile,       // a mapped file: fsdax, tmpfs, any file system; or a devdax character device
  kNumaNode,   // memory of one NUMA node: CXL, KMEM-DAX
  kAnonymous,  // private memory of the process: tests, and machines without SCM
};
template <>
inline constexpr Words<3> kWordsOf<MediumKind> = {"file", "numa", "dram"};
// Whether what was stored is still there when the medium is opened again.
constexpr bool Remembers(MediumKind kind) { return kind == MediumKind::kFile; }

// Declared emulation: which device's latency and bandwidth are charged on top of the real medium (media/model.h).
enum class MediumModelName { kNone, kOptane100, kCxl };
template <>
inline constexpr Words<3> kWordsOf<MediumModelName> = {"none", "optane100", "cxl"};

// When a hit's payload is checked against its checksum. The header of a record is checked at every hit, whatever the
// mode, and a packed record's payload always is before it is unpacked. A mismatch is a counted miss, and the record is
// forgotten.
//   kOff      never
//   kSampled  by chance, at one hit in 256, and at one in (bytes / 4) of larger blocks: finds damage that persists
//   kAlways   at every hit, which reads all of the block: about 0.1 ns a byte. For media that may fail
//   kKeyed    at every hit, against a code that nobody can make without the caller's key (authenticator.h): about 0.5
//             ns a byte, and 16 bytes a record. For media that others may write to
enum class VerifyMode { kOff, kSampled, kAlways, kKeyed };
template <>
inline constexpr Words<4> kWordsOf<VerifyMode> = {"off", "sampled", "always", "keyed"};
// Whether the mode checks the payload at every hit.
constexpr bool VerifiesAll(VerifyMode mode) { return mode == VerifyMode::kAlways || mode == VerifyMode::kKeyed; }

// Whether records may be packed (docs/explanation/decisions.md, "Packed records"), and with what. The caller of
// ScmTier::Put chooses which of them are packed. The tier then holds more blocks, and each hit on a packed record pays
// for the unpacking.
enum class PackMode {
  kOff,
  kImage,  // takes blocks that the host hands over compressed (ScmTier::PutImage); packs the others as kLz4 does
  kLz4,    // about half the size; 7 us to pack 4 KiB, 1.2 to unpack
  kZstd,   // about a third; 17 and 6 us
  kAuto,   // as the caller says by ScmTier::UseCodec, which it may call again at any time; LZ4 until then
};
template <>
inline constexpr Words<5> kWordsOf<PackMode> = {"off", "image", "lz4", "zstd", "auto"};
inline constexpr PackMode kDefaultPackMode = PackMode::kAuto;

constexpr bool TakesImages(PackMode mode) { return mode == PackMode::kImage; }
// The codec that the tier packs with at first. Empty: it packs nothing.
constexpr std::optional<Codec> CodecOf(PackMode mode) {
  if (mode == PackMode::kOff) return std::nullopt;
  return mode == PackMode::kZstd ? Codec::kZstd : Codec::kLz4;
}

// Whether the mode packs with zstd, or may change to it (kAuto).
constexpr bool MayUseZstd(PackMode mode) { return mode == PackMode::kZstd || mode == PackMode::kAuto; }

// When the medium's pages are made present.
enum class Prepare {
  kBackground,  // a first part before Open returns, the rest in the background; the tier grows into it
  kBeforeOpen,  // all of them before Open returns: for benchmarks and tests that need the whole medium at once
};
template <>
inline constexpr Words<2> kWordsOf<Prepare> = {"background", "open"};

// What becomes of the blocks that an earlier life of the tier left on a medium of kFile. ("Life": from one Open of the
// medium to its close, or to the end of the process.) The other media do not remember: there every start is cold, and
// kRequire is refused.
//
// A close leaves a snapshot of the index. Open reads what it says of segments, 32 bytes each. Without a snapshot Open
// reads one line of each segment, about 10 us each. It waits for nothing more: the blocks come back while the tier
// serves, without a snapshot the youngest first.
enum class Recovery {
  kAuto,     // kWarm where the medium remembers, kDiscard where it does not
  kDiscard,  // they are forgotten
  kWarm,     // they are found again if medium and options are those that they were stored with, else forgotten
  kRequire,  // as kWarm; but where nothing could be kept, Open fails and leaves the medium as it is
};
template <>
inline constexpr Words<4> kWordsOf<Recovery> = {"auto", "discard", "warm", "require"};

// What ScmTier::Erase of one key promises of the time after a restart. (EraseAll is always durable.)
enum class EraseMode {
  kVolatile,  // nothing: an older record of the key may be found again
  kDurable,   // no older record is found again, however this process ends. Each Erase writes a line and drains
};
template <>
inline constexpr Words<2> kWordsOf<EraseMode> = {"volatile", "durable"};

// Which blocks a core dump of the process holds; the others are left out (MADV_DONTDUMP).
enum class CoreDump {
  kNone,  // none: the blocks of the DRAM tier lie in memory that is left out, too. For the tier alone it is kDram
  kDram,  // those of the DRAM tier
  kAll,   // those, and the medium
};
template <>
inline constexpr Words<3> kWordsOf<CoreDump> = {"none", "dram", "all"};

// What happens when the process touches memory of the medium that has failed or is gone (cache/media/bus_errors.h).
enum class BusErrorMode {
  kFatal,    // the process ends, as by any SIGBUS
  kContain,  // where the tier touched it: a counted miss, and the segment is used no more. Installs a signal handler
};
template <>
inline constexpr Words<2> kWordsOf<BusErrorMode> = {"fatal", "contain"};

}  // namespace mezz
