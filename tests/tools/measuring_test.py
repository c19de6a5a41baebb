#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tools that measure, over programs that only pretend to: which results they keep, what a signal leaves behind."""
import csv
import json
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
SECONDS_MAX = 60  # before a tool that hangs fails its test
CHANGES, NO_REPOSITORY = "uncommitted changes", "no repository"
PRETEND = """#!{python}
# Build {build}
import json, os, pathlib, sys

FLAGS = dict(word.lstrip("-").partition("=")[::2] for word in sys.argv[1:])


def pretend(blocks):
    with open("{folder}/runs", "a") as runs:
        runs.write(" ".join(sys.argv[1:]) + "\\n")
    pathlib.Path(FLAGS["db"]).mkdir(exist_ok=True)
    (pathlib.Path(FLAGS["db"]) / "LOG").write_text("")
    if blocks and os.path.exists("{folder}/began"):
        with open("{folder}/began", "w") as began:
            began.write(f"{{os.getpid()}}\\n")
        open("{folder}/never")  # nobody writes to it


"""
DB_BENCH = PRETEND + """
pretend(blocks=True)
print("RocksDB:    version 11.8.1\\nmezzanine: a device: emulated")
for name in FLAGS["benchmarks"].split(","):
    print(f"{{name}} : 1.0 micros/op 1000 ops/sec 1.0 seconds 1000 operations;")
for name in ("bytes.written", "flush.write.bytes", "compact.write.bytes", "wal.bytes"):
    print(f"rocksdb.{{name}} COUNT : 1")
"""
REPLAY = PRETEND + """
probed = FLAGS["repeats"] == "1"
pretend(blocks=not probed)
if "laser" in FLAGS["json"] and os.path.exists("{folder}/fails"):
    sys.exit(1)
window = dict.fromkeys(("ops_per_s", "p50_us", "p95_us", "p99_us", "dram_hit", "scm_hit", "flash_bytes_per_s",
                        "cpu_s_per_mop"), 1000)
pathlib.Path(FLAGS["json"]).write_text(json.dumps({{
    "program": "mezz_replay", "command_line": " ".join(sys.argv), "complete": True, "rocksdb": "11.8.1",
    "build": "{build}", "workload": "w", "database_bytes": 1, "medium": "m", "host": {{"cpu": "c", "cores": 2}},
    "options": {{"threads": 8, "dbs": 4, "rate": 1, "write_buffer_bytes": 1}},
    "rows": [{{"cache": "c", "available": True, "windows": [window]}}] * FLAGS["caches"].count("@")}}))
"""
ROCKSDB = "build/lib/librocksdb.so.11"
LIBRARIES = ("build/lib/libmezzanine_rocksdb.so", "build/lib/libmezzanine_flash.so", ROCKSDB)
BINARIES = {"bin/db_bench": DB_BENCH, "bin/mezz_replay": REPLAY, **dict.fromkeys(LIBRARIES, "{build}")}
LDD = f"#!/bin/sh\necho 'librocksdb.so.11 => {{folder}}/{ROCKSDB} (0x0)'\n"
GIT = """#!/bin/sh
case " $* " in
  *" rev-parse "*) cat {folder}/commit ;;
  *" status "*) cat {folder}/changes ;;
esac
"""


class Measuring(unittest.TestCase):
    MEASURED_BY = ("bin/db_bench", *LIBRARIES)

    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="mezz-measuring-")
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        for name in ("bin", "build/lib", "elsewhere", "modules", "scm", "work"):
            (self.folder / name).mkdir(parents=True)
        self.work = self.folder / "work"
        self.write("bin/git", GIT)
        self.write("bin/ldd", LDD)
        self.write("bin/stat", "#!/bin/sh\necho ext2/ext3\n")  # whatever it is, it will do
        for name in BINARIES:
            self.build(name, "A")
        (self.folder / "modules/matplotlib.py").write_text("raise ImportError\n")  # a second a run
        (self.folder / "commit").write_text("1234567\n")
        (self.folder / "changes").write_text("")
        self.out = self.folder / "out"

    def write(self, name, text, build=""):
        path = self.folder / name
        path.write_text(text.format(python=sys.executable, folder=self.folder, build=build))
        path.chmod(0o755)

    def build(self, name, build):
        self.write(name, BINARIES[name], build)

    def start(self, tool, *words):
        command = [sys.executable, TOOLS / tool, f"--out={self.out}", f"--work={self.work}", *words]
        command += [f"--replay={self.folder}/bin/mezz_replay", f"--scm={self.folder}/scm"] if "atc21" in tool else [
            f"--build={self.folder}/build", f"--db-bench={self.folder}/bin/db_bench"]
        environment = os.environ | {
            "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "PYTHONPATH": f"{self.folder}/modules",
            "PYTHONDONTWRITEBYTECODE": "1", "TMPDIR": f"{self.folder}/elsewhere"}
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run_tool(self, tool, *words, status=0):
        """How often something was measured, and what was said."""
        (self.folder / "runs").write_text("")
        process = self.start(tool, *words)
        _, said = process.communicate(timeout=SECONDS_MAX)
        self.assertEqual(process.returncode, status, said)
        return [run for run in (self.folder / "runs").read_text().splitlines() if "--ops=100 " not in run], said

    def each_other_code(self):
        """What makes the results that are there those of other code, or of nobody knows which, while it lasts."""
        shutil.copytree(self.out, self.folder / "before")
        for what in self.each_change():
            yield what
            shutil.rmtree(self.out)
            shutil.copytree(self.folder / "before", self.out)

    def each_change(self):
        for name in self.MEASURED_BY:
            self.build(name, "B")
            yield name
            self.build(name, "A")
        (self.folder / "commit").write_text("89abcde\n")
        yield "another commit"
        (self.folder / "commit").write_text("1234567\n")
        (self.folder / "changes").write_text(" M cache/index.cc\n")
        yield CHANGES
        (self.folder / "changes").write_text("")
        (self.folder / "commit").unlink()
        yield NO_REPOSITORY


class Atc21(Measuring):
    MEASURED_BY = ("bin/mezz_replay", ROCKSDB)
    QUICK = ("reproduce-atc21", "--quick")
    RUNS = 6  # of three workloads, the closed and the open loop

    def test_keeps_what_the_same_code_measured_and_nothing_else(self):
        self.assertEqual(len(self.run_tool(*self.QUICK)[0]), self.RUNS)
        self.assertEqual(len(self.run_tool(*self.QUICK)[0]), 0, "it goes on where it was")
        for what in self.each_other_code():
            self.assertEqual(len(self.run_tool(*self.QUICK)[0]), self.RUNS, what)
            again = self.RUNS if what in (CHANGES, NO_REPOSITORY) else 0
            self.assertEqual(len(self.run_tool(*self.QUICK)[0]), again, f"{what}, again")

    def test_interrupted_run_leaves_nothing_of_other_code_to_the_next(self):
        self.run_tool(*self.QUICK)
        self.build("bin/mezz_replay", "B")
        (self.folder / "fails").touch()  # at the third workload
        self.run_tool(*self.QUICK, status=1)
        (self.folder / "fails").unlink()
        self.assertEqual(len(self.run_tool(*self.QUICK)[0]), 2)
        builds = [json.loads(path.read_text())["build"] for path in self.out.glob("*.none.*.json")]
        self.assertEqual(builds, ["B"] * self.RUNS)

    def test_refuses_to_set_models_of_two_codes_side_by_side(self):
        self.run_tool(*self.QUICK, "--models=cxl")
        self.run_tool(*self.QUICK, "--models=none")
        self.build("bin/mezz_replay", "B")
        runs, said = self.run_tool(*self.QUICK, "--models=none", status=1)
        self.assertEqual(runs, [])
        self.assertIn("has blob_metadata.cxl.closed.json, which does not go with what is made now: binaries.", said)
        self.assertEqual(len(self.run_tool(*self.QUICK, "--models=none,cxl")[0]), 2 * self.RUNS)

    def test_touches_no_disk_but_that_of_work(self):
        self.run_tool(*self.QUICK)
        for run in (self.folder / "runs").read_text().splitlines():
            self.assertIn(f"--db={self.work}/", run)


class Ispass20(Measuring):
    def each_change(self):
        yield from ("--seconds=2", "--scale=64", "--quick")
        yield from super().each_change()

    def experiments(self):
        with open(self.out / "rows.csv", encoding="ascii", newline="") as file:
            return {row["experiment"] for row in csv.DictReader(file)}

    def test_keeps_other_experiments_of_the_same_code_and_settings_only(self):
        short = ("reproduce-ispass20", "--seconds=1", "--rounds=1")
        self.run_tool(*short, "--only=wal")
        self.run_tool(*short, "--only=log")
        self.assertEqual(self.experiments(), {"wal", "log"})
        for what in self.each_other_code():
            self.run_tool(*short, "--only=wal", *([what] if what.startswith("--") else []))
            self.assertEqual(self.experiments(), {"wal"}, what)


class Trocksdb(Measuring):
    QUICK = ("reproduce-trocksdb", "--quick", "--tests=load_sequential", "--systems=stock")

    def test_adds_rounds_to_those_of_the_same_code_and_settings_only(self):
        self.run_tool(*self.QUICK)
        add = (*self.QUICK, f"--add-to={self.out}")
        self.run_tool(*add)
        self.assertEqual(len(json.loads((self.out / "manifest.json").read_text())["commands"]), 2)
        runs, said = self.run_tool(*add, "--threads=2", status=1)
        self.assertEqual((runs, said.rpartition(": ")[2]), ([], "threads\n"))
        for what in self.each_other_code():
            runs, said = self.run_tool(*add, status=1)
            self.assertEqual(runs, [], what)
            self.assertIn("its rounds do not go with those of today", said)


class Provenance(unittest.TestCase):
    def test_repository_around_that_of_the_tools_is_not_theirs(self):
        with tempfile.TemporaryDirectory(prefix="mezz-measuring-") as name:
            around = pathlib.Path(name).resolve()
            tools = around / "unpacked/tools"
            tools.mkdir(parents=True)
            shutil.copy(TOOLS / "provenance.py", tools)
            for root, said in ((around, "None"), (tools.parent, str(tools.parent / ".git"))):
                subprocess.run(["git", "init", "--quiet", root], check=True)
                done = subprocess.run([sys.executable, "-Bc", "import provenance; print(provenance.git('rev-parse', "
                                       "'--absolute-git-dir'))"], cwd=tools, capture_output=True, text=True, check=True)
                self.assertEqual(done.stdout, f"{said}\n")


class Ended(Measuring):
    def setUp(self):
        super().setUp()
        for name in ("began", "never"):
            os.mkfifo(self.folder / name)
        self.began = os.open(self.folder / "began", os.O_RDWR)  # always open, or a second child might find nobody
        self.addCleanup(os.close, self.began)

    def children(self, many):
        """Process ids of so many that began."""
        text = ""
        while text.count("\n") < many:
            self.assertTrue(select.select([self.began], [], [], SECONDS_MAX)[0], "nothing began")
            text += os.read(self.began, 4096).decode()
        return [int(line) for line in text.split()]

    def ends_well(self, process, number, children=1):
        """With its children, and nothing left of their databases."""
        self.addCleanup(process.kill)
        begun = self.children(children)
        process.send_signal(number)
        try:
            _, said = process.communicate(timeout=SECONDS_MAX)
            self.assertEqual(process.returncode, 128 + number, said)
            self.assertEqual([pid for pid in begun if os.path.exists(f"/proc/{pid}")], [], "still at work")
        finally:
            for pid in begun:
                if os.path.exists(f"/proc/{pid}"):
                    os.kill(pid, signal.SIGKILL)
        for place in ("work", "scm", "elsewhere"):
            self.assertEqual(os.listdir(self.folder / place), [], "databases are left behind")

    def test_signal_ends_each_tool_in_order(self):
        try:
            import yaml  # noqa: F401
            tune = [("tune", [f"--workloads={TOOLS}/knobs/rof17_workloads.yaml", f"--knobs={TOOLS}/knobs/rof17.yaml"])]
        except ImportError as missing:
            print(f"tools/tune is left out: {missing}")
            tune = []
        tools = [("reproduce-atc21", ["--quick"]), ("reproduce-ispass20", ["--quick"]),
                 ("reproduce-trocksdb", ["--quick"]), ("restart", ["--quick"]), *tune]
        for tool, words in tools:
            for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                with self.subTest(tool=tool, number=number.name):
                    self.ends_well(self.start(tool, *words), number)

    def drive(self, text, *words):
        process = subprocess.Popen(
            [sys.executable, "-c", text, *map(str, words)], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(TOOLS), "PYTHONDONTWRITEBYTECODE": "1"})
        self.addCleanup(process.kill)
        return process

    def driven(self, status, *words):
        process = self.drive(*words)
        _, said = process.communicate(timeout=SECONDS_MAX)
        self.assertEqual(process.returncode, status, said)

    def test_signal_ends_children_of_other_threads(self):
        driver = """if True:
            import concurrent.futures, sys
            import db_bench, ending
            ending.orderly()
            bench = db_bench.Bench(*sys.argv[1:])
            try:
                with concurrent.futures.ThreadPoolExecutor(2) as both:  # as replicate() of tools/tuning/measure.py
                    started = [both.submit(bench.run, ["fillseq"], folder=bench.folder(name), keep=True)
                               for name in ("master", "slave")]
                    for one in started:
                        one.result()
            finally:
                bench.remove()
        """
        self.ends_well(self.drive(driver, self.folder / "build", self.folder / "bin/db_bench", self.work),
                       signal.SIGTERM, children=2)

    def test_child_that_a_thread_begins_too_late_is_killed(self):
        driver = """if True:
            import signal, sys
            import ending
            ending.orderly()
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                assert ending.run(["cat", sys.argv[1]]).returncode == -signal.SIGKILL
        """
        self.driven(128 + signal.SIGTERM, driver, self.folder / "never")

    def test_child_that_is_late_is_killed(self):
        driver = """if True:
            import subprocess, sys
            import ending
            try:
                ending.run(["cat", sys.argv[1]], timeout=0)
            except subprocess.TimeoutExpired:
                sys.exit(7)
        """
        self.driven(7, driver, self.folder / "never")

    def test_signal_that_is_ignored_stays_so(self):
        driver = """if True:
            import signal
            import ending
            signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup
            ending.orderly()
            signal.raise_signal(signal.SIGHUP)
        """
        self.driven(0, driver)


if __name__ == "__main__":
    unittest.main()
