#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""README and docs/: that tools/pages.py and tools/results.py notice what they are there for, and that the files beside
the pages fit what the pages say: units, pods, and the commands of the first cache.

Skipped, with exit status 77, where no Python has PyYAML.
"""
import pathlib
import re
import sys
import tempfile
import unittest
from unittest import mock

SKIPPED = 77
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "tools"))
try:
    import yaml
except ImportError as missing:
    print(f"SKIPPED: {missing}; tools/install_deps check installs it")
    sys.exit(SKIPPED)
import pages  # noqa: E402
import results  # noqa: E402
import conventions  # noqa: E402

HOW_TO = ROOT / "docs" / "how-to"
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
CLOSE_SECONDS = 5  # warm_dram: what a close may take for it (docs/explanation/reliability.md)
BESIDE = 1 << 30  # for memtables and the program, at least


def place(options):
    return options["scm"].partition("@")[2]


def scm_bytes(options):
    return size(options["scm"].partition("@")[0])


def size(text):
    """1G of ours, 8Gi of Kubernetes, 8g of Docker."""
    number, unit = re.fullmatch(r"(\d+)([KMGTkmgt]?)i?", str(text)).groups()
    return int(number) * UNITS[unit.upper()]


def uri(text):
    return dict(pair.split("=", 1) for pair in text.removeprefix("mezzanine://").split(";"))


def known_options():
    page = (ROOT / "docs" / "reference" / "options.md").read_text()
    return set(re.findall(r"^\| `(\w+)` \|", page, re.M))


class Tree(unittest.TestCase):
    """A small one: README, a page, a folder of results."""

    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="mezz-pages-")
        self.addCleanup(made.cleanup)
        self.root = pathlib.Path(made.name)
        self.write("results/speed/summary.md", "It is 1.34 times as fast, of 1.20 to 1.51, and takes 12 us.\n")
        self.write("cache/code.h", "")
        self.write("README.md", "# Us\n\nIt is [1.34 times](results/speed/summary.md) as fast.\n")
        self.write("docs/README.md", "- [A page](how-to/page.md): it says how.\n")
        self.write("docs/how-to/page.md", "# A page\n\nThis page shows how.\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def add(self, text):
        self.write("docs/how-to/page.md", f"# A page\n\nThis page shows how.\n\n{text}\n")

    def violations(self):
        return pages.check(self.root)[0]

    def expect(self, *parts):
        found = self.violations()
        self.assertEqual(len(found), len(parts), found)
        for part, violation in zip(parts, found):
            self.assertIn(part, violation)


class Figures(Tree):
    def test_that_a_folder_carries_pass(self):
        self.add("It takes [12 us](../../results/speed/summary.md), 1.20 to 1.51 times as fast.")
        self.expect()

    def test_that_it_does_not_carry_fail(self):
        for wrong in ("1.43 times as fast", "13 us", "1.20 to 1.52 times", "1,340 times", "a P99 of 120 us",
                      "0.43 of it", "124k", "7 % more", "3 points"):
            self.add(f"It is {wrong} ([runs](../../results/speed/summary.md)).")
            self.expect("is not in speed")

    def test_of_a_folder_that_is_not_there_fail(self):
        self.add("It is [1.34 times](../../results/gone/summary.md) as fast.")
        self.expect("is not in gone")

    def test_without_a_link_fail(self):
        for text in ("It is 1.34 times as fast.", "| it | 1.34 |\n|---|---|\n| takes | 12 us |", "- It takes 12 us."):
            self.add(text)
            self.assertTrue(self.violations(), text)

    def test_that_code_holds_name_it(self):
        self.add("A miss counts 80 us at most (`cache/code.h`).")
        self.expect()
        self.add("A miss counts 80 us at most (`cache/gone.h`).")
        self.expect("neither")

    def test_of_a_table_are_in_the_folder_of_the_sentence_before_it(self):
        self.add("So it was ([runs](../../results/speed/summary.md)):\n\n| it | ratio |\n|---|---|\n| is | 1.34 |")
        self.expect()
        self.add("So it was ([runs](../../results/speed/summary.md)):\n\n| it | ratio |\n|---|---|\n| is | 1.35 |")
        self.expect("1.35 is not in speed")

    def test_of_a_row_with_a_link_of_its_own_are_in_that_folder(self):
        self.write("results/size/summary.md", "It takes 7 us.\n")
        table = ("So it was ([runs](../../results/speed/summary.md)):\n\n| it | ratio |\n|---|---|\n"
                 "| [is](../../results/size/summary.md) | {} us |")
        self.add(table.format(7))
        self.expect()
        self.add(table.format(12))
        self.expect("12 is not in size")

    def test_of_a_list_are_in_the_folder_of_the_sentence_with_a_colon(self):
        self.add("So it was ([runs](../../results/speed/summary.md)):\n\n- It takes 12 us.")
        self.expect()
        self.add("So it was ([runs](../../results/speed/summary.md)).\n\n- It takes 12 us.")
        self.expect("12: neither")

    def test_of_another_paragraph_do_not_pass_by_its_link(self):
        self.add("So it was ([runs](../../results/speed/summary.md)).\n\nIt takes 12 us.")
        self.expect("12: neither")

    def test_are_not_sizes_versions_options_and_code(self):
        self.add("On Linux 6.10 with RocksDB 8.10, `curve_rate=0.01` and 32 + 128 MiB.\n\n```\n12 us\n```")
        self.expect()


class Shape(Tree):
    def test_is_what_it_should_be(self):
        self.expect()

    def test_has_few_long_sentences(self):
        self.add("It is so. " * 60 + "This is " + "a word " * 15 + "more.")
        self.expect()
        self.add("This is " + "a word " * 15 + "more.")
        self.expect("sentences have more than 30 words")

    def test_counts_no_words_of_tables_and_code(self):
        self.add("| " + "word " * 40 + "|\n\n```\n" + "word " * 40 + "\n```\n\nOne `" + "word " * 40 + "` here.")
        self.expect()

    def test_wants_each_page_in_the_index_and_of_a_kind(self):
        self.write("docs/page.md", "# Another\n\nThis page is not in a folder.\n")
        self.assertIn("docs/page.md", " ".join(self.violations()))
        self.write("docs/history/page.md", "# Old\n\nThis page tells.\n")
        self.assertIn("docs/history/page.md:1: is of no kind", " ".join(self.violations()))
        self.write("docs/reference/new.md", "# New\n\nThis page lists.\n")
        self.assertIn("docs/reference/new.md:1: is not in docs/README.md", self.violations())

    def test_wants_each_page_to_say_what_it_is_for(self):
        self.write("docs/how-to/page.md", "# A page\n\nHistory of this.\n")
        self.expect("what `This page` is for")

    def test_is_not_longer_than_its_bounds(self):
        self.write("README.md", "# Us\n" * (pages.README_LINES_MAX + 1))
        self.expect("README.md: 151 lines")
        self.write("README.md", "# Us\n")
        self.add("\n" * pages.DOCS_LINES_MAX)
        self.expect("docs: 25")


class Links(Tree):
    def of(self, text):
        self.write("docs/how-to/page.md", text)
        with mock.patch.object(conventions, "ROOT", self.root):
            source = conventions.Source(self.root / "docs/how-to/page.md")
            conventions.check_document(source)
        return source.violations

    def test_lead_to_files_headings_and_anchors(self):
        self.write("docs/how-to/other.md", "# Other\n\n## Why `it` is: so\n\n<a id=\"here\"></a>\n")
        good = "[a](other.md) [b](other.md#why-it-is-so) [c](other.md#here) [d](#mine)\n\n# Mine\n"
        self.assertEqual(self.of(good), [])
        for broken in ("gone.md", "other.md#gone", "#gone", "other.md#why-it-is"):
            self.assertEqual(len(self.of(f"[a]({broken})\n")), 1, broken)


class Mentions(Tree):
    def test_of_comments_are_there(self):
        with mock.patch.object(conventions, "ROOT", self.root):
            for text, wrong in (("// docs/how-to/page.md says so, and results/speed/summary.md", 0),
                                ("// docs/page.md says so", 1)):
                self.write("cache/code.h", text + "\n")
                source = conventions.Source(self.root / "cache/code.h")
                conventions.check_mentions(source)
                self.assertEqual(len(source.violations), wrong, text)


class TheTree(unittest.TestCase):
    def test_counters_that_ask_for_something_are_in_the_code(self):
        page = (ROOT / "docs" / "reference" / "counters.md").read_text()
        rows = page[page.index("| counter that grows"):].partition("\n\n")[0].splitlines()[2:]
        names = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
        self.assertGreater(len(names), 25)
        code = "".join(path.read_text() for folder in ("admission", "cache", "integration")
                       for path in sorted((ROOT / folder).rglob("*")) if path.suffix in (".h", ".cc"))
        for name in names:
            for part in re.split(r"\*|\.\.\.|:", name):
                if not part.strip(" .").isdigit():
                    self.assertTrue(part.strip(" .") in code, f"{name} is in no source")

    def test_readmes_figures_are_held(self):
        text = (ROOT / "README.md").read_text()
        for right, wrong in (("| **124k** |", "| **142k** |"), ("3.17 (3.07-3.41)", "3.71 (3.07-3.41)"),
                             ("[2.05 times]", "[9.05 times]"), ("[0.94]", "[0.95]"), ("0.332 |", "0.322 |")):
            self.assertIn(right, text)
            changed = text.replace(right, wrong)
            self.assertTrue(list(pages.check_figures(ROOT / "README.md", changed, ROOT)), wrong)


class Results(Tree):
    def setUp(self):
        super().setUp()
        self.write("results/speed/manifest.json", '{"date": "2026-11-26", "commit": "1e27b22"}')
        self.write("results/README.md", "| question | answer | date | commit | folder |\n|---|---|---|---|---|\n"
                   "| How fast? | 1.34 times | 2026-11-26 | 1e27b22 | [speed](speed/summary.md) |\n")

    def found(self):
        return results.check(self.root)

    def test_are_a_row_for_each_folder(self):
        self.assertEqual(self.found(), [])
        self.write("results/other/summary.md", "# Other\n")
        self.write("results/other/manifest.json", '{"date": "2026-11-26", "commit": "1e27b22"}')
        self.assertIn("results/other: is not in results/README.md", self.found())

    def test_have_date_and_commit_of_their_manifest(self):
        self.write("results/speed/manifest.json", '{"date": "2026-11-27", "commit": "1e27b22"}')
        self.assertIn("date", self.found()[0])
        self.write("results/speed/manifest.json", '{"date": "2026-11-26", "commit": "2e27b22"}')
        self.assertIn("commit", self.found()[0])
        (self.root / "results/speed/manifest.json").unlink()
        self.assertIn("manifest.json", self.found()[0])

    def test_answer_with_what_the_summary_says(self):
        page = self.root / "results/README.md"
        page.write_text(page.read_text().replace("1.34 times", "1.43 times"))
        self.assertIn("1.43 is not in speed", self.found()[0])

    def test_have_a_summary_of_a_page(self):
        self.write("results/speed/summary.md", "1.34\n" * (results.SUMMARY_LINES_MAX + 1))
        self.assertIn("lines", self.found()[0])

    def test_name_scripts_that_are_there(self):
        self.write("results/speed/run.sh", "")
        self.write("results/speed/manifest.json",
                   '{"date": "2026-11-26", "commit": "1e27b22", "command": "results/speed/run.sh A"}')
        self.assertEqual(self.found(), [])
        (self.root / "results/speed/run.sh").unlink()
        self.assertIn("results/speed/run.sh is not there", self.found()[0])

    def test_are_named_by_questions_not_by_days(self):
        self.write("results/2026-11-27-speed/summary.md", "# Again\n")
        self.assertIn("named by its question", " ".join(self.found()))

    def test_are_few_and_small(self):
        self.write("results/speed/large.csv", "x" * (results.BYTES_MAX + 1))
        self.assertIn("bytes", self.found()[-1])
        for number in range(results.FOLDERS_MAX):
            self.write(f"results/other{number}/summary.md", "")
        self.assertIn(f"results: {results.FOLDERS_MAX + 1} folders", " ".join(self.found()))


class Deployed(unittest.TestCase):
    """The files beside the pages: sizes fit their limits, and the close has time."""

    def judge(self, cache, memory, stop_seconds):
        options = uri(cache)
        self.assertLessEqual(set(options), known_options())
        self.assertNotIn("model", options)
        self.assertGreaterEqual(memory, size(options["dram_total"]) + BESIDE)
        self.assertGreater(stop_seconds, CLOSE_SECONDS)
        return options

    def test_unit(self):
        lines = (HOW_TO / "mezzanine-db.service").read_text().split("\n")
        settings = [line.split("=", 1) for line in lines if "=" in line and not line.startswith("#")]
        environment = dict(value.split("=", 1) for key, value in settings if key == "Environment")
        unit = dict(settings)
        options = self.judge(environment["MEZZANINE_CACHE"], size(unit["MemoryMax"]), int(unit["TimeoutStopSec"]))
        self.assertTrue(place(options).startswith("/dev/shm/"))
        self.assertGreaterEqual(size(unit["MemoryMax"]), size(options["dram_total"]) + scm_bytes(options) + BESIDE)
        self.assertEqual(unit["RemoveIPC"], "no")
        self.assertNotIn("DynamicUser", unit)
        self.assertNotEqual(unit["User"], "root")
        self.assertEqual(unit["MemorySwapMax"], "0")
        self.assertIn("LimitMEMLOCK", unit)

    def pod(self, name):
        spec = yaml.safe_load((HOW_TO / name).read_text())["spec"]
        (container,) = spec["containers"]
        environment = {variable["name"]: variable["value"] for variable in container["env"]}
        limits = container["resources"]["limits"]
        options = self.judge(environment["MEZZANINE_CACHE"], size(limits["memory"]),
                             spec["terminationGracePeriodSeconds"])
        self.assertEqual(container["resources"]["requests"], limits)
        self.assertEqual(spec["restartPolicy"], "Always")
        self.assertIn("runAsUser", spec["securityContext"])
        (mount,), (volume,) = container["volumeMounts"], spec["volumes"]
        self.assertEqual(mount["name"], volume["name"])
        self.assertTrue(place(options).startswith(mount["mountPath"] + "/"))
        return options, limits, volume["emptyDir"]

    def test_pod(self):
        options, limits, volume = self.pod("pod.yaml")
        self.assertEqual(volume["medium"], "Memory")
        self.assertGreater(size(volume["sizeLimit"]), scm_bytes(options))
        self.assertGreaterEqual(size(limits["memory"]),
                                size(options["dram_total"]) + size(volume["sizeLimit"]) + BESIDE)

    def test_compose(self):
        (service,) = yaml.safe_load((HOW_TO / "compose.yaml").read_text())["services"].values()
        options = self.judge(service["environment"]["MEZZANINE_CACHE"], size(service["mem_limit"]),
                             int(service["stop_grace_period"].rstrip("s")))
        self.assertGreaterEqual(size(service["mem_limit"]), size(options["dram_total"]) + scm_bytes(options) + BESIDE)
        (volume,) = service["volumes"]
        self.assertTrue(volume["source"].startswith("/dev/shm/"))
        self.assertTrue(place(options).startswith(volume["target"] + "/"))


class Commands(unittest.TestCase):
    """What the pages tell their reader to type is there."""

    def shell(self):
        for page in pages.pages(ROOT):
            for block in re.findall(r"^```(?:sh|cpp|c\+\+)?\n(.*?)^```", page.read_text(), re.M | re.S):
                yield page.name, block

    def test_uris_have_known_options(self):
        known, seen = known_options(), 0
        for name, block in self.shell():
            for text in re.findall(r"mezzanine://([\w=;/.@-]+)", block):
                for pair in text.strip(".").split(";"):
                    if "=" in pair:
                        seen += 1
                        self.assertIn(pair.split("=")[0], known, f"{name}: {text}")
        self.assertGreater(seen, 15)

    def test_tools_are_there(self):
        for name, block in self.shell():
            for tool in re.findall(r"(?<![\w/])(tools/[\w.-]+)", block):
                self.assertTrue((ROOT / tool).exists(), f"{name}: {tool}")

    def test_programs_have_the_flags(self):
        mains = {"mezz_sim": "sim_main", "mezz_replay": "replay_main", "mezz_trace": "trace_main",
                 "mezz_plan": "plan_main", "mezz_inspect": "inspect_main"}
        sources = "\n".join(path.read_text() for path in (ROOT / "workloads").rglob("*.cc"))
        known = set(re.findall(r"DEFINE_\w+\(\s*(\w+)", sources))
        seen = 0
        for name, block in self.shell():
            for line in block.replace("\\\n", " ").split("\n"):
                found = re.match(rf"(?:.*[/ ])?({'|'.join(mains)}) (.*)", line)
                if not found:
                    continue
                for flag in re.findall(r"(?<!\S)--(\w+)", found.group(2).split("#")[0]):
                    seen += 1
                    self.assertIn(flag, known, f"{name}: {line.strip()}")
        self.assertGreater(seen, 40)

    def test_tests_are_there(self):
        source = "\n".join(path.read_text(errors="replace") for path in (ROOT / "tests").rglob("*.cc"))
        known = set(re.findall(r"TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)", source))
        prefixes = set(re.findall(r"INSTANTIATE_\w+\(\s*(\w+),", source))  # Prefix/Suite.Name is told as Prefix.Name
        seen = 0
        for page in pages.pages(ROOT):
            for line in page.read_text().split("\n"):
                suite = None
                for span in pages.CODE.findall(line):
                    found = re.fullmatch(r"`([A-Z]\w*)?\.(\w+|\*)(?:\.\.\.)?(\w*)`", span)
                    if not found or not (found.group(1) or suite):
                        continue
                    suite, name = found.group(1) or suite, found.group(2).strip("*")
                    seen += 1
                    self.assertTrue(suite in prefixes or any(a == suite and b.startswith(name) for a, b in known),
                                    f"{page.name}: {span}")
        self.assertGreater(seen, 100)

    def test_counters_are_there(self):
        folders = ("cache", "admission", "integration", "workloads")
        source = "\n".join(path.read_text(errors="replace") for folder in folders
                           for path in (ROOT / folder).rglob("*.[ch]*"))
        groups = "scm|pack|dram|recovery|refused|served|flash|curve|promotion|adoption|allocation|dictionary|medium|wal"
        seen = 0
        for page in pages.pages(ROOT):
            for counter in re.findall(rf"`(?:{groups})\.([a-z_]+)`", page.read_text()):
                seen += 1
                self.assertRegex(source, rf"[\".]{counter}\b", f"{page.name}: {counter}")
        self.assertGreater(seen, 80)


if __name__ == "__main__":
    unittest.main()
