// SPDX-License-Identifier: Apache-2.0
// What verify=keyed adds to a record, so that nobody can make or change one without the key.
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
// A MAC is SipHash-2-4 with 128 bits of output (Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT
// 2012; libsodium's) in a cascade (Bellare, Canetti and Krawczyk, "Pseudorandom functions revisited", FOCS 1996): the
// output of each piece is the key of the next. The first piece holds record key, role, form and length. As the length
// comes first, no input is the beginning of another, which the cascade requires.
//
// The first key is derived (keyed BLAKE2b) from the caller's key and from what the superblock says of this life of the
// medium: UUID, format id, key scheme and host version. So a record of another medium, of a discarded life, or of keys
// that were derived otherwise is never accepted.
//
// A guess succeeds once in 2^128 tries, and each failed one is a counted miss. It costs 2 us for 4 KiB.
//
// Immutable, so any thread may use it. The destructor overwrites what is secret.
class Authenticator {
 public:
  Authenticator(const VerifyKey& key, const layout::Superblock& superblock);
  Authenticator(const Authenticator&) = delete;
  Authenticator& operator=(const Authenticator&) = delete;
  ~Authenticator();

  // The value that Superblock::key_check must have; never 0.
  uint64_t check() const { return check_; }

  // Whether the record has a MAC that fits it. REQUIRES: its payload lies within the medium.
  bool Accepts(const layout::RecordHeader& header) const;

  // The MAC of a payload that comes in pieces.
  class Running {
   public:
    // Reads key, role, flags and payload_bytes of `header`; payload_bytes includes the MAC.
    Running(const Authenticator& authenticator, const layout::RecordHeader& header);
    void Add(std::span<const std::byte> piece);
    // The MAC. REQUIRES: all of the payload was added.
    Mac Finish() const;

   private:
    void Advance(std::span<const std::byte> piece);

    Mac chain_;      // the key of the next piece
    uint64_t left_;  // bytes of the payload that are still to come
    size_t held_ = 0;
    std::array<std::byte, layout::kMacPieceBytes> held_bytes_;  // the piece that is not complete yet
  };

 private:
  Mac key_{};
  uint64_t check_ = 0;
};

}  // namespace mezz
