// SPDX-License-Identifier: Apache-2.0
// Bytes that follow from a block's key, its version and how many there are, so that stale ones are seen. Most of what
// random tests do is make them and compare them: compiled apart, because the tests themselves need not be optimised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mezz::test {

// Bytes that differ for each key, version and position.
std::vector<std::byte> Payload(uint64_t key, uint64_t version, size_t bytes);
// As Payload, but codecs make them less than half as large: of each 32 bytes twelve differ from the rest.
std::vector<std::byte> PackablePayload(uint64_t key, uint64_t version, size_t bytes);
// Words of one language, which every block shares with every other: a dictionary makes them smaller.
std::vector<std::byte> TextPayload(uint64_t key, uint64_t version, size_t bytes, uint64_t language = 0);
// Half of the keys have bytes that pack, and half of those text, whose language changes with the version.
std::vector<std::byte> MixedPayload(uint64_t key, uint64_t version, size_t bytes);

bool Same(std::span<const std::byte> a, std::span<const std::byte> b);

}  // namespace mezz::test
