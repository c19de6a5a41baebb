#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/fleet_curves.py on a cluster of three processes on this machine.

    tests/fleet/fleet_test.py MEZZ_PLAN

Skipped, with exit status 77, where no Python has dask.distributed: tools/install_deps fleet installs it.
"""
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest
import zipfile

SKIPPED = 77
TOOL = pathlib.Path(__file__).parents[2] / "tools" / "fleet_curves.py"
FLAGS = ["--dram=1M,4M", "--scm=0,8M", "--blocks=600", "--seeds=2"]
TRACES = 18  # more than one task merges
SEED = 1

# mezz_plan, but each run is counted. If asked to, one of a kind, or each of one trace, kills the worker that began it.
COUNTED = """#!/usr/bin/env bash
count={folder}/runs/$1
n=1
while ! mkdir "$count.$n" 2>/dev/null; do n=$((n + 1)); done
if [[ -e {folder}/kill.$1.$n || -e {folder}/kill.${{2##*/}} ]]; then
  rm -f {folder}/kill.$1.$n
  kill -9 "$PPID"
  exit 1
fi
exec {mezz_plan} "$@"
"""


def python_with_dask():
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            if subprocess.run([python, "-c", "import distributed"], capture_output=True).returncode == 0:
                return python
        except OSError:
            pass
    return None


def write_trace(path, seed):
    drawn = random.Random(f"{SEED}:{seed}")
    keys = [int(drawn.paretovariate(0.7) * 20) % 3000 + 1 for _ in range(5000)]
    path.write_text("".join(f"{key}\n" for key in keys))


def curve_of(path):
    """A curve file behind its manifest, which tells time and command."""
    text = path.read_bytes()
    return text[text.index(b'\n"curve":'):]


class Fleet(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="mezz-fleet-")
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        (self.folder / "runs").mkdir()
        self.program = self.folder / "counted"
        self.program.write_text(COUNTED.format(folder=self.folder, mezz_plan=settings["mezz_plan"]))
        self.program.chmod(0o755)
        for i in range(TRACES - 1):
            write_trace(self.folder / f"host{i}.trace", i)

    def fleet(self, *words, flags=FLAGS):
        return subprocess.run(
            [settings["python"], TOOL, "--out=all.curve", "--kept=kept", "--workers=3", f"--mezz_plan={self.program}",
             *words, "--", *flags], cwd=self.folder, capture_output=True, text=True, timeout=200)

    def runs(self, kind):
        return len(list((self.folder / "runs").glob(f"{kind}.*")))

    def serial(self, names):
        """All traces' curves one after the other, and their sum in the order of `names`."""
        for i, name in enumerate(names):
            subprocess.run([settings["mezz_plan"], "curve", name, f"--out=serial.{i}", *FLAGS], cwd=self.folder,
                           check=True, stdout=subprocess.DEVNULL)
        subprocess.run([settings["mezz_plan"], "merge", *[f"serial.{i}" for i in range(len(names))], "--out=serial"],
                       cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        return curve_of(self.folder / "serial")

    def test_result_is_that_of_a_serial_merge_though_workers_are_killed(self):
        write_trace(self.folder / "last.trace", "last")
        with zipfile.ZipFile(self.folder / "store.zip", "w") as store:  # a URL that must be fetched
            store.write(self.folder / "last.trace", "last.trace")
        for kill in ("kill.curve.5", "kill.merge.2"):
            (self.folder / kill).touch()
        done = self.fleet(f"{self.folder}/host*.trace", f"zip://*.trace::file://{self.folder}/store.zip")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(list(self.folder.glob("kill.*")), [], "nobody was killed")
        self.assertEqual((self.runs("curve"), self.runs("merge")), (TRACES + 1, 3 + 1), "done again: what was in hand")
        names = [f"{self.folder}/host{i}.trace" for i in range(TRACES - 1)]
        random.Random(SEED).shuffle(names)
        self.assertEqual(curve_of(self.folder / "all.curve"), self.serial([*names, "last.trace"]))

    def test_names_a_damaged_trace_keeps_the_others_and_resumes(self):
        damaged = self.folder / "host3.trace"
        damaged.write_text("1\nfrob\n")
        done = self.fleet("--retries=1", "host*.trace")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(f"trace file://{damaged} failed: mezz_plan: trace {damaged}, line 2: \"frob\"", done.stderr)
        self.assertIn(f"{TRACES - 2} of {TRACES - 1} curves, 0 of them kept from before", done.stderr)
        self.assertFalse((self.folder / "all.curve").exists())
        self.assertEqual((self.runs("curve"), self.runs("merge")), (TRACES - 1 + 1, 0), "tried again once")

        write_trace(damaged, 3)
        write_trace(self.folder / "host5.trace", "another")
        done = self.fleet("host*.trace")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"{TRACES - 1} of {TRACES - 1} curves, {TRACES - 3} of them kept from before", done.stderr)
        self.assertEqual(self.runs("curve"), TRACES + 2, "the mended and the changed one alone")
        self.assertEqual(curve_of(self.folder / "all.curve"),
                         self.serial([f"{self.folder}/host{i}.trace" for i in range(TRACES - 1)]))

    def test_names_a_trace_that_kills_every_worker(self):
        (self.folder / "kill.host4.trace").touch()
        done = self.fleet("host*.trace")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertEqual(done.stderr.count(" failed: "), 1, done.stderr)
        self.assertIn(f"trace file://{self.folder}/host4.trace failed: the worker died", done.stderr)
        self.assertIn(f"{TRACES - 2} of {TRACES - 1} curves", done.stderr)

    def test_curves_are_kept_by_what_files_that_flags_name_hold(self):
        ratios = self.folder / "ratios"
        for content, flags, kept in (("2,1\n", [f"--pack_ratio={ratios}"], 0), ("2,1\n", [f"--pack_ratio={ratios}"], 2),
                                     ("4,1\n", [f"--pack_ratio={ratios}"], 0), ("4,1\n", ["--pack_ratio", ratios], 0),
                                     ("3,1\n", ["--pack_ratio", ratios], 0)):
            ratios.write_text(content)
            done = self.fleet("host0.trace", "host1.trace", flags=[*FLAGS, "--pack=lz4", *flags])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(f"2 of 2 curves, {kept} of them kept from before", done.stderr)

    def test_refuses_before_it_starts_a_cluster(self):
        for words, flags, said in (
                (["host*.trace"], ["--scm=0,8M"], "--dram is missing behind --"),
                (["host*.trace"], [*FLAGS, "--out=x"], "--out=x stands behind --"),
                (["guest*.trace"], FLAGS, "guest*.trace matches nothing"),
                ([], FLAGS, "no trace; name some"),
                (["--mezz_plan=frob", "host*.trace"], FLAGS, "--mezz_plan=frob is no program")):
            done = self.fleet(*words, flags=flags)
            self.assertEqual(done.returncode, 2, said)
            self.assertIn(said, done.stderr)
        self.assertEqual(self.runs("curve"), 0)


if __name__ == "__main__":
    settings = {"mezz_plan": str(pathlib.Path(sys.argv.pop(1)).absolute()), "python": python_with_dask()}
    if settings["python"] is None:
        print("skipped: no Python here has dask.distributed (tools/install_deps fleet installs it)")
        sys.exit(SKIPPED)
    print(f"seed {SEED}")
    unittest.main()
