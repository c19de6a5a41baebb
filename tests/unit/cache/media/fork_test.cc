// SPDX-License-Identifier: Apache-2.0
// A medium across fork: the child keeps neither the lock nor the right to write, and undoes nothing when it goes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "cache/media/medium.h"
#include "cache/media/preparer.h"
#include "tests/support/tier_fixture.h"

namespace mezz {
namespace {

constexpr uint64_t kBytes = 40 << 20;

struct Opened {
  Status status;
  std::unique_ptr<Medium> medium;
  std::unique_ptr<Preparer> preparer;
};

Opened Open(const std::string& path) {
  ScmOptions options;
  options.capacity_bytes = kBytes;
  options.path = path;
  options.medium = path.empty() ? MediumKind::kAnonymous : MediumKind::kFile;
  Opened opened;
  bool existing = false;
  opened.status = OpenMedium(options, &opened.medium, &existing, &opened.preparer);
  return opened;
}

class Pipe {
 public:
  Pipe() { EXPECT_EQ(pipe(ends_), 0); }
  ~Pipe() {
    for (const int end : ends_) close(end);
  }
  void Send() { ASSERT_EQ(write(ends_[1], "x", 1), 1); }
  void Await() {
    char byte = 0;
    ASSERT_EQ(read(ends_[0], &byte, 1), 1);
  }

 private:
  int ends_[2];
};

pid_t Fork() { return fork(); }
pid_t RawClone() { return static_cast<pid_t>(syscall(SYS_clone, SIGCHLD, nullptr, nullptr, nullptr, nullptr)); }

// The wait status of a child that returns `run()`.
int Child(const std::function<int()>& run, const std::function<pid_t()>& spawn = Fork) {
  const pid_t child = spawn();
  if (child == 0) {
    alarm(60);  // a hang ends as a signal
    _exit(run());
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(MediumFork, AChildDoesNotKeepTheLockOfAnOwnerThatCloses) {
  const test::ScratchFile file;
  Opened owner = Open(file.path());
  ASSERT_TRUE(owner.status.ok()) << owner.status.message();
  for (const auto& spawn : {Fork, RawClone}) {
    Pipe leave;
    const pid_t child = spawn();
    if (child == 0) {
      leave.Await();
      _exit(0);
    }
    owner = {};
    owner = Open(file.path());
    EXPECT_TRUE(owner.status.ok()) << owner.status.message();
    leave.Send();
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
  }
}

TEST(MediumFork, AChildDoesNotKeepTheLockOfAnOwnerThatDies) {
  const test::ScratchFile file;
  Pipe begun;
  Pipe leave;
  Pipe left;
  const int owner = Child([&] {
    const Opened opened = Open(file.path());
    if (!opened.status.ok()) return 1;
    if (fork() == 0) {
      begun.Send();
      leave.Await();
      left.Send();
      _exit(0);
    }
    begun.Await();
    _exit(0);  // like a crash: nothing is closed properly
  });
  ASSERT_EQ(owner, 0);
  const Opened next = Open(file.path());
  EXPECT_TRUE(next.status.ok()) << next.status.message();
  leave.Send();
  left.Await();
}

TEST(MediumFork, AChildThatDestroysItsCopyTakesNothingFromTheOwner) {
  const test::ScratchFile file;
  Opened owner = Open(file.path());
  ASSERT_TRUE(owner.status.ok());
  owner.preparer->Start();
  owner.medium->base()[0] = std::byte{7};
  for (const auto& spawn : {Fork, RawClone}) {
    EXPECT_EQ(Child(
                  [&] {
                    owner.preparer.reset();
                    owner.medium.reset();
                    return 0;
                  },
                  spawn),
              0);
    EXPECT_TRUE(std::filesystem::exists(file.path()));
    EXPECT_EQ(Open(file.path()).status.code(), Status::Code::kBusy) << "still the owner's";
    EXPECT_EQ(owner.medium->base()[0], std::byte{7});
  }
  EXPECT_TRUE(owner.preparer->Wait().ok());
}

class MediumForkOn : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Media, MediumForkOn, testing::Bool(),
                         [](const auto& test) { return test.param ? "file" : "anonymous"; });

TEST_P(MediumForkOn, AChildReadsButCannotWrite) {
  const test::ScratchFile file;
  const Opened owner = Open(GetParam() ? file.path() : "");
  ASSERT_TRUE(owner.status.ok());
  owner.medium->base()[100] = std::byte{42};
  EXPECT_EQ(Child([&] { return owner.medium->base()[100] == std::byte{42} ? 0 : 1; }), 0);
  const int status = Child([&] {
    signal(SIGSEGV, SIG_DFL);  // not the sanitizers'
    const_cast<volatile std::byte&>(owner.medium->base()[100]) = std::byte{1};
    return 0;
  });
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV) << status;
  EXPECT_EQ(owner.medium->base()[100], std::byte{42});
  owner.medium->base()[100] = std::byte{43};
  EXPECT_EQ(owner.medium->base()[100], std::byte{43}) << "the owner may still write";
}

// Descriptor and address are other things' once the medium is gone.
TEST_P(MediumForkOn, RulesEndWithTheMedium) {
  const test::ScratchFile file;
  const test::ScratchFile other;
  { const Opened gone = Open(GetParam() ? file.path() : ""); }
  const int fd = open(other.path().c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  ASSERT_GE(fd, 0);
  EXPECT_EQ(Child([&] { return fcntl(fd, F_GETFD) >= 0 ? 0 : 1; }), 0);
  close(fd);
}

TEST_P(MediumForkOn, AChildMayOpenOneOfItsOwn) {
  const test::ScratchFile file;
  const test::ScratchFile own;
  const Opened owner = Open(GetParam() ? file.path() : "");
  ASSERT_TRUE(owner.status.ok());
  EXPECT_EQ(Child([&] {
              Opened mine = Open(GetParam() ? own.path() : "");
              if (!mine.status.ok()) return 1;
              mine.medium->base()[0] = std::byte{1};
              mine.preparer->Start();
              return mine.preparer->Wait().ok() ? 0 : 2;
            }),
            0);
}

}  // namespace
}  // namespace mezz
