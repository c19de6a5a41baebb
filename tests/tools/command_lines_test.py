#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/reference/command_lines.txt is what the programs say of themselves, the pages name no flag that they lack, and
docs/reference/ has their formats and generators.

    tests/tools/command_lines_test.py BIN            BIN: the folder of the programs
    tests/tools/command_lines_test.py BIN --write    writes the page instead
"""
import difflib
import pathlib
import re
import subprocess
import sys
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


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(page())
    else:
        unittest.main()
