// SPDX-License-Identifier: Apache-2.0
#include "cache/pack/packer.h"

#include <lz4.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <cassert>
#include <cstring>
#include <thread>

#include "cache/pack/samples.h"

namespace mezz {
namespace {

using Outcome = PackedBlock::Outcome;

constexpr size_t kPrefixBytes = sizeof(layout::PackedPrefix);
constexpr int kLz4Acceleration = 1;
// The share of a record's room on the medium that packing must save: an eighth; a quarter with zstd, whose hits cost 5
// us more. (Text of random letters packs by a sixth. On a Zipfian load its hits then cost more than the misses that
// they save.)
constexpr uint64_t kSavedDenominator = 8, kSavedDenominatorZstd = 4;

unsigned WorkspaceCount() { return std::clamp(2 * std::thread::hardware_concurrency(), 2u, Workspaces::kCountMax); }

enum class Compressed : uint8_t { kDone, kTooLarge, kNoMemory };

Compressed CompressLz4(std::span<const std::byte> block, std::span<std::byte>* to) {
  LZ4_stream_t state;  // 16 KiB, which LZ4 initialises
  const int bytes = LZ4_compress_fast_extState(&state, reinterpret_cast<const char*>(block.data()),
                                               reinterpret_cast<char*>(to->data()), static_cast<int>(block.size()),
                                               static_cast<int>(to->size()), kLz4Acceleration);
  if (bytes <= 0) return Compressed::kTooLarge;
  *to = to->first(static_cast<size_t>(bytes));
  return Compressed::kDone;
}

Compressed CompressZstd(Workspace& workspace, std::span<const std::byte> block, const Dictionaries::Lease& dictionary,
                        std::span<std::byte>* to) {
  ZSTD_CCtx* const state = workspace.ZstdCompressor();
  if (state == nullptr) return Compressed::kNoMemory;
  const size_t bytes = PackFrame(state, dictionary ? &*dictionary : nullptr, block, *to);
  if (ZSTD_isError(bytes) != 0) {
    return ZSTD_getErrorCode(bytes) == ZSTD_error_memory_allocation ? Compressed::kNoMemory : Compressed::kTooLarge;
  }
  *to = to->first(bytes);
  return Compressed::kDone;
}

bool IsOurs(Codec codec) { return codec == Codec::kLz4 || codec == Codec::kZstd; }

}  // namespace

Packer::Packer(Codec codec, Counters* counters, Dictionaries* dictionaries, Samples* samples)
    : codec_(static_cast<uint8_t>(codec)),
      counters_(counters),
      dictionaries_(dictionaries),
      samples_(samples),
      workspaces_(WorkspaceCount()) {
  assert(IsOurs(codec));
}

void Packer::UseCodec(std::optional<Codec> codec) {
  assert(!codec || IsOurs(*codec));
  codec_.store(codec ? static_cast<uint8_t>(*codec) : 0, std::memory_order_relaxed);
  const bool is_zstd = codec == Codec::kZstd;
  if (samples_ != nullptr) samples_->Collect(is_zstd);
  if (!is_zstd) workspaces_.GiveBackZstd();
}

std::optional<Codec> Packer::codec() const {
  const uint8_t now = codec_.load(std::memory_order_relaxed);
  return now == 0 ? std::nullopt : std::optional(static_cast<Codec>(now));
}

uint64_t Packer::CodecBytesMax(Codec codec, size_t block_bytes) {
  const uint64_t denominator = codec == Codec::kZstd ? kSavedDenominatorZstd : kSavedDenominator;
  const uint64_t raw = layout::RecordBytes(block_bytes);
  const uint64_t record_max = (raw - (raw + denominator - 1) / denominator) / kLineBytes * kLineBytes;
  const uint64_t beside = sizeof(layout::RecordHeader) + kPrefixBytes;
  return record_max > beside ? record_max - beside : 0;
}

uint64_t Packer::DramBytesFor(Codec codec, size_t block_bytes) {
  return sizeof(Packer) + Workspace::BytesFor(codec, std::min(block_bytes, kPackBytesMax));
}

bool Packer::Wants(BlockRole role, size_t bytes) {
  if (!codec() || !IsPackable(role, bytes)) return false;
  if (auto_skip_[static_cast<size_t>(role)].ShouldTry()) return true;
  counters_->Add(Event::kPackSkipped, role);
  mean_share_.Note(1, 1);
  return false;
}

PackedBlock Packer::LeftForMemory(BlockRole role) {
  counters_->Add(Event::kPackNoMemory, role);
  return PackedBlock(Outcome::kLeft);
}

PackedBlock Packer::PackWanted(BlockRole role, size_t bytes, BlockSource source) {
  Workspaces::Lease workspace = workspaces_.Take();
  std::byte* const input = workspace ? workspace->Input(bytes) : nullptr;
  if (input == nullptr) return LeftForMemory(role);
  if (!record::Fill(source, 0, bytes, input)) return PackedBlock(Outcome::kSourceFailed);
  const std::span<const std::byte> block(input, bytes);
  return PackIn(std::move(workspace), role, block, record::PayloadChecksum(block));
}

PackedBlock Packer::Pack(BlockRole role, std::span<const std::byte> block, uint32_t checksum) {
  return PackIn(workspaces_.Take(), role, block, checksum);
}

// Compares the codecs on one block. A block that a codec cannot make small enough counts with its own size.
void Packer::CompareSometimes(Workspace& workspace, BlockRole role, std::span<const std::byte> block,
                              std::span<std::byte> scratch) {
  constexpr unsigned kShift = 4;
  const uint32_t left = until_compared_.load(std::memory_order_relaxed);
  until_compared_.store(left == 0 ? kComparedOneIn - 1 : left - 1, std::memory_order_relaxed);
  if (left != 0) return;
  std::span<std::byte> lz4 = scratch, zstd = scratch;
  Dictionaries::Lease dictionary;
  if (dictionaries_ != nullptr) dictionary = dictionaries_->TakeLive(role);
  const Compressed by_lz4 = CompressLz4(block, &lz4);
  const Compressed by_zstd = CompressZstd(workspace, block, dictionary, &zstd);
  if (by_zstd == Compressed::kNoMemory) return;
  const uint64_t lz4_bytes = by_lz4 == Compressed::kDone ? lz4.size() : block.size();
  const uint64_t zstd_bytes = by_zstd == Compressed::kDone ? zstd.size() : block.size();
  const auto sample =
      static_cast<uint32_t>(std::min(zstd_bytes * 100 * kPercentUnit / lz4_bytes, 1000ul * kPercentUnit));
  const uint32_t mean = zstd_percent_.load(std::memory_order_relaxed);
  zstd_percent_.store(Decayed(mean, sample, kShift), std::memory_order_relaxed);
}

PackedBlock Packer::PackIn(Workspaces::Lease workspace, BlockRole role, std::span<const std::byte> block,
                           uint32_t checksum) {
  const std::optional<Codec> codec = this->codec();
  if (!codec) return PackedBlock(Outcome::kLeft);
  const size_t codec_bytes_max = CodecBytesMax(*codec, block.size());
  const size_t bytes_max = CodecBytesMax(Codec::kLz4, block.size());  // of either
  assert(codec_bytes_max > 0 && codec_bytes_max <= bytes_max);
  std::byte* const output = workspace ? workspace->Output(kPrefixBytes + bytes_max) : nullptr;
  if (output == nullptr) return LeftForMemory(role);
  if (compares_) CompareSometimes(*workspace, role, block, {output, bytes_max});
  if (*codec != Codec::kZstd) workspace->GiveBackCompressor();  // a comparison's, or of before UseCodec
  std::span<std::byte> packed(output + kPrefixBytes, codec_bytes_max);
  Dictionaries::Lease dictionary;
  if (dictionaries_ != nullptr && *codec == Codec::kZstd) dictionary = dictionaries_->TakeLive(role);
  const uint16_t number = dictionary ? dictionary->number() : 0;
  const Compressed done =
      *codec == Codec::kLz4 ? CompressLz4(block, &packed) : CompressZstd(*workspace, block, dictionary, &packed);
  if (done == Compressed::kNoMemory) return LeftForMemory(role);
  auto_skip_[static_cast<size_t>(role)].Tried(/*rejected=*/done != Compressed::kDone);
  const size_t stored = done == Compressed::kDone ? kPrefixBytes + packed.size() : block.size();
  if (samples_ != nullptr && *codec == Codec::kZstd) samples_->Tried(role, block, number, stored);
  if (done == Compressed::kTooLarge) {
    counters_->Add(Event::kPackRejected, role);
    mean_share_.Note(1, 1);
    return {Outcome::kRejected, block, std::move(workspace)};
  }
  const layout::PackedPrefix prefix{.logical_bytes = static_cast<uint32_t>(block.size()),
                                    .logical_checksum = checksum,
                                    .codec = *codec,
                                    .type = 0,
                                    .dictionary = number,
                                    .reserved = 0};
  std::memcpy(output, &prefix, kPrefixBytes);
  mean_share_.Note(stored, block.size());
  if (number != 0) counters_->Add(Event::kPackedWithDictionary, role);
  PackedBlock done_block(Outcome::kPacked, {output, stored}, std::move(workspace));
  done_block.dictionary_ = std::move(dictionary);
  return done_block;
}

bool Packer::ImagePays(BlockRole role, size_t bytes, const Image& image) {
  return image.type != 0 && !image.bytes.empty() && IsPackable(role, bytes) &&
         image.bytes.size() <= CodecBytesMax(Codec::kImage, bytes);
}

layout::PackedPrefix Packer::PrefixOfImage(BlockRole role, size_t bytes, const Image& image) {
  auto_skip_[static_cast<size_t>(role)].Tried(/*rejected=*/false);
  mean_share_.Note(kPrefixBytes + image.bytes.size(), bytes);
  return {.logical_bytes = static_cast<uint32_t>(bytes),
          .logical_checksum = 0,
          .codec = Codec::kImage,
          .type = image.type,
          .dictionary = 0,
          .reserved = 0};
}

std::optional<layout::PackedPrefix> Packer::ReadPrefix(std::span<const std::byte> payload) {
  if (payload.size() <= kPrefixBytes) return std::nullopt;
  layout::PackedPrefix prefix;
  std::memcpy(&prefix, payload.data(), kPrefixBytes);
  const bool is_image = prefix.codec == Codec::kImage;
  const bool sound = (is_image ? prefix.type != 0 : IsOurs(prefix.codec) && prefix.type == 0) &&
                     (prefix.dictionary == 0 || prefix.codec == Codec::kZstd) && prefix.reserved == 0 &&
                     prefix.logical_bytes > payload.size() && prefix.logical_bytes <= kPackBytesMax;
  if (!sound) return std::nullopt;
  return prefix;
}

Unpacked Packer::Unpack(std::span<const std::byte> payload, const layout::PackedPrefix& prefix, std::byte* to) {
  assert(prefix.codec != Codec::kImage);
  const auto packed = payload.subspan(kPrefixBytes);
  if (prefix.codec == Codec::kLz4) {
    const int bytes = LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()), reinterpret_cast<char*>(to),
                                          static_cast<int>(packed.size()), static_cast<int>(prefix.logical_bytes));
    return bytes >= 0 && static_cast<uint32_t>(bytes) == prefix.logical_bytes ? Unpacked::kDone : Unpacked::kDamaged;
  }
  return UnpackZstd(packed, prefix, to);
}

// Unpacks a frame. A frame must name the same dictionary as the prefix. zstd does not check that: it unpacks a frame
// that names none with any dictionary.
Unpacked Packer::UnpackZstd(std::span<const std::byte> packed, const layout::PackedPrefix& prefix, std::byte* to) {
  if (ZSTD_getDictID_fromFrame(packed.data(), packed.size()) != prefix.dictionary) return Unpacked::kNoDictionary;
  const Dictionary* const dictionary = dictionaries_ != nullptr ? dictionaries_->Find(prefix.dictionary) : nullptr;
  if (prefix.dictionary != 0 && dictionary == nullptr) return Unpacked::kNoDictionary;

  const Workspaces::Lease workspace = workspaces_.Take();
  ZSTD_DCtx* state = workspace ? workspace->ZstdDecompressor() : nullptr;
  std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx*)> own(nullptr, ZSTD_freeDCtx);
  if (state == nullptr) {  // all workspaces in use: a state of its own for this one
    own.reset(ZSTD_createDCtx());
    state = own.get();
  }
  if (state == nullptr) return Unpacked::kNoMemory;
  const size_t bytes = dictionary != nullptr
                           ? ZSTD_decompress_usingDDict(state, to, prefix.logical_bytes, packed.data(), packed.size(),
                                                        dictionary->unpacker())
                           : ZSTD_decompressDCtx(state, to, prefix.logical_bytes, packed.data(), packed.size());
  if (ZSTD_isError(bytes) != 0 && ZSTD_getErrorCode(bytes) == ZSTD_error_memory_allocation) return Unpacked::kNoMemory;
  return bytes == prefix.logical_bytes ? Unpacked::kDone : Unpacked::kDamaged;
}

}  // namespace mezz
