// SPDX-License-Identifier: Apache-2.0
// Several media as one: mapped behind each other, so that an offset names a byte of all of them.
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cache/media/address_range.h"
#include "cache/media/copy.h"
#include "cache/media/open.h"

namespace mezz {
namespace {

class StripedMedium : public Medium {
 public:
  Status Open(const MediumOrder& order, std::unique_ptr<Preparer>* preparer, bool* existing);

  void GiveUpRest() const override {
    for (const auto& member : members_) member->GiveUpRest();
  }
  // Members have the sizes that they had, so only the last one may have been smaller.
  uint64_t bytes_before() const override { return begins_.back() + members_.back()->bytes_before(); }
  std::string NameTrouble() const override;
  bool IsNameless() const override {
    return std::ranges::all_of(members_, [](const auto& member) { return member->IsNameless(); });
  }
  void KeepChanges() override {
    for (const auto& member : members_) member->KeepChanges();
  }
  // Each tells of its own name: while they go one by one, a thread of one must not ask another.
  void WatchName(const std::function<void(std::string_view trouble)>& told) override {
    for (const auto& member : members_) {
      member->WatchName(
          [told, of = member.get()](std::string_view trouble) { told(WithItsName(of->info(), trouble)); });
    }
  }
  std::vector<BadRange> BadRanges() const override;
  const MediumInfo& member_info(size_t member) const override { return members_[member]->info(); }

 private:
  static std::string WithItsName(const MediumInfo& info, std::string_view trouble) {
    return fmt::format("({}) {}", info.description, trouble);
  }
  void Describe();

  std::unique_ptr<AddressRange> range_;  // outlives the members
  std::vector<std::unique_ptr<Medium>> members_;
};

// Whether a path is the file or the device of an earlier member, which exists by now: it is ours to lock, so that the
// lock would tell of a cache that does not exist.
Status CheckIsAnother(const std::vector<ScmMember>& members, size_t number) {
  struct stat one {};
  if (members[number].medium != MediumKind::kFile || lstat(members[number].path.c_str(), &one) != 0)
    return Status::Ok();
  for (size_t i = 0; i < number; ++i) {
    struct stat other {};
    if (members[i].medium != MediumKind::kFile || lstat(members[i].path.c_str(), &other) != 0) continue;
    const bool same_file = one.st_dev == other.st_dev && one.st_ino == other.st_ino;
    if (!same_file && !(S_ISCHR(one.st_mode) && S_ISCHR(other.st_mode) && one.st_rdev == other.st_rdev)) continue;
    return Status::InvalidArgument(
        fmt::format("members: path={} and path={} are the same {}: name it once, with all its bytes", members[i].path,
                    members[number].path, S_ISCHR(one.st_mode) ? "device" : "file"));
  }
  return Status::Ok();
}

Status StripedMedium::Open(const MediumOrder& order, std::unique_ptr<Preparer>* preparer, bool* existing) {
  const ScmOptions options = order.options.Effective();
  MEZZ_RETURN_IF_ERROR(AddressRange::Reserve(order.bytes, &range_));
  const bool all = order.first_bytes == order.bytes;
  std::vector<std::unique_ptr<Preparer>> preparers;
  bool persists_pages = false;
  begins_.clear();
  for (size_t number = 0; number < options.members.size(); ++number) {
    MEZZ_RETURN_IF_ERROR(CheckIsAnother(options.members, number));
    ScmOptions one = options.OfMember(number);
    if (one.recovery == Recovery::kRequire) one.recovery = Recovery::kWarm;  // who has all of them judges
    const uint64_t bytes = one.capacity_bytes;
    bool was_there = false;
    std::unique_ptr<Medium> member;
    std::unique_ptr<Preparer> prepares;
    MEZZ_RETURN_IF_ERROR(OpenOneMedium({.options = one,
                                        .bytes = bytes,
                                        .first_bytes = all ? bytes : std::min(bytes, order.first_bytes),
                                        .format = order.format,
                                        .range = range_.get(),
                                        .range_offset = bytes_,
                                        .earlier = std::span(options.members).first(number)},
                                       &member, &prepares, &was_there));
    *existing |= was_there;
    persists_pages |= one.medium == MediumKind::kFile && member->info().granularity == StoreGranularity::kPage;
    begins_.push_back(bytes_);
    bytes_ += bytes;
    members_.push_back(std::move(member));
    preparers.push_back(std::move(prepares));
  }
  base_ = range_->base();
  CopyFunctions copy;
  MEZZ_RETURN_IF_ERROR(GetCopyFunctions(&copy));
  stream_ = copy.stream;
  drain_ = copy.drain;
  persist_ = persists_pages ? SyncPages : nullptr;
  Describe();
  *preparer = std::make_unique<Preparer>(preparers);
  return Status::Ok();
}

// What holds of all: stores are as durable as those to the member that keeps them worst.
void StripedMedium::Describe() {
  info_ = {.description = {}, .granularity = StoreGranularity::kByte, .persistent_memory = true, .emulated = false};
  for (const auto& member : members_) {
    const MediumInfo& info = member->info();
    info_.description += fmt::format("{}{}", info_.description.empty() ? "" : " + ", info.description);
    info_.granularity = std::max(info_.granularity, info.granularity);
    info_.persistent_memory &= info.persistent_memory;
    info_.emulated |= info.emulated;
  }
}

std::string StripedMedium::NameTrouble() const {
  for (const auto& member : members_) {
    const std::string trouble = member->NameTrouble();
    if (!trouble.empty()) return WithItsName(member->info(), trouble);
  }
  return {};
}

std::vector<BadRange> StripedMedium::BadRanges() const {
  std::vector<BadRange> bad;
  for (size_t number = 0; number < members_.size(); ++number) {
    for (const BadRange& range : members_[number]->BadRanges())
      bad.push_back({begins_[number] + range.begin, begins_[number] + range.end});
  }
  return bad;
}

}  // namespace

Status OpenStripedMedium(const MediumOrder& order, std::unique_ptr<Medium>* medium, std::unique_ptr<Preparer>* preparer,
                         bool* existing) {
  auto striped = std::make_unique<StripedMedium>();
  MEZZ_RETURN_IF_ERROR(striped->Open(order, preparer, existing));
  *medium = std::move(striped);
  return Status::Ok();
}

}  // namespace mezz
