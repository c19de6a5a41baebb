// SPDX-License-Identifier: Apache-2.0
// What verify=keyed adds to a record: who has no key can neither make one nor change one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cache/layout.h"
#include "cache/verify_key.h"

namespace mezz {

using Mac = std::array<std::byte, layout::kMacBytes>;

// Computes message authentication codes (MACs) of records.
//
// SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012;
// libsodium's) in a cascade (Bellare, Canetti and Krawczyk, "Pseudorandom functions revisited", FOCS 1996): the key of
// each piece is the output of the one before, first of a block that tells record key, role, form and length. As the
// length comes first, no input is the beginning of another, which is what the cascade asks for.
//
// The key of it all is derived (keyed BLAKE2b) from the caller's and from what the superblock says of this life of the
// medium: UUID, format id, key scheme, host version. So a record of another medium, of a life that was discarded, or of
// keys that were made otherwise, passes nowhere.
//
// Who guesses succeeds once in 2^128 tries, and each failed one is a counted miss. Costs 2 us for 4 KiB.
//
// Immutable, so any thread may use it; what is secret is overwritten when it goes.
class Authenticator {
 public:
  Authenticator(const VerifyKey& key, const layout::Superblock& superblock);
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;
  ~Authenticator();

  // What Superblock::key_check must be; never 0.
  uint64_t check() const { return check_; }

  // The record has a MAC, and it is its own. REQUIRES: its payload lies within the medium.
  bool Accepts(const layout::RecordHeader& header) const;

  // The MAC of a payload that comes in pieces.
  class Running {
   public:
    // Of `header` key, role, flags and payload_bytes are read, which counts the MAC.
    Running(const Authenticator& authenticator, const layout::RecordHeader& header);
    void Add(std::span<const std::byte> piece);
    // REQUIRES: all of the payload was added.
    Mac Finish() const;

   private:
    void Advance(std::span<const std::byte> piece);

    Mac chain_;      // the key of the next piece
    uint64_t left_;  // bytes that are still to come
    size_t held_ = 0;
    std::array<std::byte, layout::kMacPieceBytes> held_bytes_;  // a piece that is not whole yet
  };

 private:
  Mac key_{};
  uint64_t check_ = 0;
};

}  // namespace mezz
