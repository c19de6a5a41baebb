// SPDX-License-Identifier: Apache-2.0
#include "tests/support/check/explorer.h"

#include <setjmp.h>
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "tests/support/check/arena.h"
#include "tests/support/check/choices.h"
#include "tests/support/check/core.h"
#include "tests/support/check/memory_model.h"

namespace mezz::check {
namespace {

constexpr size_t kStackBytes = 256 << 10;
constexpr unsigned kScenario = kThreadsMax;  // the fiber of the scenario itself, beside those of its threads
// A thread that reads one word this often, without a break, waits for another one: it is made to give way.
constexpr unsigned kSpinReadsMax = 12;

struct Step {
  unsigned thread;
  const char* what;  // null: `note` alone
  const void* at;
  uint64_t before, after;
  const char* order;
  const char* file;
  unsigned line;
  const std::string* note;
};

const char* Name(std::memory_order order) {
  switch (order) {
    case std::memory_order_relaxed:
      return "relaxed";
    case std::memory_order_acquire:
    case std::memory_order_consume:
      return "acquire";
    case std::memory_order_release:
      return "release";
    case std::memory_order_acq_rel:
      return "acq_rel";
    case std::memory_order_seq_cst:
      return "seq_cst";
  }
  return "?";
}

class Engine {
 public:
  Engine(const Options& options, const std::function<void(Trial&)>& scenario) : options_(options), scenario_(scenario) {
    for (auto& stack : stacks_) stack = std::make_unique<char[]>(kStackBytes);
  }
  Result Explore();

  void RunThreads(std::vector<ThreadOfRun> threads);
  [[noreturn]] void Fail(std::string_view what);
  void Note(std::string_view what);
  void Outcome(std::string_view outcome) { ++result_.outcomes[std::string(outcome)]; }

  bool running() const { return running_; }
  unsigned current() const { return current_; }
  MemoryModel& memory() { return memory_; }

  // Before each operation on a shared word: others may come first.
  void Point(const void* at);
  unsigned ChooseStore(unsigned stores);
  bool FailsForNothing();
  void Record(const char* what, const void* at, uint64_t before, uint64_t after, const char* order, const Place& place);
  void CheckSpin(const void* at);
  void Yield() { Leave(/*forced=*/false); }
  void Lock(void* mutex, bool wait, bool* locked);
  void Unlock(void* mutex);
  void JudgeData(const std::optional<std::string>& race, const void* at, size_t bytes);

 private:
  struct Fiber {
    ucontext_t context;  // to start it
    jmp_buf at;          // to go on, without the system calls of swapcontext
    bool started = false;
    const char* name = "";
    std::function<void()> body;
    bool done = true;
    const void* waits_for = nullptr;                  // a mutex
    std::unordered_map<const void*, unsigned> reads;  // since it was switched to
  };
  struct Others {
    unsigned thread[kThreadsMax];
    unsigned count = 0;
  };
  struct Held {
    bool held = false;
    Clock released;
  };

  void RunOnce();
  void StartFiber(unsigned fiber, const char* name, std::function<void()> body);
  static void Entry(unsigned fiber);
  void FiberBody(unsigned fiber);
  void SwitchTo(unsigned thread);
  void Jump(unsigned from, unsigned to);
  void Leave(bool forced);  // the current thread cannot or must not go on
  Others OthersThatCanRun() const;
  std::string StepsText() const;

  const Options& options_;
  const std::function<void(Trial&)>& scenario_;
  Result result_;
  std::unique_ptr<Choices> choices_;
  std::unordered_set<const void*> shared_;  // words where a preemption may matter: known from earlier runs
  bool shared_grew_ = false;
  bool arena_on_ = false;

  MemoryModel memory_;
  std::unordered_map<const void*, Held> mutexes_;
  std::array<Fiber, kThreadsMax + 1> fibers_;
  std::array<std::unique_ptr<char[]>, kThreadsMax + 1> stacks_;
  ucontext_t explorer_;
  unsigned threads_ = 0;
  unsigned current_ = kScenario;
  bool running_ = false;  // the threads run, not the scenario's own lines
  unsigned steps_taken_ = 0, preemptions_left_ = 0, stale_left_ = 0;
  std::vector<Step> steps_;
  std::deque<std::string> notes_;  // of steps: few have one
};

Engine* g_engine = nullptr;

Result Engine::Explore() {
  g_engine = this;
  auto exhaustive = std::make_unique<Exhaustive>();
  Exhaustive* const search = options_.random_runs == 0 ? exhaustive.get() : nullptr;
  choices_ = std::move(exhaustive);
  if (search == nullptr) choices_ = std::make_unique<Random>(options_.seed, options_.random_runs);
  for (;;) {
    Arena::Reset();
    shared_grew_ = false;
    RunOnce();
    arena_on_ = true;  // what is made once for the whole process was made in the first run, and lasts
    ++result_.runs;
    if (search != nullptr && search->diverged() && result_.ok()) result_.failure = "the scenario is not deterministic";
    if (!result_.ok()) break;
    if (search != nullptr && shared_grew_) {
      search->Restart();  // more places to preempt than the runs so far used
    } else if (!choices_->Next()) {
      result_.complete = search != nullptr;
      break;
    }
    if (search != nullptr && result_.runs >= options_.runs_max) break;
  }
  g_engine = nullptr;
  return std::move(result_);
}

void Engine::RunOnce() {
  steps_.clear();
  notes_.clear();
  mutexes_.clear();
  steps_taken_ = 0;
  preemptions_left_ = options_.random_runs == 0 ? options_.preemptions_max : UINT32_MAX;
  stale_left_ = options_.random_runs == 0 ? options_.stale_max : UINT32_MAX;
  running_ = false;
  current_ = kScenario;
  StartFiber(kScenario, "scenario", [this] {
    Trial run;
    scenario_(run);
  });
  fibers_[kScenario].started = true;
  swapcontext(&explorer_, &fibers_[kScenario].context);
}

void Engine::StartFiber(unsigned fiber, const char* name, std::function<void()> body) {
  Fiber& started = fibers_[fiber];
  started.name = name;
  started.body = std::move(body);
  started.done = false;
  started.started = false;
  started.waits_for = nullptr;
  started.reads.clear();
  getcontext(&started.context);
  started.context.uc_stack.ss_sp = stacks_[fiber].get();
  started.context.uc_stack.ss_size = kStackBytes;
  started.context.uc_link = nullptr;
  makecontext(&started.context, reinterpret_cast<void (*)()>(Entry), 1, fiber);
}

void Engine::Entry(unsigned fiber) { g_engine->FiberBody(fiber); }

void Engine::FiberBody(unsigned fiber) {
  Arena::Use(arena_on_);
  fibers_[fiber].body();
  fibers_[fiber].body = nullptr;
  Arena::Use(false);
  fibers_[fiber].done = true;
  if (fiber == kScenario) setcontext(&explorer_);
  Leave(/*forced=*/true);
}

void Engine::RunThreads(std::vector<ThreadOfRun> threads) {
  if (threads.size() > kThreadsMax) Fail("more threads than the checker has");
  memory_.Reset();
  threads_ = static_cast<unsigned>(threads.size());
  for (unsigned t = 0; t < threads_; ++t) StartFiber(t, threads[t].name, std::move(threads[t].body));
  running_ = true;
  current_ = choices_->Choose(threads_, Decision::kBlocked);
  Jump(kScenario, current_);
  running_ = false;
  shared_grew_ |= memory_.CollectShared(&shared_);
}

Engine::Others Engine::OthersThatCanRun() const {
  Others others;
  for (unsigned i = 1; i < threads_; ++i) {
    const unsigned t = (current_ + i) % threads_;
    if (!fibers_[t].done && fibers_[t].waits_for == nullptr) others.thread[others.count++] = t;
  }
  return others;
}

void Engine::SwitchTo(unsigned thread) {
  fibers_[thread].reads.clear();
  const unsigned from = std::exchange(current_, thread);
  Jump(from, thread);
}

void Engine::Jump(unsigned from, unsigned to) {
  if (_setjmp(fibers_[from].at) != 0) return;
  if (std::exchange(fibers_[to].started, true)) _longjmp(fibers_[to].at, 1);
  setcontext(&fibers_[to].context);
}

void Engine::Leave(bool forced) {
  const Others others = OthersThatCanRun();
  if (others.count != 0) return SwitchTo(others.thread[choices_->Choose(others.count, Decision::kBlocked)]);
  if (!forced) return;
  for (unsigned t = 0; t < threads_; ++t) {
    if (!fibers_[t].done) Fail("deadlock: every thread waits for a mutex");
  }
  Jump(std::exchange(current_, kScenario), kScenario);
}

void Engine::Point(const void* at) {
  memory_.Step(current_);
  if (++steps_taken_ > options_.steps_max) Fail("the threads get nowhere: no end after many steps");
  if (preemptions_left_ == 0 || !shared_.contains(at)) return;
  const Others others = OthersThatCanRun();
  const unsigned chosen = choices_->Choose(others.count + 1, Decision::kSchedule);
  if (chosen == 0) return;
  --preemptions_left_;
  SwitchTo(others.thread[chosen - 1]);
}

unsigned Engine::ChooseStore(unsigned stores) {
  if (stores == 1 || stale_left_ == 0) return 0;
  const unsigned age = choices_->Choose(stores, Decision::kRead);
  if (age != 0) --stale_left_;
  return age;
}

bool Engine::FailsForNothing() { return ChooseStore(2) != 0; }

void Engine::CheckSpin(const void* at) {
  unsigned& reads = fibers_[current_].reads[at];
  if (++reads < kSpinReadsMax) return;
  reads = 0;
  Leave(/*forced=*/false);
}

void Engine::Record(const char* what, const void* at, uint64_t before, uint64_t after, const char* order,
                    const Place& place) {
  steps_.push_back({current_, what, at, before, after, order, place.file, place.line, nullptr});
}

void Engine::Note(std::string_view what) {
  steps_.push_back({current_, nullptr, nullptr, 0, 0, "", "", 0, &notes_.emplace_back(what)});
}

void Engine::Lock(void* mutex, bool wait, bool* locked) {
  Point(mutex);
  Held* held = &mutexes_[mutex];
  while (held->held && wait) {
    fibers_[current_].waits_for = mutex;
    Leave(/*forced=*/true);
    held = &mutexes_[mutex];
  }
  *locked = !held->held;
  // As a word: so that it is known as shared, and where to preempt.
  MemoryModel::Location* const word = memory_.Find(mutex, 0);
  memory_.Load(word, current_, 0, std::memory_order_relaxed);
  if (!*locked) return;
  held->held = true;
  memory_.Store(word, current_, 0, std::memory_order_relaxed);
  memory_.Acquire(current_, held->released);
}

void Engine::Unlock(void* mutex) {
  Point(mutex);  // who only tries to lock it may come before
  Held& held = mutexes_[mutex];
  if (!held.held) Fail("a mutex is unlocked that is not locked");
  held.held = false;
  held.released = memory_.clock(current_);
  for (unsigned t = 0; t < threads_; ++t) {
    if (fibers_[t].waits_for == mutex) fibers_[t].waits_for = nullptr;
  }
}

void Engine::JudgeData(const std::optional<std::string>& race, const void* at, size_t bytes) {
  if (!race) return;
  char text[200];
  std::snprintf(text, sizeof(text), "data race: thread %u %s (%zu bytes at %p)", current_, race->c_str(), bytes, at);
  Fail(text);
}

void Engine::Fail(std::string_view what) {
  Arena::Use(false);
  result_.failure = std::string(what) + "\n" + StepsText();
  running_ = false;
  setcontext(&explorer_);
  std::abort();  // not reached
}

// Words of one thread alone, and those nobody writes, are left out.
std::string Engine::StepsText() const {
  std::string text = "run " + std::to_string(result_.runs + 1);
  if (options_.random_runs != 0) text += " of seed " + std::to_string(options_.seed);
  text += ", its steps:\n";
  std::unordered_map<const void*, size_t> names;
  for (const Step& step : steps_) {
    const char* thread = step.thread == kScenario ? "scenario" : fibers_[step.thread].name;
    char line[400];
    if (step.what == nullptr) {
      std::snprintf(line, sizeof(line), "  %-10s -- %s\n", thread, step.note->c_str());
    } else if (memory_.IsShared(step.at)) {
      const size_t name = names.emplace(step.at, names.size()).first->second;
      const std::string_view file(step.file);
      const size_t slash = file.rfind('/');
      std::snprintf(line, sizeof(line), "  %-10s %-9s w%zu %#llx -> %#llx %s  (%s:%u)\n", thread, step.what, name,
                    static_cast<unsigned long long>(step.before), static_cast<unsigned long long>(step.after),
                    step.order, file.substr(slash == std::string_view::npos ? 0 : slash + 1).data(), step.line);
    } else {
      continue;
    }
    text += line;
  }
  return text;
}

uint64_t Peek(Word word) {
  uint64_t value = 0;
  std::memcpy(&value, word.at, word.bytes);
  return value;
}
void Poke(Word word, uint64_t value) { std::memcpy(word.at, &value, word.bytes); }

uint64_t Changed(uint64_t value, Modify how, uint64_t operand, unsigned bytes) {
  const uint64_t mask = bytes == 8 ? UINT64_MAX : (uint64_t{1} << 8 * bytes) - 1;
  switch (how) {
    case Modify::kExchange:
      return operand;
    case Modify::kAdd:
      return (value + operand) & mask;
    case Modify::kSub:
      return (value - operand) & mask;
    case Modify::kOr:
      return value | operand;
    case Modify::kAnd:
      return value & operand;
  }
  return operand;
}

bool Running() { return g_engine != nullptr && g_engine->running(); }

}  // namespace

// --- what the core calls ---------------------------------------------------------------------------------------------

uint64_t LoadWord(Word word, std::memory_order order, const Place& place) {
  if (!Running()) return Peek(word);
  const OutsideArena outside;
  Engine& engine = *g_engine;
  engine.CheckSpin(word.at);
  engine.Point(word.at);
  MemoryModel::Location* const location = engine.memory().Find(word.at, Peek(word));
  const unsigned age = engine.ChooseStore(engine.memory().Readable(*location, engine.current(), order));
  const uint64_t value = engine.memory().Load(location, engine.current(), age, order);
  engine.Record(age == 0 ? "load" : "load old", word.at, value, value, Name(order), place);
  return value;
}

void StoreWord(Word word, uint64_t value, std::memory_order order, const Place& place) {
  if (!Running()) return Poke(word, value);
  const OutsideArena outside;
  Engine& engine = *g_engine;
  engine.Point(word.at);
  MemoryModel::Location* const location = engine.memory().Find(word.at, Peek(word));
  engine.Record("store", word.at, Peek(word), value, Name(order), place);
  engine.memory().Store(location, engine.current(), value, order);
  Poke(word, value);
}

uint64_t ModifyWord(Word word, Modify how, uint64_t operand, std::memory_order order, const Place& place) {
  const OutsideArena outside;
  if (Running()) g_engine->Point(word.at);
  const uint64_t before = Peek(word);
  const uint64_t after = Changed(before, how, operand, word.bytes);
  if (Running()) {
    Engine& engine = *g_engine;
    engine.Record("modify", word.at, before, after, Name(order), place);
    engine.memory().Exchange(engine.memory().Find(word.at, before), engine.current(), after, order);
  }
  Poke(word, after);
  return before;
}

bool CompareExchangeWord(Word word, uint64_t* expected, uint64_t desired, bool weak, std::memory_order success,
                         std::memory_order failure, const Place& place) {
  if (!Running()) {
    const uint64_t found = Peek(word);
    if (found == *expected) Poke(word, desired);
    return std::exchange(*expected, found) == found;
  }
  const OutsideArena outside;
  Engine& engine = *g_engine;
  engine.CheckSpin(word.at);
  engine.Point(word.at);
  MemoryModel::Location* const location = engine.memory().Find(word.at, Peek(word));
  // It may fail on an old value, if that is another one than the expected.
  std::vector<unsigned> ages{0};
  for (unsigned age = 1; age < engine.memory().Readable(*location, engine.current(), failure); ++age) {
    if (MemoryModel::Value(*location, age) != *expected) ages.push_back(age);
  }
  const unsigned age = ages[engine.ChooseStore(static_cast<unsigned>(ages.size()))];
  const uint64_t found = MemoryModel::Value(*location, age);
  if (found != *expected || (weak && engine.FailsForNothing())) {
    engine.memory().Load(location, engine.current(), age, failure);
    engine.Record("CAS fails", word.at, found, desired, Name(failure), place);
    *expected = found;
    return false;
  }
  engine.Record("CAS", word.at, found, desired, Name(success), place);
  engine.memory().Exchange(location, engine.current(), desired, success);
  Poke(word, desired);
  return true;
}

void LockMutex(void* mutex, const Place& place) {
  if (!Running()) return;
  const OutsideArena outside;
  bool locked = false;
  g_engine->Lock(mutex, /*wait=*/true, &locked);
  g_engine->Record("lock", mutex, 0, 1, "", place);
}

bool TryLockMutex(void* mutex, const Place& place) {
  if (!Running()) return true;
  const OutsideArena outside;
  bool locked = false;
  g_engine->Lock(mutex, /*wait=*/false, &locked);
  g_engine->Record(locked ? "try_lock" : "try fails", mutex, 0, locked ? 1 : 0, "", place);
  return locked;
}

void UnlockMutex(void* mutex, const Place& place) {
  if (!Running()) return;
  const OutsideArena outside;
  g_engine->Record("unlock", mutex, 1, 0, "", place);
  g_engine->Unlock(mutex);
}

void ReadData(const void* at, size_t bytes) {
  if (!Running() || bytes == 0) return;
  const OutsideArena outside;
  g_engine->JudgeData(g_engine->memory().Read(g_engine->current(), reinterpret_cast<uintptr_t>(at), bytes), at, bytes);
}

void WriteData(const void* at, size_t bytes) {
  if (!Running() || bytes == 0) return;
  const OutsideArena outside;
  const auto race = g_engine->memory().Write(g_engine->current(), reinterpret_cast<uintptr_t>(at), bytes, true);
  g_engine->JudgeData(race, at, bytes);
}

void StreamData(const void* at, size_t bytes) {
  if (!Running() || bytes == 0) return;
  const OutsideArena outside;
  const auto race = g_engine->memory().Write(g_engine->current(), reinterpret_cast<uintptr_t>(at), bytes, false);
  g_engine->JudgeData(race, at, bytes);
}

void DrainData() {
  if (!Running()) return;
  const OutsideArena outside;
  g_engine->memory().Drain(g_engine->current());
}

// --- what scenarios call ---------------------------------------------------------------------------------------------

Result Explore(const Options& options, const std::function<void(Trial&)>& scenario) {
  const auto engine = std::make_unique<Engine>(options, scenario);
  return engine->Explore();
}

void Trial::Threads(std::vector<ThreadOfRun> threads) {
  const OutsideArena outside;
  g_engine->RunThreads(std::move(threads));
}

void Trial::Outcome(std::string_view outcome) {
  const OutsideArena outside;
  g_engine->Outcome(outcome);
}

void Fail(std::string_view what) {
  if (g_engine == nullptr) {
    std::fprintf(stderr, "check: failed outside of a run: %.*s\n", static_cast<int>(what.size()), what.data());
    std::abort();
  }
  g_engine->Fail(what);
}

void Note(std::string_view what) {
  if (g_engine == nullptr) return;
  const OutsideArena outside;
  g_engine->Note(what);
}

}  // namespace mezz::check

// A failed assertion of the core is a failed run, with its steps.
extern "C" void __assert_fail(const char* assertion, const char* file, unsigned line, const char*) noexcept {
  char text[600];
  std::snprintf(text, sizeof(text), "%s:%u: assertion failed: %s", file, line, assertion);
  mezz::check::Fail(text);
}

// A thread that yields waits for another one.
extern "C" int sched_yield() noexcept {
  if (!mezz::check::Running()) return 0;
  const mezz::check::OutsideArena outside;
  mezz::check::g_engine->Yield();
  return 0;
}
