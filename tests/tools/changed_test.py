#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/changed.py: which tests a change concerns."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import changed  # noqa: E402

HEADERS = ["cache/scm_tier.h", "cache/index.h", "cache/index_inl.h", "admission/index.h"]
INCLUDES = {"tests/unit/a_test.cc": {"cache/index.h"}, "tests/unit/scm_tier_test.cc": {"cache/scm_tier.h"},
            "tests/stress/b_test.cc": {"cache/scm_tier.h"}, "tests/unit/c_test.cc": {"cache/scm_tier.h"}}
TESTS = [(source[6:-3], source, [source.split("/")[1]], ["build/unit_cache", "--source=" + source[6:]])
         for source in INCLUDES] + [("tools/pages", "", ["unit"], ["python3", "/x/tools/pages.py"])]


USERS = {"cache/room.h": {"cache/rooms.h"}, "cache/rooms.h": {"cache/scm_tier.h", "cache/room.h"}}


class Changed(unittest.TestCase):
    def concerned(self, *files):
        return changed.concerned(TESTS, set(files), HEADERS, lambda source: INCLUDES.get(source, set()),
                                 lambda header: USERS.get(header, set()))

    def test_a_file_has_the_header_of_the_longest_name_in_its_folder(self):
        for name, header in (("cache/index.cc", "cache/index.h"), ("cache/scm_tier_open.cc", "cache/scm_tier.h"),
                             ("cache/index_inl.h", "cache/index_inl.h"), ("cache/other.cc", None),
                             ("admission/index.cc", "admission/index.h"), ("tools/index.py", None)):
            self.assertEqual(changed.header_of(name, HEADERS), header, name)

    def test_the_likeliest_come_first_and_the_slow_last(self):
        self.assertEqual(self.concerned("cache/scm_tier_open.cc"),
                         ["unit/scm_tier_test", "unit/c_test", "stress/b_test"])

    def test_what_no_test_includes_has_the_tests_of_its_users(self):
        self.assertEqual(self.concerned("cache/room.h"), self.concerned("cache/scm_tier.h"))
        self.assertEqual(self.concerned("cache/index.h"), ["unit/a_test"])
        self.assertEqual(changed.reached({"cache/nobody.h"}, {"cache/index.h"}, lambda header: set()), set())

    def test_a_changed_test_and_a_changed_script_are_run(self):
        self.assertEqual(self.concerned("tests/unit/a_test.cc"), ["unit/a_test"])
        self.assertEqual(self.concerned("tools/pages.py"), ["tools/pages"])

    def test_a_script_that_is_given_something_of_the_build_needs_all_of_it(self):
        script = ("tools/man", "", ["unit"], ["python3", "/x/tests/tools/man_test.py", "/x/build/dev"])
        self.assertEqual(changed.programs(TESTS[:1], "/x/build/dev"), ["unit_cache"])
        self.assertEqual(changed.programs([*TESTS[-1:], script], "/x/build/dev"), ["all"])
        self.assertEqual(changed.programs(TESTS[-1:], "/x/build/dev"), [])

    def test_what_is_not_built_yet_has_its_command_from_the_list(self):
        text = ('add_test([=[unit/a_test]=] "/x/unit_cache" "--source=unit/a_test.cc" "a\\"b")\n'
                'set_tests_properties([=[unit/a_test]=] PROPERTIES  TIMEOUT "300")\n'
                'add_test([=[tools/pages]=] "python3" "/x/tools/pages.py")\n')
        self.assertEqual(changed.commands(text),
                         {"unit/a_test": ["/x/unit_cache", "--source=unit/a_test.cc", 'a\\"b'],
                          "tools/pages": ["python3", "/x/tools/pages.py"]})

    def test_nothing_concerns_a_page(self):
        self.assertEqual(self.concerned("README.md"), [])


if __name__ == "__main__":
    unittest.main()
