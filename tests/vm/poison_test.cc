// SPDX-License-Identifier: Apache-2.0
// The guest's part of the test of memory that fails (poison_suite): an SCM tier of which one page is poisoned while it
// holds blocks.
//
//   poison_test MEDIUM HOW [uncontained]
//
//   MEDIUM  a file, or numa:N, or anon
//   HOW     here      madvise(MADV_HWPOISON) by this process
//           there     the same by another process that maps the file
//           badblock  in the list of bad blocks of /dev/pmem0, on which the file lies: an access that has to ask the
//                     kernel for the page finds out
//
// Every block is read, before and after as many were put as the medium holds twice: each is right, or a miss. Prints
// "right R missing M wrong W faults F quarantined BYTES", and ends with 0 if none was wrong. `uncontained`: without the
// handler. Needs root.
#include <fcntl.h>
#include <fmt/format.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "cache/media/bus_errors.h"
#include "cache/scm_tier.h"
#include "tests/support/tier_fixture.h"
#include "tests/vm/guest.h"

namespace mezz::test {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMapped = 2 << 20;  // what a device may be mapped by
constexpr uint64_t kSegments = 32;
constexpr uint64_t kBlocks = 1500;
constexpr size_t kBytes = 4000;

[[noreturn]] void Fail(const std::string& why) {
  Say("wrong: " + why + "\n");
  std::exit(3);
}

// Where in its file an address of this process lies.
uint64_t OffsetInFile(const std::byte* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0, offset = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx", &begin, &end, &offset) != 3) continue;
    const auto at = reinterpret_cast<unsigned long>(address);
    if (begin <= at && at < end) return offset + (at - begin);
  }
  Fail("the page is not mapped");
}

void PoisonHere(std::byte* page) {
  // A device tells the caller at once, in the call itself: of no use here.
  struct sigaction ignore {
  }, before{};
  ignore.sa_handler = [](int) {};
  sigaction(SIGBUS, &ignore, &before);
  if (madvise(page, kPage, MADV_HWPOISON) != 0 && errno != EINTR) Fail(std::string("madvise: ") + std::strerror(errno));
  sigaction(SIGBUS, &before, nullptr);
}

void PoisonThere(const std::string& path, uint64_t offset) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGBUS, SIG_DFL);
    const int file = open(path.c_str(), O_RDWR);
    void* const page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset));
    if (page == MAP_FAILED) _exit(2);
    [[maybe_unused]] const std::byte touched = *static_cast<volatile std::byte*>(page);
    _exit(madvise(page, kPage, MADV_HWPOISON) == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  const bool killed_by_it = WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;  // on a device
  if (!killed_by_it && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) Fail("the other process could not poison it");
}

void MakeBadBlock(const std::string& path, uint64_t offset, std::byte* page) {
  alignas(fiemap) std::byte space[sizeof(fiemap) + sizeof(fiemap_extent)] = {};
  auto& request = *reinterpret_cast<fiemap*>(space);
  request.fm_start = offset;
  request.fm_length = kPage;
  request.fm_extent_count = 1;
  const int file = open(path.c_str(), O_RDWR);
  if (ioctl(file, FS_IOC_FIEMAP, &request) != 0 || request.fm_mapped_extents != 1) Fail("no extent");
  close(file);
  const uint64_t on_device = request.fm_extents[0].fe_physical + (offset - request.fm_extents[0].fe_logical);
  std::ofstream("/sys/block/pmem0/badblocks") << fmt::format("{} 1\n", on_device / 512) << std::flush;
  // So that the next access has to ask for it.
  const auto at = reinterpret_cast<uintptr_t>(page) / kMapped * kMapped;
  if (madvise(reinterpret_cast<void*>(at), kMapped, MADV_DONTNEED) != 0) Fail("the pages stay mapped");
}

ScmOptions OptionsOf(const std::string& medium) {
  ScmOptions options = AnonymousOptions(kSegments * kSegmentBytesMin);
  if (medium.starts_with("numa:")) {
    options.medium = MediumKind::kNumaNode;
    options.numa_node = std::atoi(medium.c_str() + 5);
  } else if (medium != "anon") {
    UseFile(medium, &options);
  }
  return options;
}

struct Found {
  uint64_t right = 0, missing = 0, wrong = 0;
};

Found ReadAll(ScmTier& tier, uint64_t first, uint64_t last) {
  Found found;
  for (uint64_t n = first; n < last; ++n) {
    std::vector<std::byte> bytes(kBytes);
    const PinnedBlock block = tier.Find(Key(n));
    // Bytes that are handed out in place may fail in the reader's hands: it is the reader who contains that.
    const bool here = block && CopyBytes(block.payload(), bytes.data());
    if (!here) {
      ++found.missing;
    } else if (Same(bytes, Payload(n, 0, kBytes))) {
      ++found.right;
    } else {
      ++found.wrong;
    }
  }
  return found;
}

int Run(const std::string& medium, std::string_view how, bool contained) {
  if (contained && !ContainBusErrors().ok()) Fail("the handler cannot be installed");
  std::unique_ptr<ScmTier> tier;
  const Status opened = ScmTier::Open(OptionsOf(medium), &tier);
  if (!opened.ok()) Fail(std::string(opened.message()));
  for (uint64_t n = 1; n <= kBlocks; ++n) tier->Put(Key(n), BlockRole::kData, Payload(n, 0, kBytes));
  std::byte* page = nullptr;
  {
    const PinnedBlock block = tier->Find(Key(kBlocks / 2));
    if (!block) Fail("the block is not there");
    const auto at = reinterpret_cast<uintptr_t>(block.payload().data()) / kPage * kPage;
    page = reinterpret_cast<std::byte*>(at);
  }
  if (how == "here") PoisonHere(page);
  if (how == "there") PoisonThere(medium, OffsetInFile(page));
  if (how == "badblock") MakeBadBlock(medium, OffsetInFile(page), page);
  Say("poisoned\n");
  Found found = ReadAll(*tier, 1, kBlocks + 1);
  Say(fmt::format("at once: right {} missing {} wrong {} faults {} quarantined {}\n", found.right, found.missing,
                  found.wrong, tier->figures().faults(), tier->figures().quarantined_bytes()));
  uint64_t wrong = found.wrong;
  const uint64_t more = 2 * kSegments * kSegmentBytesMin / kBytes;
  for (uint64_t n = kBlocks + 1; n <= kBlocks + more; ++n) tier->Put(Key(n), BlockRole::kData, Payload(n, 0, kBytes));
  found = ReadAll(*tier, 1, kBlocks + more + 1);
  wrong += found.wrong;
  Say(fmt::format("right {} missing {} wrong {} faults {} quarantined {}\n", found.right, found.missing, found.wrong,
                  tier->figures().faults(), tier->figures().quarantined_bytes()));
  tier.reset();
  Say("closed\n");
  return wrong == 0 ? 0 : 3;
}

}  // namespace
}  // namespace mezz::test

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  return mezz::test::Run(argv[1], argv[2], argc == 3);
}
