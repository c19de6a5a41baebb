#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/reference/command_lines.txt is what the programs say of themselves, the pages name no flag that they lack, and
docs/reference/ has their formats and generators.

    tests/tools/command_lines_test.py BIN            BIN: the folder of the programs
    tests/tools/command_lines_test.py BIN --write    writes the page instead
"""
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(sys.argv.pop(1)).resolve()
PAGE = ROOT / "docs" / "reference" / "command_lines.txt"
# Each program, and those of its commands that have a --help of their own.
COMMANDS = ("mezz_replay", "mezz_sim", "mezz_plan", "mezz_plan curve", "mezz_plan merge", "mezz_plan calibrate",
            "mezz_plan predict", "mezz_plan devices", "mezz_trace", "mezz_inspect")
OPENING = """The command lines of Mezzanine's programs, as each says with --help.
tests/tools/command_lines_test.py writes this file, and fails if a program says something else.
"""


def help_of(command):
    program, *rest = command.split()
    return subprocess.run([BIN / program, *rest, "--help"], check=True, capture_output=True, text=True).stdout.strip()


def page():
    said, parts = set(), [OPENING]
    for command in COMMANDS:
        text = help_of(command)
        if text not in said:  # a command that has no text of its own says its program's
            parts.append(f"{'=' * 100}\n{command} --help\n{'=' * 100}\n\n{text}\n")
        said.add(text)
    return "\n".join(parts)


def commands_in(text):
    """(program, flag) of each command of ours in code of a page."""
    for code in re.findall(r"^```[a-z]*\n(.*?)^```|`([^`]+)`", text, re.S | re.M):
        for line in "".join(code).replace("\\\n", " ").splitlines():
            for command in re.split(r"[|;&]", line.split(" #")[0]):
                match = re.search(r"\b(mezz_(?:replay|sim|plan|trace|inspect)) (.*)", command)
                for flag in re.findall(r"(?<!\S)--([a-z_0-9]+)", match.group(2)) if match else ():
                    yield match.group(1), flag


def first_column(page, head):
    """The names in the first column of the table that begins so."""
    text = (ROOT / "docs" / "reference" / page).read_text()
    rows = text[text.index(head):].partition("\n\n")[0].splitlines()[2:]
    return set(re.findall(r"`(\w+)[:`]", " ".join(row.split("|")[1] for row in rows)))


class CommandLines(unittest.TestCase):
    def test_page_is_what_the_programs_say(self):
        is_now, wanted = PAGE.read_text().splitlines(), page().splitlines()
        self.assertEqual(is_now, wanted, "write it anew with --write:\n"
                         + "\n".join(difflib.unified_diff(is_now, wanted, lineterm="", n=0)))

    def test_pages_name_flags_that_there_are(self):
        known, named = {}, 0
        for command in COMMANDS:
            flags = re.findall(r"--([a-z_0-9]+)", help_of(command))
            known.setdefault(command.split()[0], {"help", "version", "completion"}).update(flags)
        for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
            for program, flag in commands_in(path.read_text()):
                named += 1
                self.assertIn(flag, known[program], f"{path.relative_to(ROOT)}: {program} has no --{flag}")
        self.assertGreater(named, 40, "the pages show few commands, or are not read")

    def refusal(self, program, *arguments):
        done = subprocess.run([BIN / program, *arguments], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        return done.stderr

    def test_page_lists_the_formats_that_are_read(self):
        said = self.refusal("mezz_trace", "info", __file__, "--format=nosuch").partition("one of ")[2]
        known = set(re.findall(r"(?:^|; )(\w+): ", said))
        self.assertEqual(first_column("traces.md", "| `--format` |"), known)

    def test_page_lists_the_generators(self):
        known = set(re.findall(r"gen:(\w+)", self.refusal("mezz_replay", "--trace=gen:nosuch").partition("one of ")[2]))
        self.assertEqual(first_column("workloads.md", "| workload |"), known)

    def run_in(self, folder, *words, stdout=subprocess.PIPE):
        return subprocess.run([BIN / words[0], *words[1:]], cwd=folder, stdout=stdout, stderr=subprocess.PIPE,
                              text=True)

    def test_what_was_not_written_is_no_success(self):
        with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w") as full:
            pathlib.Path(folder, "keys.txt").write_text("1\n2\n1\n")
            for words in (("mezz_trace", "info", "keys.txt"), ("mezz_trace", "--help"), ("mezz_plan", "--help"),
                          ("mezz_sim", "--trace=keys.txt", "--policies=lru", "--total=1.0"), ("mezz_replay", "--help"),
                          ("mezz_inspect", "--help"), ("mezz_plan", "devices", "--list")):
                done = self.run_in(folder, *words, stdout=full)
                self.assertEqual(done.returncode, 2, f"{words}: {done.stderr}")
                self.assertIn(f"{words[0]}: the standard output cannot be written", done.stderr)

    def test_outputs_are_no_inputs(self):
        with tempfile.TemporaryDirectory() as folder:
            keys = pathlib.Path(folder, "keys.txt")
            for words in (("mezz_trace", "info", "keys.txt", "--json=keys.txt"),
                          ("mezz_trace", "info", "keys.txt", "--json=./other/../keys.txt"),
                          ("mezz_sim", "--trace=keys.txt", "--json=link"),
                          ("mezz_sim", "--trace=more.txt,keys.txt", "--csv=keys.txt"),
                          ("mezz_sim", "--trace=keys.txt", "--json=out", "--csv=out"),
                          ("mezz_plan", "--curve=keys.txt", "--prices=p.yaml", "--html=keys.txt"),
                          ("mezz_plan", "curve", "keys.txt", "--out=keys.txt"),
                          ("mezz_replay", "--mode=block", "--trace=keys.txt", "--json=keys.txt"),
                          ("mezz_replay", "--from=keys.txt", "--html=keys.txt")):
                keys.write_text("1\n2\n1\n")
                link = pathlib.Path(folder, "link")
                link.unlink(missing_ok=True)
                link.symlink_to("keys.txt")
                pathlib.Path(folder, "other").mkdir(exist_ok=True)
                done = self.run_in(folder, *words)
                self.assertEqual(done.returncode, 2, words)
                self.assertIn("name another file to write", done.stderr, words)
                self.assertEqual(keys.read_text(), "1\n2\n1\n", words)
            done = self.run_in(folder, "mezz_sim", "--trace=keys.txt", "--policies=lru", "--total=1.0",
                               "--json=/dev/stdout")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn('"rows"', done.stdout)

    def test_a_pipe_is_no_medium(self):
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(pathlib.Path(folder, "pipe"))
            done = self.run_in(folder, "mezz_inspect", "pipe")
            self.assertEqual((done.returncode, done.stderr),
                             (2, "mezz_inspect: pipe is neither a file nor a devdax device\n"))

    def test_a_value_is_no_second_setting(self):
        for flag in ("--scm_path=/dev/shm/a;verify=off", "--pack=off;heirs=off", "--model=cxl;verify=always"):
            self.assertIn("a semicolon begins another setting",
                          self.refusal("mezz_replay", "--trace=gen:zipf", "--db=/nowhere/x", flag))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page())
    else:
        unittest.main()
