// SPDX-License-Identifier: Apache-2.0
// What programs in the guest of pmem_vm.py share.
#pragma once

#include <termios.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <mutex>
#include <string>

namespace mezz::test {

// Returns when the console has it: what waits in the terminal's buffer goes with the power, and the test would know of
// fewer writes than were told.
inline void Say(const std::string& line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::fputs(line.c_str(), stdout);
  std::fflush(stdout);
  tcdrain(STDOUT_FILENO);
}

// The kernel granted synchronous page faults: without them the file's blocks might not be the file's after a cut.
inline bool MappedSynchronously(const std::string& path) {
  std::ifstream maps("/proc/self/smaps");
  bool ours = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(' ') && line.find(':') != std::string::npos && line.find("VmFlags") != 0)
      ours = line.ends_with(path);
    if (ours && line.starts_with("VmFlags:")) return line.find(" sf") != std::string::npos;
  }
  return false;
}

}  // namespace mezz::test
