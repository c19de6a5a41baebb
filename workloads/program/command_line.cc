// SPDX-License-Identifier: Apache-2.0
#include "workloads/program/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "cache/base/text.h"
#include "workloads/program/program.h"

namespace mezz {
namespace {

constexpr size_t kColumns = 100;  // of the text
constexpr size_t kIndent = 6;

const Flag* Find(std::string_view name, std::span<const Flag> flags) {
  const auto found = std::ranges::find(flags, name, &Flag::name);
  return found == flags.end() ? nullptr : &*found;
}

std::string Wrapped(std::string_view text) {
  std::string wrapped;
  size_t column = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view word = text.substr(at, end - at);
    if (column == 0 || column + 1 + word.size() > kColumns) {
      wrapped += fmt::format("{}{:{}}{}", column == 0 ? "" : "\n", "", kIndent, word);
      column = kIndent + word.size();
    } else {
      wrapped += fmt::format(" {}", word);
      column += 1 + word.size();
    }
    at = end + 1;
  }
  return wrapped + "\n";
}

std::string FlagLines(const Flag& flag) {
  const std::string head =
      flag.is_switch ? fmt::format("  --{}", flag.name) : fmt::format("  --{}={}", flag.name, flag.value);
  return head + "\n" + Wrapped(flag.about);
}

std::string Synopsis(const Program& program, const Subcommand& subcommand) {
  return fmt::format("{}{}{}{}{}{}", program.name, subcommand.name.empty() ? "" : " ", subcommand.name,
                     subcommand.operands.empty() ? "" : " ", subcommand.operands,
                     subcommand.flags.empty() ? "" : " [--FLAG=VALUE]...");
}

// "--name=value" or "-name": the name; empty: an operand.
std::string_view FlagName(std::string_view argument) {
  if (argument.size() < 2 || argument[0] != '-') return {};
  argument.remove_prefix(argument.starts_with("--") ? 2 : 1);
  return argument.substr(0, argument.find('='));
}

// The subcommand that is the first operand; else the one without a name, or null.
const Subcommand* FindSubcommand(const Program& program, std::string_view operand) {
  const auto found = std::ranges::find(program.subcommands, operand, &Subcommand::name);
  return found == program.subcommands.end() ? nullptr : &*found;
}

}  // namespace

std::string HelpText(const Program& program, std::span<const FlagGroup> groups, std::span<const Flag> flags,
                     const Subcommand* subcommand) {
  std::string text;
  if (subcommand == nullptr || subcommand->name.empty()) {
    text = fmt::format("{}: {}\n\n", program.name, program.about);
    for (const Subcommand& one : program.subcommands) {
      text += fmt::format("usage: {}\n", Synopsis(program, one));
      if (!one.about.empty()) text += Wrapped(one.about);
    }
    const auto named = [](const Subcommand& one) { return !one.name.empty() && !one.name.starts_with('-'); };
    if (std::ranges::any_of(program.subcommands, named))
      text += fmt::format("\n{} NAME --help shows what one of these takes\n", program.name);
  } else {
    text = fmt::format("usage: {}\n{}", Synopsis(program, *subcommand), Wrapped(subcommand->about));
  }
  const auto takes = [&](const Flag& flag) {
    return subcommand == nullptr || std::ranges::find(subcommand->flags, flag.name) != subcommand->flags.end();
  };
  std::vector<std::string_view> shown;
  const auto add = [&](std::string_view title, const Flag& flag) {
    if (!takes(flag) || std::ranges::find(shown, flag.name) != shown.end()) return;
    if (!title.empty()) text += fmt::format("\n{}\n", title);
    text += FlagLines(flag);
    shown.push_back(flag.name);
  };
  for (const FlagGroup& group : groups) {
    std::string_view title = group.title;
    for (const std::string_view name : group.flags) {
      const size_t before = shown.size();
      if (const Flag* flag = Find(name, flags)) add(title, *flag);
      if (shown.size() > before) title = {};
    }
  }
  std::string_view title = groups.empty() ? "Flags" : "More";
  for (const Flag& flag : flags) {
    const size_t before = shown.size();
    add(title, flag);
    if (shown.size() > before) title = {};
  }
  return text + "\n  --help, --completion\n      this text; a completion for bash: source <(" +
         std::string(program.name) + " --completion)\n";
}

std::string BashCompletion(const Program& program, std::span<const Flag> flags) {
  const auto words = [&](const Subcommand* subcommand) {
    std::string text;
    for (const Flag& flag : flags) {
      if (subcommand != nullptr && std::ranges::find(subcommand->flags, flag.name) == subcommand->flags.end()) continue;
      text += fmt::format("--{}{} ", flag.name, flag.is_switch ? "" : "=");
    }
    return text + "--help";
  };
  std::string names, cases;
  for (const Subcommand& subcommand : program.subcommands) {
    if (subcommand.name.empty() || subcommand.name.starts_with('-')) continue;
    names += fmt::format("{}{}", names.empty() ? "" : " ", subcommand.name);
    cases += fmt::format("    {}) words=\"{}\" ;;\n", subcommand.name, words(&subcommand));
  }
  const Subcommand* plain = FindSubcommand(program, "");
  return fmt::format(R"(_{0}() {{
  local words cur="${{COMP_WORDS[COMP_CWORD]}}"
  [[ ${{COMP_WORDS[COMP_CWORD-1]}} == = || $cur == = ]] && {{ COMPREPLY=($(compgen -f -- "${{cur#=}}")); return; }}
  case ${{COMP_WORDS[1]}} in
{1}    *) words="{2}" ;;
  esac
  if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$words" -- "$cur"))
  elif ((COMP_CWORD == 1)); then COMPREPLY=($(compgen -W "{3}" -- "$cur") $(compgen -f -- "$cur"))
  else COMPREPLY=($(compgen -f -- "$cur")); fi
  [[ ${{COMPREPLY[0]-}} == *= ]] && compopt -o nospace
}}
complete -o filenames -F _{0} {0}
)",
                     program.name, cases, plain != nullptr || names.empty() ? words(plain) : "--help", names);
}

std::string_view NearestFlag(std::string_view name, std::span<const Flag> flags) {
  std::vector<std::string_view> names;
  for (const Flag& flag : flags) names.push_back(flag.name);
  return NearestWord(name, names);
}

std::optional<int> BeforeFlags(const Program& program, std::span<const FlagGroup> groups, std::span<const Flag> flags,
                               std::span<const char* const> arguments) {
  bool help = false, completion = false;
  std::string_view operand;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string_view argument = arguments[i];
    if (argument == "--") break;
    const std::string_view name = FlagName(argument);
    if (name.empty()) {
      if (operand.empty()) operand = argument;
      continue;
    }
    const Flag* flag = Find(name, flags);
    const bool negated = flag == nullptr && name.starts_with("no") && Find(name.substr(2), flags) != nullptr &&
                         Find(name.substr(2), flags)->is_switch;
    if (flag != nullptr || negated) {
      const bool value_follows = flag != nullptr && !flag->is_switch && argument.find('=') == std::string_view::npos;
      i += value_follows ? 1 : 0;
      continue;
    }
    help = help || name == "help" || name == "h";
    completion = completion || name == "completion";
    if (name == "help" || name == "h" || name == "completion") continue;
    const std::string_view nearest = NearestFlag(name, flags);
    fmt::print(stderr, "{}: --{} is no flag of {}; {}\n", program.name, name, program.name,
               nearest.empty() ? fmt::format("{} --help shows them", program.name)
                               : fmt::format("did you mean --{}?", nearest));
    return kExitRefused;
  }
  if (completion) fmt::print("{}", BashCompletion(program, flags));
  if (help)
    fmt::print("{}", HelpText(program, groups, flags, operand.empty() ? nullptr : FindSubcommand(program, operand)));
  return help || completion ? std::optional(0) : std::nullopt;
}

}  // namespace mezz
