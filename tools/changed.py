#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which tests a change concerns, for tools/check --changed.

    tools/changed.py BUILD_FOLDER [COMMIT]

Of what differs from COMMIT (HEAD), new files included. A test is concerned if its own source differs, if it includes
the header of a file that differs, or if its command names such a file. A file without a header of its name has that of
the longest name that its name begins with: workloads/plan/answer_json.cc has workloads/plan/answer.h. A header that no
test includes, as cache/block_reader.h, has the tests of the files that include it. Prints three lines: the programs to
build, the tests to run as `ctest -R` takes them, and what is left to tools/check.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST = 20  # tests; a developer waits for them
SLOW = ("stress", "fuzz", "browser", "bench", "plugin", "install", "long")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)
ADD_TEST = re.compile(r'^add_test\((?:\[=+\[)?(.+?)(?:\]=+\])? (".*")\)$', re.MULTILINE)
WORD = re.compile(r'"((?:[^"\\]|\\.)*)"')


def git(*words):
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"tools/changed.py: git {' '.join(words)}: {done.stderr.strip()}")
    return [name for name in done.stdout.split("\0") if name]


def header_of(name, headers):
    """The header whose tests are those of the file; None: it has none."""
    path = Path(name)
    if path.suffix == ".h":
        return name
    if path.suffix != ".cc":
        return None
    named = [header for header in headers
             if Path(header).parent == path.parent and path.stem.startswith(Path(header).stem)]
    return max(named, key=len, default=None)


def reached(wanted, tested, users):
    """The headers that tests include: of `wanted`, and for another those of its users, and of theirs."""
    seen, rest = set(), wanted
    while rest:
        seen |= rest
        rest = set().union(*map(users, rest - tested)) - seen
    return seen & tested


def concerned(tests, changed, headers, includes, users):
    """The names of the tests, the likeliest to fail first. `tests`: (name, source, labels, words of the command)."""
    tested = set().union(*(includes(source) for _, source, _, _ in tests))
    wanted = reached({header_of(name, headers) for name in changed} - {None}, tested, users)
    ranked = []
    for name, source, labels, words in tests:
        if source in changed or any(word.endswith(tuple(changed)) for word in words):
            rank = 0
        elif wanted & includes(source):
            stems = {Path(header).stem for header in wanted}
            rank = 1 if any(Path(source).stem.startswith(stem) for stem in stems) else 2
        else:
            continue
        ranked.append((rank, any(label in SLOW for label in labels), name))
    return [name for _, _, name in sorted(ranked)]


def programs(tests, build):
    """What to build for them. A script that is given something of the build may need any of it."""
    if any(not source and any(word.startswith(build) for word in words) for _, source, _, words in tests):
        return ["all"]
    return sorted({Path(words[0]).name for _, source, _, words in tests if source})


def commands(text):
    """The words of each test's command, of a CTestTestfile.cmake. ctest itself tells none that is not built."""
    return {name: WORD.findall(words) for name, words in ADD_TEST.findall(text)}


def read_tests(build):
    words_of = {}
    for path in Path(build).rglob("CTestTestfile.cmake"):
        words_of.update(commands(path.read_text()))
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True,
                            check=False)
    if listed.returncode != 0:
        sys.exit(f"tools/changed.py: {build}: {listed.stderr.strip()}")
    for test in json.loads(listed.stdout)["tests"]:
        words = words_of.get(test["name"], [])
        labels = next((entry["value"] for entry in test.get("properties", []) if entry["name"] == "LABELS"), [])
        source = next((f"tests/{word[9:]}" for word in words if word.startswith("--source=")), "")
        yield test["name"], source, labels, words


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    build, commit = sys.argv[1], (sys.argv[2:] or ["HEAD"])[0]
    changed = set(git("diff", "--name-only", "-z", commit, "--"))
    changed |= set(git("ls-files", "-z", "--others", "--exclude-standard"))
    headers = git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.h")
    tests = {test[0]: test for test in read_tests(build)}

    def includes(source):
        path = ROOT / source
        return set(INCLUDE.findall(path.read_text())) if source and path.is_file() else set()

    including = {}
    for name in git("ls-files", "-z", "--cached", "--others", "--exclude-standard", "*.h", "*.cc"):
        for header in includes(name):
            including.setdefault(header, set()).add(header_of(name, headers) or name)
    names = concerned(tests.values(), changed, headers, includes, lambda header: including.get(header, set()))
    print(" ".join(programs([tests[name] for name in names[:MOST]], str(Path(build).resolve()))))
    print("|".join(f"^{re.escape(name)}$" for name in names[:MOST]))
    print(f"{len(names[MOST:])} more tests are left to tools/check" if len(names) > MOST else "")


if __name__ == "__main__":
    main()
