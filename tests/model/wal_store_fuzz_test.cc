// SPDX-License-Identifier: Apache-2.0
// A store beside a plain map, on a medium that a cut of power leaves with any subset of the words that were not
// drained. At each moment of an operation the store is opened from what a crash then would leave, and has to be what it
// was before the operation or after it; now and then the run goes on from there. Or the medium is a page cache's, which
// may lose what was drained and not written back.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cache/wal/wal_store.h"
#include "tests/support/crash_medium.h"
#include "tests/support/random.h"
#include "tests/support/seed.h"

namespace mezz::test {
namespace {

using Image = CrashMedium::Image;
using FilePtr = WalStore::FilePtr;

struct ModelFile {
  std::string bytes;  // all that may be there
  size_t synced = 0;  // of which so many must
};
using Model = std::map<std::string, ModelFile>;

constexpr WalStore::Geometry MakeGeometry(uint64_t extent_bytes, uint32_t extents, uint32_t slots) {
  return {.capacity_bytes = wal_layout::kDirectoryAt + slots * wal_layout::kSlotBytes + extents * extent_bytes,
          .extent_bytes = extent_bytes,
          .slots = slots};
}

// No two appends of a run carry the same bytes.
std::string Bytes(uint64_t append, size_t count) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<char>(Mix(append * 0x10001 + i));
  return bytes;
}

std::string Content(const WalFile& file) {
  std::string bytes(file.length() + 1, '\0');
  size_t got = 0;
  WalFile::Cursor cursor;
  EXPECT_TRUE(file.Read(0, bytes.size(), bytes.data(), &got, &cursor));
  bytes.resize(got);
  return bytes;
}

// Opened over an image, as after a crash.
struct Opened {
  Opened(const WalStore::Geometry& geometry, bool paged, Image image, bool existing = true) {
    auto made = std::make_unique<CrashMedium>(std::move(image), paged);
    medium = made.get();
    const CrashMedium::Scope scope(medium);
    WalStore::Settings settings;
    if (paged) settings.write_back = CrashMedium::WriteBack;
    EXPECT_EQ(WalStore::Open(std::move(made), existing, geometry, settings, &store).message(), "");
  }
  CrashMedium* medium = nullptr;
  std::shared_ptr<WalStore> store;
};

Model ModelOf(const WalStore& store) {
  Model model;
  for (const std::string& name : store.List("")) {
    const std::string bytes = Content(*store.Find(name));
    model[name] = {bytes, bytes.size()};
  }
  return model;
}

// Empty: `found` may be what a crash left of `wanted`.
std::string Differs(const Model& found, const Model& wanted) {
  for (const auto& [name, file] : wanted) {
    const auto it = found.find(name);
    if (it == found.end()) return name + " is gone";
    const std::string& bytes = it->second.bytes;
    if (bytes.size() < file.synced) return name + " lost synced bytes";
    if (bytes.size() > file.bytes.size()) return name + " is too long";
    if (!file.bytes.starts_with(bytes)) return name + " has other bytes";
  }
  for (const auto& [name, file] : found) {
    if (!wanted.contains(name)) return name + " is there";
  }
  return "";
}

class CrashRun {
 public:
  // `exhaustive`: at most that many pending words are tried in all their subsets.
  CrashRun(const WalStore::Geometry& geometry, uint64_t seed, size_t exhaustive, unsigned samples, bool paged = false)
      : geometry_(geometry), random_(seed), exhaustive_(exhaustive), samples_(samples), paged_(paged) {
    Image image(geometry.capacity_bytes);
    // What lay there before is not zeros, nor anything of ours.
    for (size_t i = wal_layout::kDirectoryAt; i < image.size(); ++i) image[i] = static_cast<std::byte>(random_.Next());
    Adopt(Opened(geometry, paged, std::move(image), /*existing=*/false));
  }

  void Steps(unsigned steps) {
    for (unsigned i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      Step();
      if (random_.OneIn(8)) Crash();
    }
  }
  uint64_t crashes() const { return crashes_; }
  uint64_t fulls() const { return fulls_; }

  void Step() {
    const std::string name = Name();
    switch (random_.Below(10)) {
      case 0:
        return Do([&](Model* model) {
          FilePtr file;
          if (store().Create(name, &file) != WalOutcome::kOk) return ++fulls_, void();
          (*model)[name] = {};
        });
      case 1:
        return Do([&](Model* model) {
          if (store().Remove(name) == WalOutcome::kOk) model->erase(name);
        });
      case 2: {
        const std::string to = Name();
        return Do([&](Model* model) {
          if (store().Rename(name, to) != WalOutcome::kOk || name == to) return;
          (*model)[to] = (*model)[name];
          model->erase(name);
        });
      }
      case 3:
        return Truncate(name);
      default:
        return Append(name);
    }
  }

 private:
  WalStore& store() { return *opened_->store; }
  std::string Name() { return std::string(1 + random_.Below(2) * 70, static_cast<char>('a' + random_.Below(3))); }

  void Adopt(Opened opened) {
    opened_ = std::make_unique<Opened>(std::move(opened));
    opened_->medium->on_step = [this] { CheckCrash(); };
    model_ = after_ = ModelOf(*opened_->store);
  }

  // Runs `operation`, which changes the store and tells the model. A crash on the way may leave the one or the other;
  // which the other is, is known by a rehearsal on a copy.
  template <typename Operation>
  void Do(const Operation& operation) {
    Opened rehearsal(geometry_, paged_, opened_->medium->AfterKill());
    after_ = model_;
    {
      auto real = std::exchange(opened_, std::make_unique<Opened>(std::move(rehearsal)));
      const CrashMedium::Scope scope(opened_->medium);
      operation(&after_);
      opened_ = std::move(real);
    }
    const CrashMedium::Scope scope(opened_->medium);
    Model again = model_;
    operation(&again);
    model_ = after_ = again;
    const std::string differs = Differs(ModelOf(store()), model_);
    EXPECT_EQ(differs, "") << "without a crash";
  }

  // Often whole extents, so that a later append ends where one that was cut short had begun another extent.
  size_t SomeBytes() {
    const size_t room = geometry_.extent_bytes - sizeof(wal_layout::ExtentHeader) - sizeof(wal_layout::ChunkHeader);
    if (random_.OneIn(2)) return room * (1 + random_.Below(3));
    return 1 + random_.Below(random_.OneIn(3) ? 2 * geometry_.extent_bytes : 100);
  }

  void Append(const std::string& name) {
    const std::string bytes = Bytes(++appends_, SomeBytes());
    const bool sync = random_.OneIn(2);
    if (!model_.contains(name)) return;
    // During the append: any part of it may be there.
    after_ = model_;
    after_[name].bytes += bytes;
    const CrashMedium::Scope scope(opened_->medium);
    const FilePtr file = store().Find(name);
    if (store().Append(*file, std::as_bytes(std::span(bytes))) != WalOutcome::kOk) {
      ++fulls_;
      after_ = model_;
      return;
    }
    model_ = after_;
    if (sync) {
      store().Sync(*file);
      model_[name].synced = model_[name].bytes.size();
      after_ = model_;
      CheckCrash();
    }
    EXPECT_EQ(Content(*file), model_[name].bytes);
  }

  void Truncate(const std::string& name) {
    if (!model_.contains(name)) return;
    const size_t length = random_.Below(model_[name].bytes.size() + 64);
    after_ = model_;
    after_[name].bytes.resize(length);
    const bool shrinks = length < model_[name].bytes.size();
    after_[name].synced = shrinks ? length : model_[name].synced;
    const CrashMedium::Scope scope(opened_->medium);
    FilePtr file = store().Find(name);
    if (store().Truncate(&file, length) == WalOutcome::kOk) {
      model_ = after_;
      model_[name].synced = length;
      EXPECT_EQ(Content(*file), model_[name].bytes);
    }
    after_ = Model(model_);
    EXPECT_EQ(Differs(ModelOf(store()), model_), "");
  }

  // A crash now leaves the store before the operation that is under way, or after it.
  void CheckImage(const Image& image) {
    ++crashes_;
    const Opened opened(geometry_, paged_, image);
    const Model found = ModelOf(*opened.store);
    const std::string before = Differs(found, model_);
    const std::string after = before.empty() ? "" : Differs(found, after_);
    EXPECT_TRUE(before.empty() || after.empty()) << "before: " << before << "; after: " << after;
    EXPECT_EQ(opened.store->recovery().damaged, 0u);
  }

  void CheckCrash() {
    if (testing::Test::HasFailure()) return;
    const CrashMedium& medium = *opened_->medium;
    if (medium.pending() <= exhaustive_) {
      for (uint64_t subset = 0; subset < uint64_t{1} << medium.pending(); ++subset)
        CheckImage(medium.After([&](size_t i) { return (subset >> i & 1) != 0; }));
      return;
    }
    for (unsigned i = 0; i < samples_; ++i) CheckImage(SomeImage());
  }

  // Whole lines and single words are lost, few or many.
  Image SomeImage() {
    const uint64_t lost = random_.Below(9), salt = random_.Next();
    const unsigned unit = random_.OneIn(2) ? 1 : 8;
    return opened_->medium->After([&](size_t i) { return Mix(salt + i / unit) % 8 >= lost; });
  }

  // The machine is cut off in the middle of an append, and comes up again, more than once.
  void Crash() {
    opened_->medium->on_step = nullptr;
    const CrashMedium::Scope scope(opened_->medium);
    Image image;
    bool stop = false;
    opened_->medium->on_step = [&] {
      if (!stop && random_.OneIn(2)) stop = true, image = SomeImage();
    };
    if (const auto names = store().List(""); !names.empty()) {
      const std::string name = names[random_.Below(names.size())];
      const std::string bytes = Bytes(++appends_, SomeBytes());
      model_[name].bytes += bytes;
      if (store().Append(*store().Find(name), std::as_bytes(std::span(bytes))) != WalOutcome::kOk)
        model_[name].bytes.resize(model_[name].bytes.size() - bytes.size());
    }
    if (!stop) image = SomeImage();
    const Opened first(geometry_, paged_, image);
    Opened again(geometry_, paged_, random_.OneIn(2) ? first.medium->AfterKill() : image);
    const Model found = ModelOf(*again.store);
    EXPECT_EQ(Differs(found, model_), "") << "after a crash";
    // Opened twice, it is the same.
    EXPECT_EQ(Differs(ModelOf(*first.store), found), "");
    Adopt(std::move(again));
  }

  const WalStore::Geometry geometry_;
  Random random_;
  const size_t exhaustive_;
  const unsigned samples_;
  const bool paged_;
  std::unique_ptr<Opened> opened_;
  Model model_;  // before the operation under way
  Model after_;  // after it
  uint64_t appends_ = 0;
  uint64_t crashes_ = 0;
  uint64_t fulls_ = 0;
};

// What a crash before an append's drain leaves of it that keeps the words that `kept` says yes to.
template <typename Kept>
Image AppendCutShort(Opened* opened, size_t bytes, const Kept& kept) {
  const CrashMedium::Scope scope(opened->medium);
  Image image;
  opened->medium->on_step = [&] {
    image = opened->medium->After([&](size_t i) { return kept(opened->medium->pending_at(i)); });
  };
  const std::string appended = Bytes(bytes, bytes);
  EXPECT_EQ(opened->store->Append(*opened->store->Find("a"), std::as_bytes(std::span(appended))), WalOutcome::kOk);
  opened->medium->on_step = nullptr;
  return image;
}

// Two crashes, each of which keeps what the other loses of a line, make no line of it.
TEST(WalStoreCrashes, TwoTornLinesMakeNoWholeOne) {
  const WalStore::Geometry geometry = MakeGeometry(/*extent_bytes=*/192, /*extents=*/1, /*slots=*/2);
  Opened first(geometry, /*paged=*/false, Image(geometry.capacity_bytes), /*existing=*/false);
  {
    const CrashMedium::Scope scope(first.medium);
    FilePtr file;
    ASSERT_EQ(first.store->Create("a", &file), WalOutcome::kOk);
  }
  const size_t word = geometry.ExtentAt(0) + offsetof(wal_layout::ExtentHeader, file);
  Opened second(geometry, false, AppendCutShort(&first, 38, [&](size_t at) { return at != word; }));
  EXPECT_EQ(second.store->Find("a")->length(), 0u);
  const Opened third(geometry, false, AppendCutShort(&second, 29, [&](size_t at) { return at == word; }));
  EXPECT_EQ(third.store->Find("a")->length(), 0u) << "bytes that a crash took came back";
}

// MEZZ_CHECK_DEPTH=1: more than a million crashes.
unsigned Deep(unsigned steps) { return std::getenv("MEZZ_CHECK_DEPTH") == nullptr ? steps : steps * 300; }
void Tell(const CrashRun& run) {
  std::fprintf(stderr, "crashes: %llu\n", static_cast<unsigned long long>(run.crashes()));
}

TEST(WalStoreCrashes, EverySubsetOfTheWordsLostIsThePastOrThePresent) {
  CrashRun run(MakeGeometry(/*extent_bytes=*/192, /*extents=*/6, /*slots=*/4), Seed(), /*exhaustive=*/9, /*samples=*/8);
  run.Steps(Deep(200));
  Tell(run);
  EXPECT_GT(run.crashes(), 1000u);
}

TEST(WalStoreCrashes, ARandomSubsetIsToo) {
  CrashRun run(MakeGeometry(/*extent_bytes=*/512, /*extents=*/12, /*slots=*/6), Seed() + 1, /*exhaustive=*/2,
               /*samples=*/2);
  run.Steps(Deep(3000));
  Tell(run);
  EXPECT_GT(run.fulls(), 0u) << "the medium never was full";
}

TEST(WalStoreCrashes, APageCacheLosesNothingThatWasSynced) {
  CrashRun run(MakeGeometry(/*extent_bytes=*/512, /*extents=*/12, /*slots=*/6), Seed() + 2, /*exhaustive=*/2,
               /*samples=*/2, /*paged=*/true);
  run.Steps(Deep(1000));
  Tell(run);
  EXPECT_GT(run.crashes(), 1000u);
}

}  // namespace
}  // namespace mezz::test
