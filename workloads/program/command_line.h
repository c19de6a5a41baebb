// SPDX-License-Identifier: Apache-2.0
// The command lines of the programs: which flags are ours, what --help shows of them, and what a shell completes.
// gflags knows more flags than a program defines: those of itself, and of every shared library that has some, such as
// librocksdb.so with its analyzers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "workloads/program/subcommands.h"

namespace mezz {

struct Flag {
  std::string name;
  std::string about;
  std::string value;  // its default
  bool is_switch = false;
};

// Flags that belong together, as --help shows them.
struct FlagGroup {
  std::string_view title;
  std::vector<std::string_view> flags;
};

// Of `all`, gflags' list, those that the source `file` defines, by name.
template <typename Infos>
std::vector<Flag> OwnFlags(const Infos& all, std::string_view file) {
  const auto base = [](std::string_view path) { return path.substr(path.rfind('/') + 1); };
  std::vector<Flag> flags;
  for (const auto& info : all) {
    if (base(info.filename) == base(file))
      flags.push_back({info.name, info.description, info.default_value, info.type == "bool"});
  }
  return flags;
}

// What --help prints: one line of synopsis for each thing that the program does, then its flags in `groups`, and behind
// them what no group names. With `subcommand` only what that takes.
std::string HelpText(const Program& program, std::span<const FlagGroup> groups, std::span<const Flag> flags,
                     const Subcommand* subcommand);

// A completion for bash, to be sourced.
std::string BashCompletion(const Program& program, std::span<const Flag> flags);

// The name that whoever wrote `name` may have meant; empty: none is near.
std::string_view NearestFlag(std::string_view name, std::span<const Flag> flags);

// Looks at the arguments before gflags does. Prints what --help, -h or --completion ask for, refuses flags that are not
// ours; then the program's exit status. Nothing: the arguments are gflags' to parse.
std::optional<int> BeforeFlags(const Program& program, std::span<const FlagGroup> groups, std::span<const Flag> flags,
                               std::span<const char* const> arguments);

}  // namespace mezz
