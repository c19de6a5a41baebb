// SPDX-License-Identifier: Apache-2.0
#include "integration/compaction_thread.h"

#include <pthread.h>

#include <string_view>

namespace mezz {
namespace {

constexpr size_t kThreadNameBytes = 16;  // the kernel's, with the zero

bool NamedForCompactions() {
  char name[kThreadNameBytes] = {};
  if (pthread_getname_np(pthread_self(), name, sizeof(name)) != 0) return false;
  const std::string_view text(name);
  return text.starts_with("rocksdb:low") || text.starts_with("rocksdb:bottom");
}

enum class Answer : char { kUnknown, kNo, kYes };
thread_local constinit Answer answer = Answer::kUnknown;

}  // namespace

bool OnCompactionThread() {
  if (answer == Answer::kUnknown) answer = NamedForCompactions() ? Answer::kYes : Answer::kNo;
  return answer == Answer::kYes;
}

}  // namespace mezz
