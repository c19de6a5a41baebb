// SPDX-License-Identifier: Apache-2.0
#include "integration/media_text.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "cache/base/invalid.h"
#include "cache/base/text.h"

namespace mezz {
namespace {

constexpr unsigned kNumaNodeMax = 1023;  // the kernel's MAX_NUMNODES is at most 1024
constexpr std::string_view kNuma = "numa:";
constexpr std::string_view kSeparators = ",>";

// The word behind the separator at `at`, up to where a size or a path's part would end.
struct Behind {
  Behind(std::string_view value, size_t at)
      : word(value.substr(at + 1, value.find_first_of(",>/@", at + 1) - at - 1)),
        end(at + 1 + word.size() < value.size() ? value[at + 1 + word.size()] : '\0') {}
  bool StartsWithDigit() const { return !word.empty() && word[0] >= '0' && word[0] <= '9'; }
  // Whether a path goes on there. Nothing, a blank, a number, a place, and what has an @ behind it were to be a medium.
  bool IsOfPath() const {
    constexpr std::string_view kNoName = " \t+-.";
    const bool is_memory = end != '/' && (word == ToString(MediumKind::kAnonymous) || word.starts_with(kNuma));
    return !word.empty() && !StartsWithDigit() && kNoName.find(word[0]) == std::string_view::npos && !is_memory &&
           end != '@';
  }

  const std::string_view word;
  const char end;  // 0: the value ends
};

// The first separator of `text` for whose `Behind` `found` holds; none: the text's size.
template <typename Found>
size_t FindSeparator(std::string_view text, const Found& found) {
  size_t at = text.find_first_of(kSeparators);
  while (at != std::string_view::npos && !found(Behind(text, at))) at = text.find_first_of(kSeparators, at + 1);
  return std::min(at, text.size());
}

// Where the first of several media ends: at a separator that a size and @ follow, as a path may have these, too.
size_t EndOfFirst(std::string_view value) {
  return FindSeparator(value, [](const Behind& behind) { return behind.StartsWithDigit() && behind.end == '@'; });
}

// SIZE or SIZE@PLACE. *has_place: the latter.
Status ParsePlace(std::string_view key, std::string_view value, ScmMember* member, bool* has_place) {
  const size_t at = value.find('@');
  MEZZ_RETURN_IF_ERROR(ParseBytes(key, value.substr(0, at), &member->capacity_bytes));
  *has_place = at != std::string_view::npos;
  if (!*has_place) return Status::Ok();
  const std::string_view place = value.substr(at + 1);
  if (ParseMemory(place, &member->medium, &member->numa_node)) return Status::Ok();
  member->path = place;
  if (const size_t lost = FindLostMedium(place); lost != place.size()) {
    return Invalid(
        "{}={}: behind the \"{}\" in {} stands no SIZE@PLACE: write one, or leave the \"{}\" out; a path that has it "
        "there cannot be given",
        key, value, place[lost], place, place[lost]);
  }
  if (place.find('/') != std::string_view::npos) return Status::Ok();
  return Invalid("{}={}: accepted are a size and, behind @, a path with a /, {}", key, value, MemoryForms());
}

std::string PlaceText(const ScmMember& member) {
  const bool bare = !member.path.empty() && member.path.find('/') == std::string::npos;
  const std::string place = (bare ? "./" : "") + member.Name();
  return SizeText(member.capacity_bytes) + (place.empty() ? "" : "@") + place;
}

}  // namespace

std::string MemoryForms() { return fmt::format("dram, or numa:N with N from 0 to {}", kNumaNodeMax); }

bool ParseMemory(std::string_view text, MediumKind* medium, int* node) {
  unsigned number = 0;
  if (text == ToString(MediumKind::kAnonymous)) {
    *medium = MediumKind::kAnonymous;
  } else if (TakePrefix(kNuma, &text) && ParseNumber(text, &number) && number <= kNumaNodeMax) {
    *medium = MediumKind::kNumaNode;
    *node = static_cast<int>(number);
  } else {
    return false;
  }
  return true;
}

Status ParseMedia(std::string_view key, std::string_view value, ScmOptions* scm) {
  std::vector<ScmMember> members;
  bool all_have_places = true, slow = false;
  for (std::string_view rest = value;;) {
    const size_t end = EndOfFirst(rest);
    bool has_place = false;
    MEZZ_RETURN_IF_ERROR(ParsePlace(key, rest.substr(0, end), &members.emplace_back(), &has_place));
    all_have_places &= has_place;
    scm->capacity_bytes += std::min(members.back().capacity_bytes, UINT64_MAX - scm->capacity_bytes);
    if (slow) members.back().level = Level::kSlow;
    if (end == rest.size()) break;
    if (rest[end] == '>' && std::exchange(slow, true))
      return Invalid("{}={}: accepted are one > at most, between the fast media and the slow ones", key, value);
    rest.remove_prefix(end + 1);
  }
  if (members.size() > kMembersMax)
    return Invalid("{}={}: accepted are one medium, and 2 to {} behind each other", key, value, kMembersMax);
  if (members.size() > 1) {
    if (!all_have_places) return Invalid("{}={}: accepted are SIZE@PLACE for each of several media", key, value);
    scm->members = std::move(members);
  } else if (all_have_places) {
    scm->medium = members[0].medium;
    scm->path = members[0].path;
    scm->numa_node = members[0].numa_node;
  }
  return Status::Ok();
}

std::string MediaText(const ScmOptions& scm) {
  if (scm.members.empty()) {
    return PlaceText(
        {.medium = scm.medium, .path = scm.path, .numa_node = scm.numa_node, .capacity_bytes = scm.capacity_bytes});
  }
  std::string text;
  Level level = Level::kFast;
  for (const ScmMember& member : scm.members) {
    const char* const separator = text.empty() ? "" : std::exchange(level, member.level) != member.level ? ">" : ",";
    text += separator + PlaceText(member);
  }
  return text;
}

Status ParseModels(std::string_view key, std::string_view value, ScmOptions* scm) {
  if (value.find(',') == std::string_view::npos) return ParseWord(key, value, &scm->model);
  for (std::string_view rest = value;;) {
    const size_t end = rest.find(',');
    if (!ParseWord(key, rest.substr(0, end), &scm->member_models.emplace_back()).ok()) {
      return Invalid("{}={}: accepted are {}, for all media, or one of these for each", key, value,
                     ListOf(kWordsOf<MediumModelName>));
    }
    if (end == std::string_view::npos) break;
    rest.remove_prefix(end + 1);
  }
  if (scm->member_models.size() <= kMembersMax) return Status::Ok();
  return Invalid("{}={}: accepted are one model for all media, or one for each of 2 to {}", key, value, kMembersMax);
}

size_t FindLostMedium(std::string_view path) {
  return FindSeparator(path, [](const Behind& behind) { return !behind.IsOfPath(); });
}

}  // namespace mezz
