// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "cache/media/child_rules.h"
#include "cache/media/name_watch.h"
#include "cache/status.h"

namespace mezz {

// The file or devdax device that a medium lies in: opened by its path, checked (file_checks.h), and locked as long as
// this lives. Until Keep, the destructor undoes what was done to it.
//
// In a forked child the destructor leaves all as it is, as the descriptor's number may be another file's by now.
class LockedFile {
 public:
  // `rules` are those of the medium, and outlive this.
  LockedFile(std::string path, ChildRules* rules) : path_(std::move(path)), rules_(*rules) {}
  ~LockedFile();
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  // Opens and locks it. A file is created if there is none. An error for what a medium must not use.
  Status Open();
  // Opens it once more, for a mapping, which keeps its open file alive, with all locks on it. So a forked child, whose
  // mapping stays, would keep the lock if the locked descriptor were mapped. Negative: it cannot be opened.
  int OpenAgain() const;
  // An error if `fd`, which OpenAgain returned, is another file, or none.
  Status CheckIsSame(int fd) const;

  int fd() const { return fd_; }
  const struct stat& found() const { return stat_; }  // as it was before we changed anything
  bool is_device() const { return S_ISCHR(stat_.st_mode); }
  void NoteResized() { resized_ = true; }
  void Keep() { kept_ = true; }

  // Notes its name. The rest is as Medium says.
  void NoteName();
  std::string NameTrouble() const;
  bool IsNameless() const;
  void WatchName(const std::function<void(std::string_view trouble)>& told);
  void EndWatch() { name_watch_.reset(); }

 private:
  // One attempt; not *opened if the file vanished or was replaced in the meantime.
  Status TryOpenAndLock(bool* opened);
  // Leaves fd_ negative if the file vanished in the meantime.
  Status OpenDescriptor();
  void CloseDescriptor();
  void Undo();

  const std::string path_;
  ChildRules& rules_;
  int fd_ = -1;  // carries the lock
  bool locked_ = false;
  bool created_ = false;  // by us: unlinked again on failure
  bool resized_ = false;  // not created by us, and no longer of its old size
  bool kept_ = false;
  struct stat stat_ {};
  std::string opened_as_;  // its name for the kernel; empty: it is a device, whose nodes may come and go
  std::unique_ptr<NameWatch> name_watch_;
};

}  // namespace mezz
