#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/progress.py: a line on a terminal, one a minute in a file, and a result that does not land in it."""
import contextlib
import io
import os
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import progress  # noqa: E402


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    """Goes on by so many seconds with each item."""

    def __init__(self, seconds):
        self.time, self.seconds = 0, seconds

    def items(self, count):
        for item in range(count):
            yield item
            self.time += self.seconds

    def now(self):
        return self.time


def run(file, seconds, count, body=lambda item: None):
    clock = Clock(seconds)
    for item in progress.each(clock.items(count), "tools/x", "runs", total=count, file=file, now=clock.now):
        body(item)
    return file.getvalue()


class Progress(unittest.TestCase):
    def test_on_a_terminal_is_drawn_with_each_item_and_goes(self):
        drawn = run(Terminal(), 30, 4).split("\r\033[K")
        self.assertEqual(drawn, ["tools/x: 0 of 4 runs, 0 %", "tools/x: 1 of 4 runs, 25 %, 2 a minute, 90 s left",
                                 "tools/x: 2 of 4 runs, 50 %, 2 a minute, 60 s left",
                                 "tools/x: 3 of 4 runs, 75 %, 2 a minute, 30 s left", ""])

    def test_in_a_file_is_a_line_a_minute(self):
        self.assertEqual(run(io.StringIO(), 25, 8),
                         "tools/x: 3 of 8 runs, 37 %, 2.4 a minute, 125 s left\n".replace("125 s", "2 min")
                         + "tools/x: 6 of 8 runs, 75 %, 2.4 a minute, 50 s left\n")

    def test_in_a_file_is_nothing_within_a_minute(self):
        self.assertEqual(run(io.StringIO(), 10, 6), "")

    def test_makes_way_for_a_result(self):
        terminal, out = Terminal(), io.StringIO()
        with contextlib.redirect_stdout(out):
            run(terminal, 30, 1, lambda item: progress.say("done", file=terminal))
        self.assertEqual(terminal.getvalue(), "tools/x: 0 of 1 runs, 0 %\r\033[K")
        self.assertEqual(out.getvalue(), "done\n")

    def test_goes_when_the_tool_fails(self):
        terminal = Terminal()

        def fail(_item):
            raise ValueError

        with self.assertRaises(ValueError):
            run(terminal, 1, 2, fail)
        self.assertTrue(terminal.getvalue().endswith("\r\033[K"))


class Steps(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log, self.gate = os.path.join(folder.name, "log"), os.path.join(folder.name, "gate")

    def test_are_ninjas_and_makes(self):
        self.assertEqual(progress.last_step(b"[1/12] a\n[3/12] b [9/9]\n"), (3, 12))
        self.assertEqual(progress.last_step(b"[ 25%] Building\n"), (25, 100))
        self.assertIsNone(progress.last_step(b"-- Configuring [1/2]\n"))

    def test_of_a_build_that_runs_are_drawn_and_go(self):
        os.mkfifo(self.gate)
        gate = self.gate

        class Opens(Terminal):
            """The build waits until its second step was drawn."""

            def write(self, text):
                if "tools/x: 2 of 4 steps of the build, 50 %" in text:
                    open(gate, "w").close()
                return super().write(text)

        terminal = Opens()
        build = ["sh", "-c", f"echo '[1/4] a'; echo '[2/4] b'; cat {self.gate}; exit 3"]
        self.assertEqual(progress.follow(build, self.log, "tools/x", file=terminal, every=0.01), 3)
        self.assertTrue(terminal.getvalue().endswith("\r\033[K"), "the line goes")
        self.assertEqual(pathlib.Path(self.log).read_text(), "[1/4] a\n[2/4] b\n")

    def test_in_a_file_are_not_told_within_a_minute(self):
        pathlib.Path(self.log).write_text("[9/9] of a build before\n")
        out = io.StringIO()
        self.assertEqual(progress.follow(["echo", "[1/2] a"], ">>" + self.log, "tools/x", file=out), 0)
        self.assertEqual(out.getvalue(), "")
        self.assertEqual(pathlib.Path(self.log).read_text(), "[9/9] of a build before\n[1/2] a\n")


if __name__ == "__main__":
    unittest.main()
