// SPDX-License-Identifier: Apache-2.0
#include "workloads/program/subcommands.h"

#include <fmt/format.h>

#include <algorithm>

#include "cache/base/text.h"

namespace mezz {
namespace {

Status CheckFlags(const Program& program, const Subcommand& subcommand, const FlagGiven& given) {
  for (const Subcommand& other : program.subcommands) {
    for (const std::string_view flag : other.flags) {
      if (std::ranges::find(subcommand.flags, flag) != subcommand.flags.end()) continue;
      const std::optional<std::string> value = given(flag);
      if (!value) continue;
      return Status::InvalidArgument(fmt::format("--{}={} is no flag of {}; leave it out", flag, *value,
                                                 subcommand.name.empty() ? program.name : subcommand.name));
    }
  }
  return Status::Ok();
}

Status NotKnown(const Program& program, const std::string& word) {
  std::vector<std::string_view> names;
  for (const Subcommand& subcommand : program.subcommands) names.push_back(subcommand.name);
  const std::string_view nearest = NearestWord(word, names);
  if (!nearest.empty())
    return Status::InvalidArgument(fmt::format("\"{}\" is not known; did you mean {}?", word, nearest));
  return Status::InvalidArgument(fmt::format("\"{}\" is not known; usage:\n\n{}", word, Usage(program)));
}

}  // namespace

std::string Usage(const Program& program) {
  std::string text = fmt::format("{}\n\n", program.about);
  for (const Subcommand& subcommand : program.subcommands) {
    text += fmt::format("  {} {} {}", program.name, subcommand.name, subcommand.operands);
    for (const std::string_view flag : subcommand.flags) text += fmt::format(" [--{}]", flag);
    text += fmt::format("\n      {}\n", subcommand.about);
  }
  return text;
}

Status RunSubcommand(const Program& program, const std::vector<std::string>& words, const std::string& command_line,
                     const FlagGiven& given) {
  const auto found =
      std::ranges::find(program.subcommands, words.empty() ? std::string() : words[0], &Subcommand::name);
  if (found == program.subcommands.end()) {
    if (words.empty())
      return Status::InvalidArgument(fmt::format("what to do is missing; usage:\n\n{}", Usage(program)));
    return NotKnown(program, words[0]);
  }
  const std::vector<std::string> operands(words.begin() + (words.empty() ? 0 : 1), words.end());
  const auto usage = [&] {
    return fmt::format("{} {}{}{}", program.name, found->name, found->operands.empty() ? "" : " ", found->operands);
  };
  if (operands.empty() && !found->name.empty() && found->operands_max > 0)
    return Status::InvalidArgument(fmt::format("{} of what? {}", found->name, usage()));
  if (operands.size() > found->operands_max) {
    return Status::InvalidArgument(fmt::format("\"{}\" is one argument too many; {} and flags as --name=value",
                                               operands[found->operands_max], usage()));
  }
  MEZZ_RETURN_IF_ERROR(CheckFlags(program, *found, given));
  return found->run({.operands = operands, .command_line = command_line});
}

}  // namespace mezz
