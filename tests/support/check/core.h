// SPDX-License-Identifier: Apache-2.0
// What the core's source becomes when it is compiled with MEZZ_MODEL_CHECK (cache/base/atomic.h). Inside a run of the
// checker (explorer.h) each operation is a step that the checker schedules, and a load returns any value that its order
// allows; outside of one they are plain accesses.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>  // std::lock_guard and its like, which the core uses with Mutex
#include <type_traits>

namespace mezz::check {

// Of a step in the core's source. What std::source_location is for, which Clang 14 has not.
struct Place {
  const char* file;
  unsigned line;

  static constexpr Place Current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

// The word at `at`, which holds the newest value in modification order.
struct Word {
  void* at;
  unsigned bytes;
};
enum class Modify : uint8_t { kExchange, kAdd, kSub, kOr, kAnd };

uint64_t LoadWord(Word word, std::memory_order order, const Place& place);
void StoreWord(Word word, uint64_t value, std::memory_order order, const Place& place);
uint64_t ModifyWord(Word word, Modify how, uint64_t operand, std::memory_order order, const Place& place);
bool CompareExchangeWord(Word word, uint64_t* expected, uint64_t desired, bool weak, std::memory_order success,
                         std::memory_order failure, const Place& place);

void LockMutex(void* mutex, const Place& place);
bool TryLockMutex(void* mutex, const Place& place);
void UnlockMutex(void* mutex, const Place& place);

// Plain accesses, checked for races by the 64-byte line. Bytes that were written are visible to nobody else before
// DrainData: the stores of Medium::Stream.
void ReadData(const void* at, size_t bytes);
void WriteData(const void* at, size_t bytes);
void StreamData(const void* at, size_t bytes);
void DrainData();

template <class T>
class Atomic {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(uint64_t));

 public:
  constexpr Atomic() noexcept = default;
  constexpr Atomic(T value) noexcept : value_(value) {}  // NOLINT: as std::atomic
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;

  T load(std::memory_order order, const Place& place = Place::Current()) const {
    return From(LoadWord(word(), order, place));
  }
  void store(T value, std::memory_order order, const Place& place = Place::Current()) {
    StoreWord(word(), To(value), order, place);
  }
  T exchange(T value, std::memory_order order, const Place& place = Place::Current()) {
    return From(ModifyWord(word(), Modify::kExchange, To(value), order, place));
  }
  T fetch_add(T value, std::memory_order order, const Place& place = Place::Current()) {
    return From(ModifyWord(word(), Modify::kAdd, To(value), order, place));
  }
  T fetch_sub(T value, std::memory_order order, const Place& place = Place::Current()) {
    return From(ModifyWord(word(), Modify::kSub, To(value), order, place));
  }
  T fetch_or(T value, std::memory_order order, const Place& place = Place::Current()) {
    return From(ModifyWord(word(), Modify::kOr, To(value), order, place));
  }
  T fetch_and(T value, std::memory_order order, const Place& place = Place::Current()) {
    return From(ModifyWord(word(), Modify::kAnd, To(value), order, place));
  }
  bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order failure,
                               const Place& place = Place::Current()) {
    return CompareExchange(expected, desired, /*weak=*/false, success, failure, place);
  }
  bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure,
                             const Place& place = Place::Current()) {
    return CompareExchange(expected, desired, /*weak=*/true, success, failure, place);
  }

 private:
  static uint64_t To(T value) {
    uint64_t raw = 0;
    std::memcpy(&raw, &value, sizeof(T));
    return raw;
  }
  static T From(uint64_t raw) {
    T value;
    std::memcpy(&value, &raw, sizeof(T));
    return value;
  }
  bool CompareExchange(T& expected, T desired, bool weak, std::memory_order success, std::memory_order failure,
                       const Place& place) {
    uint64_t raw = To(expected);
    const bool done = CompareExchangeWord(word(), &raw, To(desired), weak, success, failure, place);
    expected = From(raw);
    return done;
  }
  Word word() const { return {const_cast<T*>(&value_), sizeof(T)}; }

  T value_{};
};

class Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void lock(const Place& place = Place::Current()) { LockMutex(this, place); }
  bool try_lock(const Place& place = Place::Current()) { return TryLockMutex(this, place); }
  void unlock(const Place& place = Place::Current()) { UnlockMutex(this, place); }

 private:
  [[maybe_unused]] uint64_t identity_ = 0;  // its address is what names it
};

}  // namespace mezz::check
