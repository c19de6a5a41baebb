// SPDX-License-Identifier: Apache-2.0
// Programs that do several things, each under a name of its own: `mezz_trace info FILE`.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cache/status.h"

namespace mezz {

struct Arguments {
  std::vector<std::string> operands;  // what stands behind the subcommand's name, no flags
  std::string command_line;
};

struct Subcommand {
  std::string_view name;      // empty: what the program does when none is named
  std::string_view operands;  // as the usage shows them
  size_t operands_max = 1;    // one at least, unless this is 0 or the name is empty
  std::string_view about;
  std::vector<std::string_view> flags;  // that it takes
  Status (*run)(const Arguments& arguments) = nullptr;
};

struct Program {
  std::string_view name;
  std::string_view about;
  std::vector<Subcommand> subcommands;
};

// The value of a flag that was set to something else than its default.
using FlagGiven = std::function<std::optional<std::string>(std::string_view flag)>;

std::string Usage(const Program& program);

// Runs the subcommand that the first of `words` names with the others as operands. Refuses names that are not known,
// operands that are missing or too many, and flags that only other subcommands take, which would be passed over in
// silence.
Status RunSubcommand(const Program& program, const std::vector<std::string>& words, const std::string& command_line,
                     const FlagGiven& given);

}  // namespace mezz
