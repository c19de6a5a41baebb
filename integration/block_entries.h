// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace mezz {

// Reads the keys of one of RocksDB's data blocks, as it lies uncompressed in the cache, and hashes each user key.
//
// Format (table/block_based/block_builder.cc, the same from 7.8 to 11.8): entries of three varint32 (bytes shared with
// the key before, bytes not shared, bytes of the value), the key's bytes that are not shared, and the value; then the
// restarts, uint32 each, of which the first is 0, and their number in the last uint32, whose upper bits are flags. A
// key ends in eight bytes of sequence number and type, which a compaction may change; what stands before them is the
// user key.
//
// Returns false, and leaves `hashes` empty, if the block has another format (as with separate_key_value_in_data_block),
// or if a key is longer than kEntryKeyBytesMax. A block of another format can pass for entries only if its bytes happen
// to add up to the restarts. Its hashes then match no key. Never reads beyond `block`. Thread-safe.
bool HashEntries(std::span<const std::byte> block, uint64_t salt, std::vector<uint64_t>* hashes);
// Calls visit(key) for each user key of such a block, in order. Returns false in the cases where HashEntries does; then
// ignore what was visited.
bool VisitEntries(std::span<const std::byte> block, const std::function<void(std::string_view key)>& visit);

// The hash that HashEntries gives for this key.
uint64_t HashOfEntry(std::string_view key, uint64_t salt);

inline constexpr size_t kEntryKeyBytesMax = 2048;

}  // namespace mezz
