// SPDX-License-Identifier: Apache-2.0
// The atomic words and locks of the concurrent core, and its test points. In every build that is installed or measured
// they are std::atomic, std::mutex and nothing.
//
// Compiled with MEZZ_MODEL_CHECK (tests/check), Atomic and Mutex belong to a checker that runs the core's own source
// under every schedule, and with every value that the memory orders allow, up to a bound. It finds its header by the
// include path: nothing here includes tests/.
#pragma once

#ifdef MEZZ_MODEL_CHECK
#include <check/core.h>
#else
#include <atomic>
#include <mutex>
#endif
#ifdef MEZZ_TEST_HOOKS
#include <atomic>
#endif

namespace mezz {

// Atomic<T> is as large as T, and a zeroed one is valid. Every operation names its memory order.
#ifdef MEZZ_MODEL_CHECK
template <class T>
using Atomic = check::Atomic<T>;
using Mutex = check::Mutex;
#else
template <class T>
using Atomic = std::atomic<T>;
using Mutex = std::mutex;
#endif

#ifdef MEZZ_TEST_HOOKS
// Called at each MEZZ_TEST_POINT with its name, by the thread that reaches it, between two steps of the operation.
// Null: nothing is called.
using TestPointHook = void (*)(const char* name);
inline std::atomic<TestPointHook> g_test_point_hook{nullptr};
inline void ReachTestPoint(const char* name) {
  if (const TestPointHook hook = g_test_point_hook.load(std::memory_order_acquire)) hook(name);
}
#endif

}  // namespace mezz

// A point between two steps of an operation, where a test may run something else.
#ifdef MEZZ_TEST_HOOKS
#define MEZZ_TEST_POINT(name) ::mezz::ReachTestPoint(name)
#else
#define MEZZ_TEST_POINT(name) static_cast<void>(0)
#endif

// Tells the checker that bytes of the medium are read here. It reports a read that no happens-before orders after their
// last write. (It sees writes by itself, as they go through Medium::Stream and Drain.)
#ifdef MEZZ_MODEL_CHECK
#define MEZZ_READS_MEDIUM(address, bytes) ::mezz::check::ReadData(address, bytes)
#else
#define MEZZ_READS_MEDIUM(address, bytes) static_cast<void>(0)
#endif
