# SPDX-License-Identifier: Apache-2.0
"""Mistakes in the concurrent core and in the policy's rules, each with the test that must notice it. `run` beside this
file tries them.

A mutant is a few exact replacements, and a test as ctest and GoogleTest name it. Each text stands in its file once, so
that a mutant whose place has changed says so instead of testing nothing.
"""
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    edits: tuple  # of (text, replacement)
    test: str     # ctest's name of the source
    case: str     # GoogleTest's filter
    rocksdb: str = ""  # the release to build against, as tools/check names it; empty: the core alone


def check(name, file, case, *edits):
    return Mutant(name, file, edits, "check/scm_tier_check_test", "CheckedTier." + case)


def unit(name, file, source, case, *edits):
    return Mutant(name, file, edits, f"unit/cache/{source}_test", case)


def hybrid(name, file, test, case, *edits):
    return Mutant(name, f"integration/{file}", edits, test, case, "11.8.1")


def hybrid78(name, file, test, case, *edits):
    return Mutant(name, f"integration/{file}", edits, test, case, "system")


def policy(name, file, source, case, *edits):
    return Mutant(name, file, edits, f"unit/admission/{source}_test", case)


def workload(name, file, test, case, *edits):
    return Mutant(name, f"workloads/{file}", edits, test, case, "system")


def replay(name, file, source, case, *edits):
    return Mutant(name, f"workloads/replay/{file}", edits, f"unit/workloads/{source}_test", case, "system")


INDEX, INDEX_CC, LOG, LOG_H = "cache/index_inl.h", "cache/index.cc", "cache/segment_log.cc", "cache/segment_log.h"
RECLAIM, RECORD, TIER, READER = "cache/reclaimer.cc", "cache/record.cc", "cache/scm_tier.cc", "cache/log_reader.h"
HEADER, STRIPE, STRIPE_H = "cache/header_checksum.h", "cache/base/stripe.cc", "cache/base/stripe.h"
TAGS, DEAD = "cache/tag_scan.h", "cache/dead_files.cc"
PACKER, DICTIONARIES = "cache/pack/packer.cc", "cache/pack/dictionaries.cc"
TRAINER, SAMPLES = "cache/pack/trainer.cc", "cache/pack/samples.cc"

ADOPTING, LATE = "adopting_allocator.cc", "late_hybrid_cache.cc"
HYBRID, V7 = "hybrid_cache.cc", "hybrid_cache_v7.cc"
IMAGES_TEST = "unit/integration/image_hits_test"
LISTENER_TEST = "unit/integration/dead_file_listener_test"
ADOPTING_TEST, LATE_TEST = "unit/integration/adopting_allocator_test", "unit/integration/late_tier_test"

SETTLING = "VisitTag(hash, std::memory_order_seq_cst, [&](Slot& slot, IndexWord seen) {\n    if (&slot == mine)"

MUTANTS = (
    # --- the dead ----------------------------------------------------------------------------------------------------
    unit("a hint during a round of the walk is not given a whole one", DEAD, "dead_files",
         "DeadFilesTest.AHintInTheMiddleOfARoundGetsAWholeOne",
         ("  slots_left_.store(index_->slots(), std::memory_order_relaxed);",
          "  if (slots_left_.load(std::memory_order_relaxed) == 0) {\n"
          "    slots_left_.store(index_->slots(), std::memory_order_relaxed);\n  }")),
    unit("reclaim asks the judge about the dead", RECLAIM, "dead_files",
         "DeadFilesTest.ReclaimSparesNoDeadRecordAndAsksNobody",
         ("mode == Mode::kSpare && !dead ? FateOf", "mode == Mode::kSpare ? FateOf")),
    unit("hot but dead records keep their segment", RECLAIM, "dead_files",
         "DeadFilesTest.TheHotButDeadDoNotKeepASegment", ("if (hot && !IsDead(header))", "if (hot)")),
    unit("hollow segments wait their turn", LOG, "scm_tier", "ScmTierTest.ForgottenFilesMakeRoomForTheLiving",
         ("  TakeHollowLocked(pinned_too, &victim);\n", "")),
    unit("a segment's next fill inherits its dead", LOG, "segment_log",
         "HollowTest.AnOpenSegmentIsQueuedWhenItIsSealedAndTheNextFillBeginsAnew",
         ("  segment(id).dead.store(0, std::memory_order_relaxed);\n", "")),
    unit("a look-up that misses a forgotten file leaves it dead", TIER, "scm_tier",
         "ScmTierTest.PutsOfAForgottenFileAreRefusedUntilALookUpMissesABlockOfIt",
         ("    if (dead_.Has(key.file())) [[unlikely]]\n      dead_.Revive(key.file());\n", "")),
    policy("a hollow tier is full to adaptive", "admission/adaptive_policy.cc", "adaptive_policy",
           "Adaptive.AHollowScmTierIsFilledAgain", (" || block.scm_hollow", "")),
    hybrid("tables of an earlier session are not learnt of", "dead_file_listener.cc", LISTENER_TEST,
           "DeadFileListenerTest.TablesOfAnEarlierSessionAreLearntOfWhenTheyAreCompacted",
           ("info.table_properties) LearnLocked(db->GetName(),",
            "info.table_properties) LearnLocked(db->GetName().substr(1),")),
    hybrid("the look-ups of uncache_aggressiveness say nothing", HYBRID, LISTENER_TEST,
           "DeadFileListenerTest.UncacheAggressivenessNamesTheFilesByItself",
           ("  if (helper == nullptr && key.size() == BlockKey::kBytes) ForgetFile", "  if (false) ForgetFile")),
    hybrid("the hash before the public id is not taken back whole", "file_id.cc", LISTENER_TEST,
           "DeadFileListenerTest.ATablesPropertiesTellTheKeysOfItsBlocks",
           ("  high -= uint64_t{lower_half} * (kPrime32 - 1);\n", "  high -= lower_half;\n")),
    # --- index words -------------------------------------------------------------------------------------------------
    check("settling removed", INDEX, "TwoPutsOfOneKeyLeaveOneRecord",
          ("    if (&slot == mine) return false;", "    if (mine != nullptr || &slot == mine) return false;")),
    check("settling looks without a total order", INDEX, "TwoPutsIntoTwoSlotsLeaveOneRecord",
          (SETTLING, SETTLING.replace("seq_cst", "acquire"))),
    check("changed means no", INDEX, "ContainsSeesABlockThatMoves",
          ("    word = now;  //", "    return IndexWord();  //")),
    check("a replacement that lost to a hit inserts, settling that lost to a move gives up (number 7)", INDEX,
          "AHitAndAMoveBesideAPutLeaveOneRecord",
          ("    word = now;  //", "    return IndexWord();  //"),
          ("    for (IndexWord word; !(word = PinIfOfKey(slot, seen, reader)).empty();) {\n"
           "      MEZZ_TEST_POINT(\"index.before_replace\");\n"
           "      const bool done = Exchange(slot, word, fresh, std::memory_order_seq_cst);",
           "    if (const IndexWord word = PinIfOfKey(slot, seen, reader); !word.empty()) {\n"
           "      uint64_t expected = word.raw();\n"
           "      const bool done = slot.compare_exchange_strong(expected, fresh.raw(), std::memory_order_seq_cst,\n"
           "                                                     std::memory_order_relaxed);")),
    check("erase without retry", INDEX, "AnErasedBlockThatMovesIsGone",
          ("      erased |= removed;\n      if (removed) break;", "      erased |= removed;\n      break;")),
    check("no second look at the slot after the pin", INDEX, "AFoundBlockIsNotReusedWhileItIsPinned",
          ("    } else if (now.SameRecord(word)) {\n      switch (reader.Judge(now)) {",
           "    } else if (true) {\n      switch (reader.Judge(word)) {"),
          ("          return now;", "          return word;")),
    check("an insert publishes without release", INDEX, "AFirstPutIsFoundWholeOrNotAtAll",
          ("if (!empty->compare_exchange_strong(expected, fresh.raw(), std::memory_order_seq_cst,",
           "if (!empty->compare_exchange_strong(expected, fresh.raw(), std::memory_order_relaxed,")),
    check("a replacement publishes without release", INDEX, "AHitBesideAPutHidesNeitherVersion",
          ("Exchange(slot, word, fresh, std::memory_order_seq_cst)",
           "Exchange(slot, word, fresh, std::memory_order_relaxed)")),
    check("a look-up loads words without acquire", INDEX, "AFirstPutIsFoundWholeOrNotAtAll",
          ("PinIfOfKey(slot, IndexWord(slot.load(std::memory_order_acquire)), reader)",
           "PinIfOfKey(slot, IndexWord(slot.load(std::memory_order_relaxed)), reader)"),
          ("const IndexWord now(slot.load(std::memory_order_acquire));",
           "const IndexWord now(slot.load(std::memory_order_relaxed));")),
    check("reclaim stores where it should exchange", INDEX_CC, "AnErasedBlockThatMovesIsGone",
          ("    if (slot.compare_exchange_weak(expected, moved.raw(), std::memory_order_seq_cst, "
           "std::memory_order_acquire))\n      return Outcome::kDone;",
           "    slot.store(moved.raw(), std::memory_order_seq_cst);\n    if (expected != 0) return Outcome::kDone;")),
    check("a move publishes without release", INDEX_CC, "AHotBlockIsNeverLostToReclaim",
          ("(expected, moved.raw(), std::memory_order_seq_cst,", "(expected, moved.raw(), std::memory_order_relaxed,")),
    check("a hit stores its heat", INDEX_CC, "AHitBesideAPutHidesNeitherVersion",
          ("    slots_[entry.slot].compare_exchange_strong(expected, touched.raw(), std::memory_order_relaxed,\n"
           "                                               std::memory_order_relaxed);",
           "    if (expected != 0) slots_[entry.slot].store(touched.raw(), std::memory_order_relaxed);")),
    check("the dram bit is stored", INDEX_CC, "TheDramBitLosesNoMoveAndNoPut",
          ("      if (slot.compare_exchange_weak(expected, word.with(dram, word.heat()).raw(), "
           "std::memory_order_relaxed,\n"
           "                                     std::memory_order_relaxed))\n        return true;",
           "      slot.store(word.with(dram, word.heat()).raw(), std::memory_order_relaxed);\n"
           "      if (expected != 0) return true;")),
    check("EraseAll counts what another erase took", INDEX_CC, "EraseAllBesideAnEraseCountsEachWordOnce",
          ("    if (slots_[i].exchange(0, std::memory_order_seq_cst) != 0) blocks_.fetch_sub(",
           "    slots_[i].exchange(0, std::memory_order_seq_cst);\n    blocks_.fetch_sub(")),
    unit("a drop overlooks a hit", INDEX_CC, "reclaimer", "ReclaimerTest.ARecordHitWhileItIsJudgedIsJudgedAgain",
         ("  uint64_t expected = entry.word.raw();\n  if (!slots_[entry.slot].compare_exchange_strong(expected, 0,",
          "  uint64_t expected = slots_[entry.slot].load(std::memory_order_relaxed);\n"
          "  if (!slots_[entry.slot].compare_exchange_strong(expected, 0,")),

    # --- pins and segments -------------------------------------------------------------------------------------------
    check("a pin without acquire", LOG, "AFoundBlockIsNotReusedWhileItIsPinned",
          ("control.fetch_add(kPin, std::memory_order_acquire)", "control.fetch_add(kPin, std::memory_order_relaxed)")),
    check("an unpin without release", LOG, "AFoundBlockIsNotReusedWhileItIsPinned",
          ("control.fetch_sub(what, std::memory_order_release)", "control.fetch_sub(what, std::memory_order_relaxed)")),
    check("neither who frees a segment nor who writes to it acquires", LOG, "AFoundBlockIsNotReusedWhileItIsPinned",
          ("Unused(State::kFree), std::memory_order_acq_rel,", "Unused(State::kFree), std::memory_order_release,"),
          ("control.fetch_add(delta, std::memory_order_acq_rel)",
           "control.fetch_add(delta, std::memory_order_release)"),
          ("fetch_add(kWriter | kPin, std::memory_order_acquire)",
           "fetch_add(kWriter | kPin, std::memory_order_relaxed)")),
    check("states change without release", LOG, "AFoundBlockIsNotReusedWhileItIsPinned",
          ("Unused(State::kFree), std::memory_order_acq_rel,", "Unused(State::kFree), std::memory_order_acquire,"),
          ("control.fetch_add(delta, std::memory_order_acq_rel)",
           "control.fetch_add(delta, std::memory_order_acquire)")),
    check("draining frees segments with pins", LOG, "AFoundBlockIsNotReusedWhileItIsPinned",
          ("    uint64_t expected = Unused(State::kDraining);",
           "    uint64_t expected = segment(id).control.load(std::memory_order_acquire);"),
          ("compare_exchange_strong(expected, Unused(State::kFree), std",
           "compare_exchange_strong(expected, Unused(State::kFree) + PinsOf(expected), std")),
    unit("a pin counts in any state", LOG, "segment_log", "SegmentLogTest.OnlySegmentsWithRecordsArePinned",
         ("  if (seen == State::kOpen || seen == State::kSealed) return true;",
          "  if (seen != State::kUnready) return true;")),
    check("a writer does not look whether its segment is still open", LOG,
          "AWriterThatComesLateFindsItsSegmentClosed",
          ("  if (StateOf(s.control.fetch_add(kWriter | kPin, std::memory_order_acquire)) == State::kOpen) {",
           "  if (StateOf(s.control.fetch_add(kWriter | kPin, std::memory_order_acquire)) != State::kUnready) {")),
    check("reclaim takes segments with writers", LOG, "AnUnpublishedRecordIsNotReclaimed",
          ("pinned_too ? WritersOf(control) == 0 : PinsOf(control) == 0;", "pinned_too || control != 0;")),
    check("a writer leaves before it publishes", TIER, "AnUnpublishedRecordIsNotReclaimed",
          ("  if (written) Publish(key, role, where->place.offset, generation);\n  log_.Leave(*where);",
           "  log_.Leave(*where);\n  if (written) Publish(key, role, where->place.offset, generation);")),
    check("a shrink leaves when nothing can be taken", RECLAIM, "ASwitchedOffTierHoldsNothingThoughAPutRan",
          ("    if (!done && !worked && !log_->HasSealed()) return;", "    if (!done && !worked) return;")),
    check("the last pin does not free its segment", LOG, "APinnedSegmentIsGivenUpWithItsLastPin",
          ("before - what == Unused(State::kDraining) &&", "before == Unused(State::kDraining) &&")),
    unit("the tail is not checked", LOG, "segment_log", "SegmentLogTest.HandsOutSpaceWithoutGapsAndNeverPastTheEnd",
         ("    while (tail + bytes <= segment_bytes()) {", "    while (tail <= segment_bytes()) {")),
    unit("SealAll forgets the proven", LOG, "segment_log", "SegmentLogTest.SealAllSealsTheLanesOfWritersAndOfTheProven",
         ("for (unsigned lane = 0; lane < lanes_; ++lane) SealLocked(lane);",
          "for (unsigned lane = 0; lane + 1 < lanes_; ++lane) SealLocked(lane);")),
    unit("writers take reclaim's last segment", LOG, "segment_log",
         "SegmentLogTest.WritersLeaveTheLastFreeSegmentToReclaim",
         ("whom == For::kReclaim ? 0 : 1;", "whom == For::kReclaim ? 0 : 0;")),
    unit("a limit does not bind what comes free later", LOG, "segment_log",
         "SegmentLogTest.ALimitParksWhatIsFreeAndTellsWhatMustBeReclaimed",
         ("    free_.push_back(id);\n    return true;\n  });\n  ParkSurplusLocked();",
          "    free_.push_back(id);\n    return true;\n  });")),

    # --- records and reclaim -----------------------------------------------------------------------------------------
    check("a record is published before it is drained", RECORD, "AFirstPutIsFoundWholeOrNotAtAll",
          ("  medium.Stream(medium.base() + offset, first_line, kLineBytes);\n  medium.Drain();",
           "  medium.Stream(medium.base() + offset, first_line, kLineBytes);")),
    check("a move keeps the old sequence", RECORD, "AHotBlockIsNeverLostToReclaim",
          ("  renewed.sequence = to.sequence;", "  static_cast<void>(to.sequence);")),
    unit("the header's checksum is not checked", HEADER, "scm_tier", "ScmTierTest.AFlippedBitInAHeaderIsACountedMiss",
         ("header.sequence == sequence && header.checksum == HeaderChecksum(header)",
          "header.sequence == sequence && (header.checksum == HeaderChecksum(header) || true)")),
    unit("the sequence is not checked", HEADER, "segment_log", "LogReader.ARecordOfAnEarlierFillIsDamage",
         ("return header.sequence == sequence &&", "return (header.sequence == sequence || true) &&")),
    unit("a record may leave its segment", READER, "segment_log",
         "LogReader.AHeaderThatLeavesItsSegmentIsDamagedThoughItsChecksumHolds",
         ("OffsetOf(word) + layout::RecordBytes(header.payload_bytes) <= log_->Tail(segment)",
          "OffsetOf(word) <= log_->Tail(segment)")),
    unit("what a source throws gets out", RECORD, "scm_tier", "ScmTierTest.ASourceThatThrowsIsARefusedPut",
         ("  } catch (...) {\n    return false;", "  } catch (...) {\n    std::terminate();")),
    unit("a failed source leaves no header", RECORD, "reclaimer", "ReclaimerTest.AVoidRecordIsWalkedOver",
         ("  StreamFirstLine(medium, place.offset,\n", "  if (filled) StreamFirstLine(medium, place.offset,\n")),
    unit("reclaim pays no heat", INDEX_CC, "reclaimer", "ReclaimerTest.WhatWasHitIsMovedForOneHeatAndKeepsItsBytes",
         ("seen.heat() - std::min(seen.heat(), heat_cost);", "seen.heat() - std::min(0u, heat_cost);")),
    unit("survivors have no budget", RECLAIM, "reclaimer",
         "ReclaimerTest.NeverSparesMoreThanItsCreditWhateverTheJudgeWants",
         ("  assert(bytes <= survivor_credit_);\n  survivor_credit_ -= bytes;",
          "  assert(bytes <= survivor_credit_);")),
    unit("a damaged header's neighbours stay in the index", RECLAIM, "reclaimer",
         "ReclaimerTest.ADamagedHeaderCostsTheRestOfItsSegmentAndNoMore",
         ("kLineBytes) == victim_->segment; });", "kLineBytes) == victim_->segment && word.empty(); });")),
    unit("a shrink keeps the mutex", RECLAIM, "reclaimer", "ReclaimerTest.AShrinkSparesNothingAndLeavesTheRest",
         ("      if (!done) worked = WorkLocked(UINT64_MAX, Mode::kDropPinned);",
          "      while (log_->LimitTo(segments) != 0 && WorkLocked(UINT64_MAX, Mode::kDropPinned)) worked = true;")),
    unit("credit counts a victim's size and nothing is ever dropped whole", RECLAIM, "reclaimer",
         "ReclaimerTest.MakesRoomWhereAllIsHotAndLiesLoosely",
         ("(victim_->end - victim_->cursor) /", "log_->segment_bytes() /"),
         ("tries < log_rules::kSparingVictimsMax ? Mode::kSpare : Mode::kDrop", "Mode::kSpare")),

    # --- segments queued again ---------------------------------------------------------------------------------------
    check("cooling stores where it should exchange", INDEX_CC,
          "AnErasedBlockStaysErasedThoughItsSegmentIsQueuedAgain",
          ("    if (slots_[entry.slot].compare_exchange_weak(expected, cooled.raw(), std::memory_order_relaxed,\n"
           "                                                 std::memory_order_relaxed))\n      return;",
           "    slots_[entry.slot].store(cooled.raw(), std::memory_order_relaxed);\n    if (expected != 0) return;")),
    unit("a segment is queued again for nothing", RECLAIM, "reclaimer",
         "RequeueTest.HotSegmentsStayAsTheyAreForOneHeatARecord",
         ("    if (entry) index_->Cool(entry);", "    if (entry) static_cast<void>(entry);")),
    unit("it stands before the others", LOG, "reclaimer", "RequeueTest.TheyStandBehindTheOthersThen",
         ("  proven_.push_back(id);\n}", "  proven_.insert(proven_.begin(), id);\n}")),
    unit("any number in a row", RECLAIM, "reclaimer", "RequeueTest.FourInARowAtMostThenOneIsEmptied",
         ("      ++requeued_in_a_row_;\n", "")),
    unit("the row never ends", RECLAIM, "reclaimer", "RequeueTest.FourInARowAtMostThenOneIsEmptied",
         ("      requeued_in_a_row_ = 0;\n", "")),
    unit("the dead are not counted", RECLAIM, "reclaimer", "RequeueTest.TheDeadAndWhatDramHoldsAreNotHot",
         ("  ++victim_->records;", "  if (entry) ++victim_->records;")),
    unit("what DRAM holds is hot", RECLAIM, "reclaimer", "RequeueTest.TheDeadAndWhatDramHoldsAreNotHot",
         ("entry && !entry.word.dram() &&", "entry &&")),
    unit("the young are queued again", RECLAIM, "reclaimer", "RequeueTest.TheYoungAreNeverQueuedAgain",
         ("mode == Mode::kSpare && picked.generation == Generation::kProven &&", "mode == Mode::kSpare &&"),
         ("      assert(victim_->generation == Generation::kProven && ", "      assert(")),
    unit("a shrink goes on weighing", RECLAIM, "reclaimer",
         "RequeueTest.AShrinkQueuesNothingAgainNotEvenWhatIsBeingWeighed",
         ("  if (mode != Mode::kSpare && victim_->pass != Pass::kEmpty) StartPassLocked(Pass::kEmpty);\n", "")),
    unit("damage found while weighing forgets what lies before it", RECLAIM, "reclaimer",
         "RequeueTest.DamageFoundWhileItIsWeighedCostsTheRestAndNoMore",
         ("    if (victim_->pass != Pass::kEmpty) {\n      StartPassLocked(Pass::kEmpty);\n    } else {\n"
          "      ForgetRestLocked();\n    }", "    ForgetRestLocked();")),
    unit("what came back starts cold", "cache/types.h", "scm_tier", "ScmTierTest.WhatCameBackStartsWithOneHeat",
         ("generation == Generation::kProven ? 1 : 0;", "generation == Generation::kProven ? 0 : 0;")),
    policy("newcomers always enter", "admission/adaptive_policy.cc", "adaptive_policy",
           "Adaptive.DataPassesAWindowByThatFindsNothing",
           ("|| window_.Admits(hash);", "|| window_.Admits(hash) || true;")),
    policy("what passes DRAM by leaves no ghost", "admission/adaptive_policy.cc", "adaptive_policy",
           "Adaptive.DataPassesAWindowByThatFindsNothing",
           ("  if (decision.action == Action::kDrop) {\n    ghost_.Insert(hash);",
            "  if (decision.action == Action::kDrop) {\n    if (block.was_hit_in_dram) ghost_.Insert(hash);")),
    policy("a closed window stays closed", "admission/dram_window.cc", "dram_window",
           "Scale/DramWindowTest.OpensWhereNewcomersWouldHaveBeenHit/*",
           ("regrets > kOpenAbove ? kOne :", "regrets > kOne ? kOne :")),
    policy("whatever comes back is a regret", "admission/dram_window.cc", "dram_window",
           "Scale/DramWindowTest.ClosesWhereNewcomersAreNotHit/*",
           (" && newcomer - last.newcomer <= blocks_.load(std::memory_order_relaxed));", ");")),
    policy("churn overrules an open verdict", "admission/adaptive_policy.cc", "adaptive_policy",
           "Adaptive.ChurnDoesNotCloseWhatTheMiniaturesFoundOpen",
           ("  if (strictness != Strictness::kOpen && governor_", "  if (governor_")),
    unit("a child of a fork writes", TIER, "scm_tier", "ScmTierTest.AForkedChildFindsNothingAndChangesNothing",
         ("  if (!guard_.InParent()) return refuse(Event::kRefusedForked, PutResult::kNoSpace);", "")),

    # --- counting, finding -------------------------------------------------------------------------------------------
    Mutant("threads that share a stripe add without a lock", STRIPE_H,
           (("    word.fetch_add(count, std::memory_order_relaxed);",
             "    word.store(word.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);"),),
           "unit/cache/base/stripe_test", "Stripe.ThoseWhoShareOneLoseNothing"),
    Mutant("a thread that ends keeps its stripe", STRIPE,
           (("    free_stripes.Return(static_cast<unsigned>(stripe));\n", ""),),
           "unit/cache/base/stripe_test", "Stripe.IsAThreadsOwnWhileThereAreEnoughAndComesBackWhenItEnds"),
    unit("the tags of two lanes are mixed up", TAGS, "tag_scan", "TagScan.FindsExactlyTheWordsOfTheTag",
         ("_mm_packs_epi32(four(4), four(6))", "_mm_packs_epi32(four(6), four(4))")),
    unit("a look-up sees one of its buckets", INDEX, "index", "Index.AgreesWithAMap",
          ("tag_scan::Find(Bucket(hash, 1), IndexWord::kTagShift, hash.tag) << kSlotsPerBucket;", "0u;")),

    # --- integration: objects in place -------------------------------------------------------------------------------
    hybrid("an adoption answers smaller requests", ADOPTING, ADOPTING_TEST,
           "AdoptingAllocatorTest.RequestsOfOtherSizesGoToTheFallback",
           ("bytes == adoption->payload_.size()", "bytes <= adoption->payload_.size()")),
    hybrid("an adoption answers twice", ADOPTING, ADOPTING_TEST, "AdoptingAllocatorTest.OnePinServesOneObject",
           ("adoption->state_ == Adoption::State::kOffered && bytes", "bytes")),
    hybrid("an adoption answers every allocator", ADOPTING, ADOPTING_TEST,
           "AdoptingAllocatorTest.AnOfferIsForItsAllocatorAndItsThread",
           ("adoption != nullptr && &adoption->allocator_ == this", "adoption != nullptr")),
    hybrid("an adoption answers every thread", ADOPTING, ADOPTING_TEST,
           "AdoptingAllocatorTest.AnOfferIsForItsAllocatorAndItsThread",
           ("thread_local AdoptingAllocator", "AdoptingAllocator")),
    hybrid("other requests are not counted", ADOPTING, ADOPTING_TEST,
           "AdoptingAllocatorTest.RequestsOfOtherSizesGoToTheFallback", ("    ++adoption->other_requests_;\n", "")),
    hybrid("what a callback gives up is unpinned twice", ADOPTING, ADOPTING_TEST,
           "AdoptingAllocatorTest.ACallbackThatGivesUpReturnsThePinOnceAndTheOfferIsOver",
           ("State::kReturned;\n    return;", "State::kReturned;")),
    hybrid("the scope takes the pin back from its object", ADOPTING, ADOPTING_TEST,
           "AdoptingAllocatorTest.AnObjectKeepsItsBytesWhateverBecomesOfItsKey",
           ("  if (state_ != State::kTaken) allocator_", "  allocator_")),
    hybrid("an offer that nobody took keeps its pin", ADOPTING, ADOPTING_TEST,
           "AdoptingAllocatorTest.AnOfferThatNobodyTookReturnsItsPin",
           ("  if (state_ != State::kTaken) allocator_", "  if (state_ == State::kReturned) allocator_")),
    hybrid("an inner scope ends the outer one", ADOPTING, ADOPTING_TEST,
           "AdoptingAllocatorTest.ScopesNestAndTheInnerOneCounts",
           ("  current_adoption = outer_;", "  current_adoption = nullptr;")),

    # --- integration: versions ---------------------------------------------------------------------------------------
    hybrid("an insert forgets nothing", HYBRID, "model/hybrid_cache_fuzz_test",
           "Throttled/HybridCacheFuzz.ForgetsButNeverLies/throttled_*_bidirectional_in_place",
           ("  Forget(key);\n  const BlockKey block_key", "  const BlockKey block_key")),
    hybrid("an insert forgets the DRAM tier alone", HYBRID, "model/hybrid_cache_fuzz_test",
           "All/HybridCacheFuzz.ForgetsButNeverLies/file_*_dram_first_in_place",
           ("  EraseFromDram(key);\n  core_->scm().Erase(block_key);", "  EraseFromDram(key);")),
    hybrid("an insert forgets outside of the gate", HYBRID, "unit/integration/hybrid_moves_test",
           "All/HybridMoves.ADemotionThatAnInsertOvertakesIsNotMade/*",
           ("  const MoveGate::Change change(core_->gate(), block_key);\n", "")),
    hybrid78("7.8: an insert forgets nothing", V7, "model/hybrid_cache_v7_fuzz_test",
             "All/HybridCacheV7Fuzz.NeverLies/*_file",
             ("    Forget(*core, key);\n    const MoveGate::Window window(core->gate());\n    return insert();",
              "    const MoveGate::Window window(core->gate());\n    return insert();")),
    hybrid78("7.8: each piece of a block is its first", "whole_block_v7.h", "stress/rocksdb_stress_test",
             "All/RocksDbStress.EveryValueIsRight/lru_dram_first_copy",
             ("buffer_.data() + offset, bytes);", "buffer_.data(), bytes);")),

    # --- integration: an SCM tier that comes late --------------------------------------------------------------------
    hybrid("an insert that meets the tier leaves what is there", LATE, LATE_TEST,
           "LateTier.AnInsertThatMeetsTheTierHidesWhatWentThereMeanwhile",
           ("  ForgetIfArmedSince(asked, key);\n  return inserted;", "  return inserted;")),
    hybrid("an erase that meets the tier leaves what is there", LATE, LATE_TEST,
           "LateTier.AnEraseThatMeetsTheTierErasesThereToo",
           ("  asked->Erase(key);\n  ForgetIfArmedSince(asked, key);", "  asked->Erase(key);")),
    hybrid("a shrink goes past the tier", LATE, LATE_TEST, "LateTier.AShrinkDemotesOnceThereIsATier",
           ("{ current()->SetCapacity(bytes); }", "{ target_->SetCapacity(bytes); }")),
    hybrid("evictions are not told to the tier", LATE, LATE_TEST,
           "LateTier.ThreadsMayUseTheCacheWhileItGetsItsTier", ("  switch_->TurnOn();\n", "")),
    hybrid78("7.8: an insert that meets the tier leaves what is there", V7, LATE_TEST,
             "LateTier.AnInsertThatMeetsTheTierHidesWhatWentThereMeanwhile",
             ("= insert();\n  if (HybridCore* const core = this->core()) Forget(*core, key);", "= insert();")),
    hybrid78("7.8: an erase asks first whether there is a tier", V7, LATE_TEST,
             "LateTier.AnEraseThatMeetsTheTierErasesThereToo",
             ('  MEZZ_TEST_POINT("late_tier.before_change");\n  target_->Erase(key);',
              '  if (core() == nullptr) {\n    MEZZ_TEST_POINT("late_tier.before_change");\n'
              '    return target_->Erase(key);\n  }\n  target_->Erase(key);')),

    # --- packed records ----------------------------------------------------------------------------------------------
    unit("a packed record is not checked before it is unpacked", TIER, "packed_records",
         "*/PackedRecords.AFlippedBitIsACountedMissAndNeverUnpacked/*",
         ("  const bool whole = record::PayloadIsWhole(header);", "  const bool whole = true;")),
    unit("reclaim packs bytes that it did not check", RECLAIM, "packed_records",
         "*/PackingReclaim.DoesNotPackDamagedBytes/*",
         ("  if (!record::PayloadIsWhole(header)) {\n", "  if (header.payload_bytes == 0) {\n")),
    unit("being packed costs heat", RECLAIM, "packed_records",
         "*/PackingReclaim.PaysHeatForBeingSparedAndNoneForBeingPacked/*",
         ("fate == Fate::kSpare ? 1 : 0);", "fate == Fate::kSpare ? 1 : 1);")),
    unit("an image is not checked before it is handed out", TIER, "image_records",
         "*/ImageRecords.AnyBitFlippedIsAMissAndForgotten/*",
         ("  const bool whole = record::PayloadIsWhole(header);",
          "  const bool whole = Packer::ReadPrefix(record::PayloadOf(header)) || record::PayloadIsWhole(header);")),
    unit("a rejected image stays", TIER, "image_records", "*/ImageRecords.OneThatTheHostRejectsIsForgottenAndCounted/*",
         ("  ForgetRecord(*(reinterpret_cast<const record::Header*>(block.stored_.data()) - 1));\n}",
          "  static_cast<void>(&Impl::ForgetRecord);\n}")),
    hybrid("an image is unpacked without a context", HYBRID, IMAGES_TEST,
           "ImageHits.ALookupWithNothingToUnpackWithIsAMissAndTheRecordStays",
           ("  if (request.context == nullptr) {", "  if (request.helper == nullptr) {")),
    hybrid("a block of another size is served", HYBRID, IMAGES_TEST,
           "ImageHits.AnObjectOfAnotherSizeOrNoneIsAMissAndForgotten",
           ("if (request.helper->size_cb(made.obj) == block.logical_bytes()) return made;", "return made;")),
    hybrid("an Insert that fails leaves its image", HYBRID, IMAGES_TEST, "ImageHits.AnInsertThatFailsLeavesNothing",
           ("if (inserted.IsOkOverwritten() || !inserted.ok())", "if (inserted.IsOkOverwritten())")),
    policy("an image at the miss counts as a promotion", "admission/adaptive_policy.cc", "adaptive_policy",
           "Adaptive.ABlockWithAnImageWasNotPromoted",
           ("block.in_scm && block.codec && ghost_.Take(hash);", "block.in_scm && !block.codec && ghost_.Take(hash);")),
    policy("the codec has one border for both ways", "admission/codec_choice.h", "codec_choice",
           "CodecChoice.ChangesAtOneBorderUpwardsAndAtAnotherDownwards",
           ("(now == Codec::kZstd ? kZstdMinNs : kLz4MaxNs)", "(now == Codec::kZstd ? kLz4MaxNs : kLz4MaxNs)")),
    policy("a stall counts as long as it took", "admission/codec_choice.h", "codec_choice",
           "CodecChoice.AStallCountsLittleAndAReadaheadAsWhatItsMissesCost",
           ("std::min(ns, kMissMaxNs) << kFractionBits", "std::min(ns, 100 * kMissMaxNs) << kFractionBits")),
    hybrid("a batch counts for each of its blocks", "miss_timer.h", "unit/integration/miss_timer_test",
           "MissTimer.SharesTheTimeOfABatchAmongItsBlocks",
           ("(now_ns - latest_.since_ns) / latest_.inserts", "now_ns - latest_.since_ns")),
    hybrid("the packer is not told of another codec", "hybrid_core.cc", "unit/integration/pack_auto_test",
           "PackAuto.PacksWithWhatThePriceOfAMissPaysFor",
           ("  core_.scm_->UseCodec(codec);", "  static_cast<void>(codec);")),

    policy("what does not pack is spared as readily as what does", "admission/adaptive_policy.cc", "adaptive_policy",
           "Adaptive.WhatDoesNotPackAmongWhatDoesNeedsOneHitMore", ("+ (IsLargeAmongPacked(block) ? 1 : 0)", "")),

    # --- workloads ---------------------------------------------------------------------------------------------------
    workload("a sample's next lap begins where the last did", "replay/values.cc", "unit/workloads/values_test",
             "CutValues.*", ("(lap == 0 ? 0 : MixWord(lap) % sample_bytes_)", "0")),
    workload("the simulator packs the young into the lane of the proven", "sim/scm_model.cc", "model/sim_flow_test",
             "*SimFlow*adaptive*", ("young && Reserve(&young_lane_, units, 1)", "young && units == 0")),
    workload("the simulator's policy is not told how blocks pack", "sim/two_tier.cc", "model/sim_flow_test",
             "*SimFlow*adaptive*", ("    if (packs()) NotePacking();\n", "")),

    # --- dictionaries ------------------------------------------------------------------------------------------------
    unit("a hit does not ask for its dictionary", TIER, "packed_dictionaries",
         "PackedDictionaries.ARecordThatNamesAnotherIsACountedMiss",
         ("  if (prefix.dictionary == 0) return true;", "  if (prefix.dictionary < UINT16_MAX) return true;")),
    unit("a frame is unpacked with a dictionary that it does not name", PACKER, "dictionaries",
         "DictionariesTest.WhatWasPackedWithNoneUnpacksWithNone",
         ("  if (ZSTD_getDictID_fromFrame(packed.data(), packed.size()) != prefix.dictionary) ",
          "  if (ZSTD_getDictID_fromFrame(packed.data(), packed.size()) > prefix.dictionary) ")),
    unit("a slot's other dictionary passes for the one that a record names", LOG, "dictionaries",
         "DictionariesTest.ASegmentKeepsThoseOfItsRecordsUntilItIsFree",
         ("         dictionaries_->Find(number) != nullptr;", "         number != UINT16_MAX;")),
    unit("a copy's segment does not keep its dictionary", RECLAIM, "packed_dictionaries",
         "PackedDictionaries.GoWithTheirRecordsWhereReclaimCopiesThem",
         ("  if (record::IsPacked(header)) KeepDictionaryLocked(offset, header, to->segment);\n", "")),
    unit("a segment gives its dictionaries up before its last pin", LOG, "dictionaries",
         "DictionariesTest.ASegmentKeepsThoseOfItsRecordsUntilItIsFree",
         ("  Change(id, State::kSealed, State::kDraining);\n",
          "  Change(id, State::kSealed, State::kDraining);\n  ReleaseDictionariesLocked(id);\n")),
    Mutant("a dictionary goes though it is held", DICTIONARIES,
           (("    if (!slot.word.compare_exchange_strong(unused, Word(State::kEmpty, 0), std::memory_order_acquire,\n"
             "                                           std::memory_order_relaxed))\n",
             "    const uint64_t seen = slot.word.load(std::memory_order_acquire);\n"
             "    if (StateOf(seen) == State::kRetired) slot.word.fetch_sub(unused, std::memory_order_acquire);\n"
             "    if (StateOf(seen) != State::kRetired)\n"),),
           "check/dictionaries_check_test", "CheckedDictionaries.NoneIsDestroyedThatARecordCarries"),
    Mutant("who packs takes a slot whatever it saw there", DICTIONARIES,
           (("  if (good && NumberOf(before) == number) return", "  if (good || number != 0) return"),),
           "check/dictionaries_check_test", "CheckedDictionaries.*"),
    unit("reclaim forgets the dictionary of its victim", RECLAIM, "packed_dictionaries",
         "DictionariesOnAFile.AreWrittenAgainWhenReclaimReachesThem",
         ("      RewriteDictionariesLocked();\n", "")),
    unit("a dictionary that gains nothing is used", TRAINER, "packed_dictionaries",
         "PackedDictionaries.AreNotUsedWhereTheyGainTooLittle",
         (" && trial.FreshGains()) {", ") {")),
    unit("a dictionary is trained anew though it does as well as ever", SAMPLES, "dictionaries",
         "SamplesTest.BeginAgainOnlyWhereTheDictionaryDoesATenthWorse",
         ("rest_bytes == 0 && Decayed(role))", "rest_bytes == 0)")),
    # --- what comparisons rest on ------------------------------------------------------------------------------------
    replay("a read waits for no slot of the device", "flash_model.cc", "flash",
           "FlashQueue.AReaderTooManyWaitsUntilASlotIsFree",
           ("std::max(static_cast<double>(now_ns), slot)", "static_cast<double>(now_ns) + 0 * slot")),
    replay("reads do not share the device's bandwidth", "flash_model.cc", "flash",
           "FlashQueue.LargeReadsAreBoundByBandwidth", ("std::max(start + own, moved_at_)", "start + own")),
    replay("a late wake-up is not made up for", "flash.cc", "flash", "Flash.MakesUpForLateWakeUps",
           ("late.ns = std::min(now - done, kLateMaxNs);", "late.ns = 0;")),
    replay("a batch of reads is one read", "flash_file_system.cc", "flash_file_system",
           "FlashFiles.ReadABatchInOneWait",
           ("if (flash_ != nullptr) reads.push_back", "if (flash_ != nullptr && reads.empty()) reads.push_back")),
    replay("the order of the windows rotates", "window_order.cc", "window_order",
           "*/AnyNumberOfCaches.EachFollowsEachOtherAndHasEachPlaceEquallyOften/*",
           ("(i % 2 == 0 ? i / 2 : n - 1 - i / 2)", "i")),
    replay("all_dram has RocksDB's choice of shards", "cache_factory.cc", "replay", "Replay.GivesEachHyperClockCache*",
           ("estimated_entry_charge, o.hybrid.HyperClockShardBits())",
            "estimated_entry_charge, o.hybrid.dram_shard_bits)")),
)
