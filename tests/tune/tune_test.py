#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/tune without db_bench: what it accepts, against worlds whose truth is known; what it refuses, and where.

    tests/tune/tune_test.py [SEED]

Skipped, with exit status 77, where no Python has PyYAML: tools/install_deps tune installs it.
"""
import math
import pathlib
import random
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
try:
    import yaml  # noqa: F401
except ImportError as missing:
    print(f"SKIPPED: {missing}; tools/install_deps tune installs it")
    sys.exit(SKIPPED)
from tuning import files, measure, options_file, report, rule, search  # noqa: E402

WORKLOADS = ("populate", "read", "mixed", "replication")
TARGET = "replication"
LEAST = rule.NOISE_LEAST
seed_of_run = 1


class World:
    """What each knob truly does to each workload, seen through noise of at most `shake` up or down, as a logarithm."""

    def __init__(self, drawn, knobs, shake):
        self.drawn, self.shake, self.measured = drawn, shake, 0
        self.truth = {f"knob{number}": {name: math.exp(self.effect()) for name in WORKLOADS}
                      for number in range(knobs)}

    def effect(self):
        """None, a little, much, or a loss that only together with others is beyond noise."""
        drawn = self.drawn
        return drawn.choice((0, drawn.gauss(0, 0.05), drawn.gauss(0.2, 0.3), drawn.uniform(-0.02, 0)))

    def plan(self, rounds):
        knobs = [files.Knob(name, "FILE:1", files.Settings({name: files.Given("1", "FILE:1")}), {})
                 for name in self.truth]
        base = files.Settings(workloads={name: {} for name in WORKLOADS})
        return files.Plan(1, 1, 1, rounds, "none", TARGET, [], base, knobs, [])

    def measure(self, settings, _seed, only):
        self.measured += 1
        rates = {name: 1000 * math.prod(self.truth[knob][name] for knob in settings.options) *
                 math.exp(self.drawn.uniform(-self.shake, self.shake))
                 for name in WORKLOADS if not only or name in only}
        return rates, measure.Effects(1, 1, 1, 0)


def accepts_only_what_harms_nothing(drawn):
    """The rule's promise: of each knob beyond noise, of all together exactly where nothing is noise."""
    for _ in range(150):
        shake, rounds = drawn.choice((0.0, 0.0, 0.01, 0.05, 0.2)), drawn.choice((1, 3, 5))
        world = World(drawn, knobs=8, shake=shake)
        tuned = search.tune(world.measure, world.plan(rounds))
        noise = max(LEAST, math.exp(2 * shake))
        for outcome in tuned.outcomes:
            for name, truth in world.truth[outcome.knob.name].items() if outcome.accepted else ():
                if name == TARGET:
                    assert truth > LEAST * math.exp(-2 * shake) * (1 - 1e-9), (outcome.knob.name, truth)
                else:
                    assert truth >= math.exp(-2 * shake) / noise * (1 - 1e-9), (outcome.knob.name, name, truth)
        if shake == 0:
            accepted, product = greedy(world.truth)
            assert [outcome.knob.name for outcome in tuned.outcomes if outcome.accepted] == accepted
            assert all(value > 0.98 for value in product.values()), product
            assert tuned.lost == "" and (tuned.confirmed is None) == (not accepted)


def greedy(truth):
    """The same of the truth itself, without rounds or noise: (names, what they do together)."""
    accepted, product = [], dict.fromkeys(WORKLOADS, 1.0)
    for name, factors in truth.items():
        after = {workload: product[workload] * factors[workload] for workload in WORKLOADS}
        others = [workload for workload in WORKLOADS if workload != TARGET]
        if factors[TARGET] > LEAST and all(min(factors[one], after[one]) >= 1 / LEAST for one in others):
            accepted, product = [*accepted, name], after
    return accepted, product


def never_rejects_early_what_later_rounds_would_save(drawn):
    for _ in range(2000):
        rounds = drawn.choice((1, 3, 5, 7))
        ratios = {name: [math.exp(drawn.gauss(0.03, 0.1)) for _ in range(rounds)] for name in WORKLOADS}
        noise = {name: 1 + drawn.random() / 10 for name in WORKLOADS}
        carried = {name: math.exp(drawn.gauss(0, 0.02)) for name in WORKLOADS}
        seen = drawn.randint(0, rounds)
        first = {name: values[:seen] for name, values in ratios.items()}
        early = rule.why_rejected(first, rounds, noise, TARGET, carried)
        full = rule.why_rejected(ratios, rounds, noise, TARGET, carried)
        assert early is None or full is not None, (seen, rounds, ratios)


def seldom_accepts_what_changes_nothing(drawn):
    """Noise is measured, and by the statistic that is compared."""
    accepted = 0
    for _ in range(200):
        world = World(drawn, knobs=0, shake=0.1)
        plan = world.plan(3)
        plan.knobs = [files.Knob("none", "FILE:1", files.Settings(workloads={TARGET: {}}), {})]
        accepted += search.tune(world.measure, plan).outcomes[0].accepted
    assert accepted < 50, accepted


PROPERTIES = (accepts_only_what_harms_nothing, never_rejects_early_what_later_rounds_would_save,
              seldom_accepts_what_changes_nothing)
# Of rule.py: what it says, what it would say if it were wrong, and the property that must notice.
MUTANTS = (
    ("if most < 1 / noise[workload]:", "if False:", accepts_only_what_harms_nothing),
    ("if carried[workload] * most < 1", "if most < 1", accepts_only_what_harms_nothing),
    ("if workload == target:", "if workload != 'read':", accepts_only_what_harms_nothing),
    ("if most <= noise[target]:", "if most < 0:", accepts_only_what_harms_nothing),
    ("if most <= noise[target]:", "if most <= noise[target] ** 8:", accepts_only_what_harms_nothing),
    ("*[math.inf] *", "*[0.0] *", never_rejects_early_what_later_rounds_would_save),
    ("return max(NOISE_LEAST, most, 1 / least)", "return NOISE_LEAST", seldom_accepts_what_changes_nothing),
)


class Rule(unittest.TestCase):
    def drawn(self):
        return random.Random(f"{seed_of_run}:{self.id()}")

    def test_accepts_only_what_harms_nothing(self):
        accepts_only_what_harms_nothing(self.drawn())

    def test_never_rejects_early_what_later_rounds_would_save(self):
        never_rejects_early_what_later_rounds_would_save(self.drawn())

    def test_seldom_accepts_what_changes_nothing(self):
        seldom_accepts_what_changes_nothing(self.drawn())

    def test_each_mutant_is_noticed(self):
        source = (ROOT / "tools/tuning/rule.py").read_text()
        for text, instead, notices in MUTANTS:
            self.assertEqual(source.count(text), 1, f"the mutant of {text!r} has lost its place")
            mutant = types.ModuleType("mutant")
            exec(compile(source.replace(text, instead), "mutant", "exec"), mutant.__dict__)
            with mock.patch.object(rule, "why_rejected", mutant.why_rejected), \
                    mock.patch.object(rule, "noise_of", mutant.noise_of), \
                    self.assertRaises(AssertionError, msg=f"{text!r} became {instead!r}, and nothing noticed"):
                notices(self.drawn())


class Search(unittest.TestCase):
    def world(self, **truth):
        world = World(random.Random(seed_of_run), knobs=0, shake=0.0)
        world.truth = {name: {**dict.fromkeys(WORKLOADS, 1.0), **factors} for name, factors in truth.items()}
        return world

    def test_compares_side_by_side_in_alternating_order(self):
        order = []

        def measured(settings, _seed, _only):
            order.append(settings)
            return {"read": 1.0}, measure.Effects(1, 1, 1, 0)
        search.compare(measured, "new", "old", 3, 1)
        self.assertEqual(order, ["old", "new", "new", "old", "old", "new"])

    def test_rejected_knob_is_not_run_to_the_last_round(self):
        world = self.world(bad={"read": 0.5, TARGET: 2.0})
        tuned = search.tune(world.measure, world.plan(5))
        self.assertEqual(world.measured, 2 * 9 + 2 * 3)
        self.assertIn("read degrades to 0.50", tuned.outcomes[0].why)

    def test_knob_of_one_workload_leaves_the_others_unmeasured(self):
        world = self.world()
        plan = world.plan(3)
        plan.knobs = [files.Knob("order", "FILE:1", files.Settings(workloads={TARGET: {"order": "sequential"}}), {})]
        self.assertEqual(list(search.tune(world.measure, plan).outcomes[0].comparison.ratios), [TARGET])

    def test_failed_run_rejects_its_knob_and_no_other(self):
        world = self.world(broken={}, good={TARGET: 2.0})

        def measured(settings, seed, only):
            if "broken" in settings.options:
                raise search.Failed("it fell over")
            return world.measure(settings, seed, only)
        tuned = search.tune(measured, world.plan(3))
        self.assertEqual([outcome.why for outcome in tuned.outcomes], ["a run failed: it fell over", ""])

    def test_late_knobs_are_not_tried_and_what_was_accepted_still_counts(self):
        world = self.world(first={TARGET: 2.0}, second={TARGET: 2.0})
        tuned = search.tune(world.measure, world.plan(3), late=lambda: world.measured > 10)
        self.assertEqual([outcome.why for outcome in tuned.outcomes], ["", "not tried: the time was over"])
        self.assertAlmostEqual(tuned.confirmed.median(TARGET), 2.0)

    def test_what_only_the_set_has_lost_is_told(self):
        world = self.world(first={TARGET: 2.0}, second={TARGET: 2.0})

        def measured(settings, seed, only):
            rates, effects = world.measure(settings, seed, only)
            if len(settings.options) == 2 and world.measured > 22:  # behind both knobs: beside the base
                rates["read"] /= 2
            return rates, effects
        self.assertIn("read degrades", search.tune(measured, world.plan(3)).lost)


GOOD_WORKLOADS = """target: read
keys: 100
key_size: 16B
value_size: 1K
workloads:
  populate: {}
  read: {share: 10%, threads: 2, times: 1}
"""
GOOD_KNOBS = """base:
  options: {write_buffer_size: 1M}
knobs:
  - name: one
    options: {block_size: 16K, max_open_files: 7}
    flags: {cache_size: 8M}
"""
WORKLOADS_REFUSED = (  # what becomes what, the line, what is said
    ("read: {share", "reed: {share", 7, "knows no reed; do you mean read?"),
    ("target: read", "target: write", 1, "target=write is none of the workloads"),
    ("16B", "16", 3, "key_size: 16 has no unit"),
    ("keys: 100", "keys: 0", 2, "keys=0 is not a whole number"),
    ("keys: 100", "keys: 100\nkeys: 9", 3, "names keys twice"),
    ("10%", "10", 7, "read.share: 10 is not a share"),
    ("10%", "101%", 7, "from 0% to 100%"),
    (", threads: 2", "", 6, "read.threads is missing"),
    ("threads: 2", "threads: two", 7, "read.threads=two"),
    ("value_size: 1K\n", "", 1, "value_size is missing"),
    ("keys: 100", "keys: 100\nrounds: 4", 3, "rounds=4 is even"),
    ("keys: 100", "keys: 100\ndevice: floppy", 3, "device=floppy"),
    ("keys: 100", "keys: [100", 3, "expected"),
    ("  populate: {}\n", "", 6, "populate is missing"),
)
KNOBS_REFUSED = (
    ("16K", "16384", 5, "block_size: 16384 has no unit"),
    ("cache_size", "cash_size", 6, "flag cash_size is not one that can be tuned; do you mean cache_size?"),
    ("cache_size: 8M", "bloom_bits: 9", 6, "name RocksDB's options under options"),
    ("  - name: one\n    options", "  - options", 4, "a knob has no name"),
    ("    options: {block_size: 16K, max_open_files: 7}\n    flags: {cache_size: 8M}\n", "", 4, "one sets nothing"),
    ("    flags", "    flaggs", 6, "a knob knows no flaggs; do you mean flags?"),
    ("base:", "bass:", 1, "knows no bass; do you mean base?"),
    ("    flags: {cache_size: 8M}", "    workloads: {mixed: {threads: 1}}", 4, "sets workload mixed, which"),
    ("    flags: {cache_size: 8M}", "    workloads: {read: {speed: 1}}", 6, "read knows no speed"),
)


class Files(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="mezz-tune-")
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)

    def read(self, workloads=GOOD_WORKLOADS, knobs=GOOD_KNOBS, more=()):
        (self.folder / "w.yaml").write_text(workloads)
        (self.folder / "k.yaml").write_text(knobs)
        return files.read(self.folder / "w.yaml", [self.folder / "k.yaml", *more])

    def refused(self, name, line, says, **texts):
        with self.assertRaises(files.Refused, msg=says) as caught:
            self.read(**texts)
        at = f"{self.folder / name}:{line}: "
        self.assertTrue(any(one.startswith(at) and says in one for one in caught.exception.complaints),
                        f"{at}...{says} is not in {caught.exception.complaints}")

    def test_sizes_become_bytes_and_all_else_stays(self):
        plan = self.read()
        options = {name: given.value for name, given in plan.knobs[0].settings.options.items()}
        self.assertEqual(options, {"block_size": "16384", "max_open_files": "7"})
        self.assertEqual((plan.key_bytes, plan.value_bytes, plan.base.workloads["read"]["share"]), (16, 1024, 0.1))

    def test_refuses_by_name_and_line(self):
        for old, new, line, says in WORKLOADS_REFUSED:
            self.refused("w.yaml", line, says, workloads=GOOD_WORKLOADS.replace(old, new))
        for old, new, line, says in KNOBS_REFUSED:
            self.refused("k.yaml", line, says, knobs=GOOD_KNOBS.replace(old, new))
        self.refused("k.yaml", 1, "there is no knob", knobs="base: {}\n")

    def test_second_file_adds_its_knobs_to_the_base_of_the_first(self):
        second = self.folder / "more.yaml"
        second.write_text(GOOD_KNOBS.replace("one", "two").replace("1M", "9M"))
        plan = self.read(more=[second])
        self.assertEqual([knob.name for knob in plan.knobs], ["one", "two"])
        self.assertEqual(plan.base.options["write_buffer_size"].value, str(1 << 20))
        second.write_text(GOOD_KNOBS)
        self.refused("more.yaml", 4, "knob one stands in", more=[second])

    def test_names_all_that_is_wrong_at_once(self):
        with self.assertRaises(files.Refused) as caught:
            self.read(GOOD_WORKLOADS.replace("16B", "16"), GOOD_KNOBS.replace("16K", "16384"))
        self.assertEqual(len(caught.exception.complaints), 2)

    def test_anything_is_read_or_refused(self):
        drawn = random.Random(f"{seed_of_run}:{self.id()}")
        for _ in range(300):
            texts = [GOOD_WORKLOADS, GOOD_KNOBS]
            for which in (0, 1):
                lines = texts[which].split("\n")
                for _ in range(drawn.randint(0, 3)):
                    at = drawn.randrange(len(lines))
                    lines[at] = "".join(drawn.choice((one, one, one, one, one, drawn.choice("{}[]:-,% \n'\"x0&*!|")))
                                        for one in lines[at])
                texts[which] = "\n".join(lines)
            try:
                self.read(*texts)
            except files.Refused as refused:
                self.assertTrue(refused.complaints)

    def test_tool_refuses_before_it_looks_for_a_database(self):
        (self.folder / "w.yaml").write_text(GOOD_WORKLOADS.replace("reads", "reeds").replace("16B", "16"))
        (self.folder / "k.yaml").write_text(GOOD_KNOBS)
        done = subprocess.run([sys.executable, ROOT / "tools/tune", f"--workloads={self.folder}/w.yaml",
                               f"--knobs={self.folder}/k.yaml", "--build=/nowhere", "--db-bench=/nowhere/db_bench"],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("w.yaml:3: key_size: 16 has no unit", done.stderr)

    def test_shipped_files_are_read(self):
        for name in ("rof17", "hybrid"):
            folder = ROOT / "tools/knobs"
            plan = files.read(folder / f"{name}_workloads.yaml", [folder / f"{name}.yaml"])
            self.assertEqual(set(plan.base.workloads), set(files.PARAMETERS))
        rof = files.read(folder / "rof17_workloads.yaml", [folder / "rof17.yaml", folder / "hybrid.yaml"])
        self.assertEqual(len([knob for knob in rof.knobs if knob.published]) + len(rof.left_out), 11)


WRITTEN = """[Version]
  rocksdb_version=11.8.1
[DBOptions]
  max_background_jobs=2
  listeners={ErrorHandlerListener}
[CFOptions "default"]
  write_buffer_size=1048576
  bloom_ratio=0.100000
[TableOptions/BlockBasedTable "default"]
  filter_policy={id=bloomfilter:10:false;}
"""


class Options(unittest.TestCase):
    def test_an_option_goes_where_rocksdb_writes_it(self):
        known = options_file.parse(WRITTEN)
        settings = files.Settings({name: files.Given(value, "") for name, value in
                                   (("write_buffer_size", "7"), ("max_background_jobs", "3"))})
        made = options_file.parse(options_file.from_settings(settings, known, "11.8.1"))
        self.assertEqual(made[options_file.FAMILY], {"write_buffer_size": "7"})
        self.assertEqual(made[options_file.DB], {"max_background_jobs": "3"})

    def test_unknown_and_not_taken_are_named_with_their_lines(self):
        known = options_file.parse(WRITTEN)
        said = list(options_file.unknown(files.Settings({"write_bufer_size": files.Given("7", "k.yaml:9")}), known))
        self.assertEqual(said, ["k.yaml:9: RocksDB knows no option write_bufer_size; do you mean write_buffer_size?"])
        given = {"write_buffer_size": files.Given("2097152", "k.yaml:8"), "bloom_ratio": files.Given("0.1", "k.yaml:9"),
                 "filter_policy": files.Given("bloomfilter:10:false", "k.yaml:7")}
        said = list(options_file.not_taken(files.Settings(given), known))
        self.assertEqual(said, ["k.yaml:8: RocksDB does not take write_buffer_size=2097152 here: it made 1048576 of "
                                "it"])

    def test_what_only_db_bench_knows_is_not_kept(self):
        self.assertNotIn("listeners", options_file.portable(WRITTEN))
        self.assertIn("max_background_jobs=2", options_file.portable(WRITTEN))


class Report(unittest.TestCase):
    def test_crossing_lies_between_the_shares_around_it(self):
        self.assertAlmostEqual(report.crossing({"sequential": 10, "random": [(0.1, 15), (0.2, 5), (1, 1)]}), 0.15)
        self.assertIsNone(report.crossing({"sequential": 1, "random": [(0.1, 15)]}))

    def test_every_knob_has_a_row_of_as_many_cells_as_the_head(self):
        world = World(random.Random(seed_of_run), knobs=4, shake=0.05)
        plan = world.plan(3)
        plan.left_out = [{"name": "RAID", "why": "none here", "published": {"gain": "68 %"}}]
        text = report.as_markdown(plan, search.tune(world.measure, plan), None, True)
        rows = [line for line in text.splitlines() if line.startswith(("| knob", "| RAID"))]
        self.assertEqual(len(rows), 6)
        self.assertEqual({row.count("|") for row in rows}, {rows[0].count("|")})
        self.assertIn("emulated", text)


if __name__ == "__main__":
    seed_of_run = int(sys.argv.pop(1)) if len(sys.argv) > 1 and sys.argv[1].isdigit() else seed_of_run
    print(f"seed {seed_of_run}")
    unittest.main()
