// SPDX-License-Identifier: Apache-2.0
// verify=keyed: what somebody without the key wrote to the medium is a counted miss, whatever its checksums say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "cache/authenticator.h"
#include "cache/header_checksum.h"
#include "cache/inspection.h"
#include "cache/pack/packer.h"
#include "tests/support/record_medium.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

using test::BytesOf;
using test::Key;
using test::MixedPayload;
using test::PackablePayload;
using test::Payload;
using test::RecordMedium;
using test::Same;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kBytes = 4000;

VerifyKey KeyOf(uint8_t first) {
  std::array<std::byte, VerifyKey::kBytes> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(first + i);
  return VerifyKey(bytes);
}

layout::Superblock SomeLife() {
  layout::Superblock life{};
  life.uuid[0] = 1;
  life.format_id = 2;
  life.host_version = 3;
  life.key_scheme = 4;
  return life;
}

record::Header HeaderFor(size_t bytes) {
  return {.key = Key(1),
          .payload_bytes = static_cast<uint32_t>(bytes + layout::kMacBytes),
          .payload_checksum = 0,
          .sequence = 9,
          .role = BlockRole::kIndex,
          .flags = layout::kRecordKeyed,
          .checksum = 0};
}

Mac MacOf(const Authenticator& authenticator, const record::Header& header, std::span<const std::byte> payload) {
  Authenticator::Running running(authenticator, header);
  running.Add(payload);
  return running.Finish();
}

TEST(Authenticator, DoesNotMindHowAPayloadIsCut) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const Authenticator authenticator(KeyOf(1), SomeLife());
  for (const size_t bytes : {0, 1, 63, 8191, 8192, 8193, 16384, 40'000}) {
    const auto payload = Payload(1, 0, bytes);
    const Mac whole = MacOf(authenticator, HeaderFor(bytes), payload);
    for (int round = 0; round < 20; ++round) {
      Authenticator::Running running(authenticator, HeaderFor(bytes));
      for (std::span<const std::byte> rest(payload); !rest.empty();) {
        const size_t piece = std::min<size_t>(rest.size(), 1 + random() % (1u << random() % 15));
        running.Add(rest.first(piece));
        rest = rest.subspan(piece);
      }
      ASSERT_EQ(running.Finish(), whole) << bytes;
    }
  }
}

TEST(Authenticator, IsAnotherOneForAnotherKeyAnotherLifeAndAnotherRecord) {
  const auto payload = Payload(1, 0, 100);
  std::map<Mac, std::string> seen;
  const auto add = [&](std::string what, const VerifyKey& key, const layout::Superblock& life,
                       const record::Header& header, std::span<const std::byte> bytes) {
    const auto [at, fresh] = seen.emplace(MacOf(Authenticator(key, life), header, bytes), what);
    EXPECT_TRUE(fresh) << what << " is as " << at->second;
  };
  add("the first", KeyOf(1), SomeLife(), HeaderFor(100), payload);
  add("another key", KeyOf(2), SomeLife(), HeaderFor(100), payload);
  using Life = layout::Superblock;
  const std::pair<const char*, void (*)(Life*)> lives[] = {
      {"uuid 0", [](Life* life) { life->uuid[0] ^= 1; }},    {"uuid 1", [](Life* life) { life->uuid[1] ^= 1; }},
      {"format", [](Life* life) { life->format_id ^= 1; }},  {"host", [](Life* life) { life->host_version ^= 1; }},
      {"scheme", [](Life* life) { life->key_scheme ^= 1; }},
  };
  for (const auto& [what, change] : lives) {
    Life life = SomeLife();
    change(&life);
    add(what, KeyOf(1), life, HeaderFor(100), payload);
  }
  const std::pair<const char*, void (*)(record::Header*)> headers[] = {
      {"key 0", [](record::Header* header) { header->key.words[0] ^= 1; }},
      {"key 1", [](record::Header* header) { header->key.words[1] ^= 1; }},
      {"role", [](record::Header* header) { header->role = BlockRole::kData; }},
      {"packed", [](record::Header* header) { header->flags |= layout::kRecordPacked; }},
      {"dictionary", [](record::Header* header) { header->flags |= layout::kRecordDictionary; }},
  };
  for (const auto& [what, change] : headers) {
    record::Header header = HeaderFor(100);
    change(&header);
    add(what, KeyOf(1), SomeLife(), header, payload);
  }
  add("shorter", KeyOf(1), SomeLife(), HeaderFor(99), std::span(payload).first(99));
  auto other = payload;
  for (size_t i = 0; i < other.size(); ++i) {
    other[i] ^= std::byte{1};
    add(testing::PrintToString(i), KeyOf(1), SomeLife(), HeaderFor(100), other);
    other[i] ^= std::byte{1};
  }
}

// So that no later build reads the records of this one as forged.
TEST(Authenticator, StaysAsItIs) {
  const Authenticator authenticator(KeyOf(1), SomeLife());
  EXPECT_EQ(authenticator.check(), 788225453036665461u);
  uint64_t words[2];
  const Mac mac = MacOf(authenticator, HeaderFor(10'000), Payload(1, 0, 10'000));
  std::memcpy(words, mac.data(), sizeof(words));
  EXPECT_EQ(words[0], 4348834890439193599u);
  EXPECT_EQ(words[1], 5409165728435342894u);
}

class KeyedRecords : public ::testing::Test {
 protected:
  KeyedRecords() {
    options_ = test::AnonymousOptions(16 * kSegmentBytesMin);
    options_.faults_max = 0;  // a fault costs what it hit
    test::UseFile(file_.path(), &options_);
    options_.recovery = Recovery::kWarm;
    options_.verify = VerifyMode::kKeyed;
    options_.verify_key = KeyOf(1);
  }
  void TearDown() override {
    if (tier_ != nullptr) test::ExpectSound(*tier_);
  }
  void Open() {
    tier_.reset();
    tier_ = test::OpenOrDie(options_);
    ASSERT_NE(tier_, nullptr);
    tier_->WaitUntilRecovered();
  }
  PutResult Put(uint64_t n, const std::vector<std::byte>& block, Form form = Form::kRaw) {
    return tier_->Put(Key(n), BlockRole::kData, block, Generation::kYoung, form);
  }
  bool Serves(uint64_t n, const std::vector<std::byte>& block) {
    const PinnedBlock found = tier_->Find(Key(n));
    EXPECT_TRUE(!found || Same(BytesOf(found), block)) << n;
    return static_cast<bool>(found);
  }
  uint64_t Count(Event event) { return tier_->counters().Snapshot()[event]; }
  // Where the record lies.
  std::byte* RecordOf(uint64_t n) {
    const PinnedBlock found = tier_->Find(Key(n));
    EXPECT_TRUE(found);
    return const_cast<std::byte*>(found.stored().data()) - sizeof(record::Header);
  }
  static record::Header HeaderIn(const std::byte* at) {
    record::Header header;
    std::memcpy(&header, at, sizeof(header));
    return header;
  }
  // Gives a record that was changed the checksums that anyone can make.
  static void Repair(std::byte* at) {
    record::Header header = HeaderIn(at);
    const std::span<const std::byte> payload(at + sizeof(header), record::PayloadBytes(header));
    header.payload_checksum = record::PayloadChecksum(payload) ^ layout::KeyFold(header.key);
    header.checksum = record::HeaderChecksum(header);
    std::memcpy(at, &header, sizeof(header));
  }
  // Changes a byte of the block.
  void Forge(uint64_t n, size_t byte = 0) {
    std::byte* const at = RecordOf(n);
    at[sizeof(record::Header) + byte] ^= std::byte{1};
    Repair(at);
  }

  const test::ScratchFile file_;
  ScmOptions options_;
  std::unique_ptr<ScmTier> tier_;
};

TEST_F(KeyedRecords, OfEverySizeAreServed) {
  Open();
  const size_t most = tier_->figures().max_block_bytes();
  uint64_t n = 1;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{16}, size_t{4095}, size_t{8192}, size_t{8208}, size_t{8224},
                             size_t{8225}, size_t{16'464}, size_t{16'480}, size_t{100'000}, most}) {
    ++n;
    ASSERT_EQ(Put(n, Payload(n, 0, bytes)), PutResult::kStored) << bytes;
    ASSERT_TRUE(Serves(n, Payload(n, 0, bytes))) << bytes;
  }
  EXPECT_EQ(Put(1, Payload(1, 0, most + 1)), PutResult::kTooLarge);
}

TEST_F(KeyedRecords, AreComparedAndListedByTheirOwnBytes) {
  Open();
  const auto block = Payload(1, 0, kBytes);
  ASSERT_EQ(Put(1, block), PutResult::kStored);
  EXPECT_EQ(tier_->Compare(Key(1), block.size(), SpanSource{block}), Held::kSame);
  tier_->figures().ForEach([](const BlockKey&, size_t bytes, BlockRole) { EXPECT_EQ(bytes, kBytes); });
  EXPECT_EQ(tier_->Audit().resident_logical_bytes, kBytes);
}

// Reclaim copies, packs and spares them, dictionaries are trained, and all of it comes back.
TEST_F(KeyedRecords, LiveAsOthersDo) {
  options_.pack = PackMode::kZstd;
  options_.dictionaries = test::kTrainedSoon;
  Open();
  const auto block = [](uint64_t n) { return MixedPayload(n, 0, 1000 + n % 3000); };
  for (uint64_t n = 1; n < 6000; ++n) {
    ASSERT_EQ(Put(n, block(n), n % 3 == 0 ? Form::kRaw : Form::kPacked), PutResult::kStored);
    if (n % 7 == 0) Serves(n - n % 100, block(n - n % 100));
  }
  test::ExpectSound(*tier_);
  EXPECT_GT(Count(Event::kScmSecondChance), 0u);
  EXPECT_GT(Count(Event::kDictionaryWritten), 0u);
  const uint64_t resident = tier_->figures().resident_blocks();
  Open();
  EXPECT_GE(tier_->figures().resident_blocks(), resident * 9 / 10);
  uint64_t served = 0;
  for (uint64_t n = 1; n < 6000; ++n) served += Serves(n, block(n)) ? 1 : 0;
  EXPECT_GE(served, resident * 9 / 10);
  EXPECT_EQ(Count(Event::kScmChecksumMismatch), 0u);
}

// Who may write to the medium changes what he likes, and makes checksums for it.
TEST_F(KeyedRecords, ChangedByWhoHasNoKeyAreCountedMisses) {
  const uint64_t seed = test::Seed();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  options_.pack = PackMode::kLz4;
  Open();
  for (uint64_t n = 1; n < 600; ++n) {
    const Form form = n % 2 == 0 ? Form::kPacked : Form::kRaw;
    ASSERT_EQ(Put(n, PackablePayload(n, 0, 600 + n % 500), form), PutResult::kStored);
    std::byte* const at = RecordOf(n);
    // Any bit of block and code.
    const size_t changed = sizeof(record::Header) + random() % HeaderIn(at).payload_bytes;
    at[changed] ^= static_cast<std::byte>(1u << random() % 8);
    Repair(at);
    ASSERT_FALSE(tier_->Find(Key(n))) << n;
    ASSERT_EQ(Count(Event::kScmChecksumMismatch), n);
    ASSERT_EQ(Count(Event::kScmMiss), n);
    ASSERT_FALSE(tier_->Contains(Key(n))) << "it is forgotten";
  }
}

TEST_F(KeyedRecords, OfAChangedHeaderAreCountedMisses) {
  Open();
  const auto block = Payload(1, 0, kBytes);
  const std::pair<size_t, unsigned> fields[] = {{offsetof(record::Header, payload_bytes), 6},  // within the segment
                                                {offsetof(record::Header, role), 8},
                                                {offsetof(record::Header, flags), 8}};
  uint64_t counted = 0;
  for (const auto& [field, bits] : fields) {
    for (unsigned bit = 0; bit < bits; ++bit) {
      ASSERT_EQ(Put(1, block), PutResult::kStored);
      std::byte* const at = RecordOf(1);
      at[field] ^= static_cast<std::byte>(1u << bit);
      Repair(at);
      const bool advice = field == offsetof(record::Header, flags) && 1u << bit == layout::kRecordRejected;
      EXPECT_EQ(Serves(1, block), advice) << field << " " << bit;
      counted += advice ? 0 : 1;
      EXPECT_EQ(Count(Event::kScmChecksumMismatch) + Count(Event::kScmDamagedHeader), counted) << field << " " << bit;
      tier_->Erase(Key(1));
    }
  }
}

TEST_F(KeyedRecords, PlantedByWhoHasNoKeyAreCountedMisses) {
  const auto plant = [](std::byte* at, uint8_t flags, const Authenticator* authenticator) {
    const record::Header header = HeaderIn(at);
    const auto payload = Payload(77, 0, record::PayloadBytes(header) - layout::kMacBytes);
    ASSERT_TRUE(record::Write(RecordMedium(at), {0, header.sequence}, header.key, header.role, payload.size(),
                              SpanSource{payload}, flags, authenticator));
  };
  Open();
  const Authenticator other_key(KeyOf(2), SomeLife()), other_life(KeyOf(1), SomeLife());
  const std::pair<uint8_t, const Authenticator*> plants[] = {
      {0, nullptr}, {layout::kRecordKeyed, nullptr}, {0, &other_key}, {0, &other_life}};
  uint64_t mismatches = 0;
  for (const auto& [flags, authenticator] : plants) {
    ASSERT_EQ(Put(1, Payload(1, 0, kBytes)), PutResult::kStored);
    plant(RecordOf(1), flags, authenticator);
    EXPECT_FALSE(tier_->Find(Key(1)));
    EXPECT_EQ(Count(Event::kScmChecksumMismatch), ++mismatches);
  }
}

// An older record of the same key is what it says; one of another key is not.
TEST_F(KeyedRecords, MovedToAnotherKeyAreCountedMisses) {
  Open();
  for (uint64_t n = 1; n <= 2; ++n) ASSERT_EQ(Put(n, Payload(n, 0, kBytes)), PutResult::kStored);
  const std::byte* const from = RecordOf(1);
  std::byte* const to = RecordOf(2);
  std::memcpy(to + sizeof(record::Header), from + sizeof(record::Header), kBytes + layout::kMacBytes);
  Repair(to);
  EXPECT_FALSE(tier_->Find(Key(2)));
  EXPECT_EQ(Count(Event::kScmChecksumMismatch), 1u);
  EXPECT_TRUE(Serves(1, Payload(1, 0, kBytes)));
}

TEST_F(KeyedRecords, TooShortForACodeAreMisses) {
  Open();
  ASSERT_EQ(Put(1, {}), PutResult::kStored);
  std::byte* const at = RecordOf(1);
  record::Header header = HeaderIn(at);
  header.payload_bytes = layout::kMacBytes - 1;
  std::memcpy(at, &header, sizeof(header));
  Repair(at);
  EXPECT_FALSE(tier_->Find(Key(1)));
}

TEST_F(KeyedRecords, AreScrubbedToo) {
  Open();
  ASSERT_EQ(Put(1, Payload(1, 0, kBytes)), PutResult::kStored);
  Forge(1);
  tier_->Scrub(1 << 20);
  EXPECT_EQ(Count(Event::kScmChecksumMismatch), 1u);
  EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
}

// It writes packed records itself, with codes of ours.
TEST_F(KeyedRecords, ForgedAreNotPackedByReclaim) {
  options_.pack = PackMode::kLz4;
  Open();
  const uint64_t turns = 4 * options_.capacity_bytes / layout::RecordBytes(kBytes);
  for (uint64_t n = 1; n <= 50; ++n) {
    ASSERT_EQ(Put(n, PackablePayload(n, 0, kBytes)), PutResult::kStored);
    for (int hits = 0; hits < 3; ++hits) ASSERT_TRUE(Serves(n, PackablePayload(n, 0, kBytes)));
    if (n % 2 == 0) continue;
    Forge(n, 1000);
  }
  for (uint64_t n = 1000; n < turns && Count(Event::kScmSegmentReclaimed) < 4; ++n)
    ASSERT_EQ(Put(n, Payload(n, 0, kBytes)), PutResult::kStored);
  uint64_t packed = 0;
  for (uint64_t n = 1; n <= 50; ++n) {
    const PinnedBlock found = tier_->Find(Key(n));
    if (!found) continue;
    EXPECT_EQ(n % 2, 0u);
    packed += found.form() == Form::kPacked ? 1 : 0;
  }
  EXPECT_EQ(packed, 25u);
}

TEST_F(KeyedRecords, AreNotUnpackedWithAForgedDictionary) {
  options_.pack = PackMode::kZstd;
  options_.dictionaries = test::kTrainedSoon;
  Open();
  for (uint64_t n = 1; n < 2000; ++n) {
    ASSERT_EQ(Put(n, test::TextPayload(n, 0, 1000), Form::kPacked), PutResult::kStored);
    if (n % 500 == 0) tier_->SettleDictionaries();
  }
  ASSERT_GT(Count(Event::kDictionaryWritten), 0u);
  tier_.reset();
  std::string all = test::Contents(file_.path());
  const std::string key(reinterpret_cast<const char*>(&layout::kDictionaryKey), sizeof(layout::kDictionaryKey));
  for (size_t at = all.find(key); at != std::string::npos; at = all.find(key, at + 1)) {
    if (at % kLineBytes != 0) continue;
    auto* const record = reinterpret_cast<std::byte*>(all.data() + at);
    record[sizeof(record::Header) + record::PayloadBytes(HeaderIn(record)) - 1] ^= std::byte{1};
    Repair(record);
  }
  test::Overwrite(file_.path(), 0, all);
  Open();
  EXPECT_GT(tier_->recovery().dropped, 0u);
  for (uint64_t n = 1; n < 2000; ++n) Serves(n, test::TextPayload(n, 0, 1000));
  EXPECT_EQ(tier_->counters().Snapshot()[Event::kScmUnpackFailed], 0u) << "it was believed";
}

TEST_F(KeyedRecords, OfAnotherKeyOrOfNoneAreDiscarded) {
  using Change = void (*)(ScmOptions*);
  const Change keyed = [](ScmOptions*) {};
  const Change other = [](ScmOptions* o) { o->verify_key = KeyOf(2); };
  const Change none = [](ScmOptions* o) {
    o->verify = VerifyMode::kSampled;
    o->verify_key.reset();
  };
  const std::tuple<Change, Change, const char*> cases[] = {
      {keyed, other, "another verify_key"}, {keyed, none, "not asked for"}, {none, keyed, "without verify=keyed"}};
  const ScmOptions asked = options_;
  for (const auto& [before, after, why] : cases) {
    options_ = asked;
    before(&options_);
    Open();
    ASSERT_EQ(Put(1, Payload(1, 0, kBytes)), PutResult::kStored);
    Open();
    EXPECT_TRUE(Serves(1, Payload(1, 0, kBytes))) << why;
    tier_.reset();
    options_ = asked;
    after(&options_);
    options_.recovery = Recovery::kRequire;
    std::unique_ptr<ScmTier> refused;
    EXPECT_THAT(ScmTier::Open(options_, &refused).message(), HasSubstr(why));
    options_.recovery = Recovery::kWarm;
    Open();
    EXPECT_THAT(tier_->recovery().ToString(), AllOf(HasSubstr(why), HasSubstr("discarded")));
    EXPECT_EQ(tier_->figures().resident_blocks(), 0u);
  }
}

// Its checksum is anyone's to make; but the code behind it is of the life that it tells.
TEST_F(KeyedRecords, BehindAChangedSuperblockAreDiscarded) {
  options_.key_scheme = 1;
  Open();
  ASSERT_EQ(Put(1, Payload(1, 0, kBytes)), PutResult::kStored);
  tier_.reset();
  for (const uint64_t at : {uint64_t{0}, layout::kSuperblockCopyAt}) {
    layout::Superblock superblock;
    std::memcpy(&superblock, test::Contents(file_.path()).data() + at, sizeof(superblock));
    superblock.key_scheme = 2;
    superblock = Sealed(superblock);
    test::Overwrite(file_.path(), at, {reinterpret_cast<const char*>(&superblock), sizeof(superblock)});
  }
  options_.key_scheme = 2;
  Open();
  EXPECT_THAT(tier_->recovery().ToString(), HasSubstr("another verify_key"));
}

TEST_F(KeyedRecords, AreInspectedWithTheirKey) {
  Open();
  for (uint64_t n = 1; n <= 2; ++n) ASSERT_EQ(Put(n, Payload(n, 0, kBytes)), PutResult::kStored);
  Forge(1);
  tier_.reset();
  std::string all = test::Contents(file_.path());
  const auto inspect = [&](const VerifyKey* key) {
    const Inspection found = Inspect(std::as_bytes(std::span(all)), /*verify=*/true, key);
    EXPECT_TRUE(found.keyed);
    EXPECT_EQ(found.unknown, 0u);
    EXPECT_EQ(found.of_role[static_cast<size_t>(BlockRole::kData)].records, 2u);
    return found.of_role[static_cast<size_t>(BlockRole::kData)].damaged;
  };
  const VerifyKey key = KeyOf(1);
  EXPECT_EQ(inspect(&key), 1u);
  EXPECT_EQ(inspect(nullptr), 0u) << "its checksums are right";
}

class KeyFile : public ::testing::Test {
 protected:
  void Make(size_t bytes, mode_t mode) {
    std::filesystem::remove(file_.path());
    std::ofstream(file_.path()) << std::string(bytes, 's');
    ASSERT_EQ(chmod(file_.path().c_str(), mode), 0);
  }
  std::string Refusal(const std::string& path) {
    VerifyKey key;
    return std::string(ReadVerifyKey(path, &key).message());
  }

  const test::ScratchFile file_{"/dev/shm"};  // never a device
};

TEST_F(KeyFile, IsPrivateAndOfItsSize) {
  for (const mode_t mode : {0600, 0400}) {
    Make(VerifyKey::kBytes, mode);
    VerifyKey key;
    EXPECT_TRUE(ReadVerifyKey(file_.path(), &key).ok());
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(key.data()), VerifyKey::kBytes), std::string(32, 's'));
  }
  Make(VerifyKey::kBytes, 0640);
  EXPECT_THAT(Refusal(file_.path()), HasSubstr("mode 0640"));
  for (const size_t bytes : {31, 33}) {
    Make(bytes, 0600);
    EXPECT_THAT(Refusal(file_.path()), AllOf(HasSubstr("head -c 32"), Not(HasSubstr("sss"))));
  }
  EXPECT_THAT(Refusal("/"), HasSubstr("regular file"));
  EXPECT_THAT(Refusal(file_.path() + "-none"), HasSubstr("cannot be read"));
  Make(VerifyKey::kBytes, 0600);
  const test::ScratchFile link;
  std::filesystem::create_symlink(file_.path(), link.path());
  EXPECT_THAT(Refusal(link.path()), HasSubstr("symbolic link"));
  if (geteuid() != 0) GTEST_SKIP() << "only root may give a file away";
  ASSERT_EQ(chown(file_.path().c_str(), 12345, static_cast<gid_t>(-1)), 0);
  EXPECT_THAT(Refusal(file_.path()), HasSubstr("uid 12345"));
}

TEST_F(KeyFile, IsAskedForWithKeyedAndWithNothingElse) {
  Make(VerifyKey::kBytes, 0600);
  ScmOptions options = test::AnonymousOptions(16 * kSegmentBytesMin);
  options.verify_key_file = file_.path();
  EXPECT_THAT(options.Validate().message(), HasSubstr("use verify=keyed"));
  options.verify = VerifyMode::kKeyed;
  const auto tier = test::OpenOrDie(options);
  EXPECT_FALSE(tier->options().verify_key) << "the tier keeps no copy";
  EXPECT_EQ(tier->options().verify_key_file, file_.path());
  options.verify_key = KeyOf(1);
  EXPECT_THAT(options.Validate().message(), HasSubstr("contradicts"));
  options.verify_key_file.clear();
  EXPECT_TRUE(options.Validate().ok());
  options.verify_key.reset();
  EXPECT_THAT(options.Validate().message(), HasSubstr("verify_key_file"));
}

}  // namespace
}  // namespace mezz
