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
// False: these are no such entries, as with separate_key_value_in_data_block, or a key is longer than kKeyBytesMax.
// `hashes` then holds nothing. A block of another format may pass for entries only where its bytes happen to add up to
// the restarts; the hashes are then of nothing, and match nothing. Never reads beyond `block`. Thread-safe.
bool HashEntries(std::span<const std::byte> block, uint64_t salt, std::vector<uint64_t>* hashes);
// The same of the keys themselves: calls visit(key) for each, in order. False: as above, and what was visited is of no
// use.
bool VisitEntries(std::span<const std::byte> block, const std::function<void(std::string_view key)>& visit);

// As HashEntries hashes a key.
uint64_t HashOfEntry(std::string_view key, uint64_t salt);

inline constexpr size_t kEntryKeyBytesMax = 2048;

}  // namespace mezz
