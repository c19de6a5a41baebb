#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Our rules, as a test: prints one line a violation and fails if there is any.

    tools/conventions.py [FILE...]    without files: the whole tree

A line that must break a rule says so: `// conventions: allow(RULE) why`.
"""
import re
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("cache", "admission", "integration", "workloads", "tests", "tools", "findings", ".ci", "docs")
LINE_MAX = 120
FUNCTION_LINES_MAX = 70

# Longer than FUNCTION_LINES_MAX when the rule came: may shrink, may not grow. "path:function": lines
RATCHET = {}

# Which of our folders, and which headers, the sources of a folder may include beside its own. The innermost that is
# named here counts.
MAY_INCLUDE = {
    "cache": {"cache"},
    "admission": {"admission", "cache/types.h", "cache/status.h", "cache/counters.h", "cache/survivor_judge.h",
                  "cache/base/words.h", "cache/base/invalid.h"},
    "admission/curves": {"admission", "cache"},
    "integration": {"integration", "admission", "cache", "rocksdb"},
    # What stands beside the cache does not know it.
    "integration/companions": {"cache/base", "cache/status.h", "cache/types.h", "cache/wal", "rocksdb",
                               "integration/operator_io.h", "integration/reporter.h", "integration/tell.h"},
    "workloads": {"workloads", "integration", "admission", "cache", "rocksdb"},
    # Its rooms. Without RocksDB:
    "workloads/program": {"cache"},
    "workloads/requests": {"cache", "admission/curves"},
    "workloads/readers": {"workloads/requests", "cache", "admission/curves"},
    "workloads/generators": {"workloads/requests", "cache", "admission/curves"},
    "workloads/watch": {"cache"},
    "workloads/sim": {"workloads/readers", "workloads/requests", "workloads/program", "admission", "cache"},
    "workloads/trace": {"workloads/readers", "workloads/requests", "workloads/program", "cache", "admission/curves"},
    "workloads/replay/engine": {"workloads/requests", "cache", "admission/curves"},
    "workloads/report": {"workloads/replay/engine", "cache", "admission/curves"},
    "workloads/plan": {"workloads/sim", "workloads/trace", "workloads/readers", "workloads/generators",
                       "workloads/requests", "workloads/replay/engine", "workloads/report", "workloads/program",
                       "admission", "cache"},
    # With it:
    "workloads/rocksdb": {"workloads/readers", "workloads/generators", "workloads/requests", "integration", "cache",
                          "admission/curves", "rocksdb"},
    "workloads/replay/caches": {"workloads/replay/engine", "workloads/rocksdb", "workloads/readers",
                                "workloads/generators", "workloads/requests", "workloads/program", "integration",
                                "admission", "cache", "rocksdb"},
    "workloads/replay/processes": {"workloads/replay/caches", "workloads/replay/engine", "workloads/requests",
                                   "integration", "cache", "admission/curves", "rocksdb"},
    "workloads/replay": {"workloads/replay", "workloads/requests", "workloads/program", "cache", "admission/curves"},
    "tests": {"tests", "workloads", "integration", "admission", "cache", "rocksdb"},
}
OURS = ("cache", "admission", "integration", "workloads", "tests", "results", "rocksdb")

MENTIONS_MADE_UP = ("tests/tools/pages_test.py",)  # its trees are its own
UNWRITTEN = "Not written yet."  # what tools/atc21.py leaves for a person to write

LIBRARIES = ("cache/", "admission/", "integration/")
# Loaded into a program that does not know them: all they can do about a wrong setting is to say so and stop.
PRELOADED = ("integration/plugin.cc", "integration/preload.cc")

ATOMIC_CALL = re.compile(
    r"[.>](?:load|store|exchange|fetch_(?:add|sub|and|or|xor)|compare_exchange_(?:weak|strong)|test_and_set)\s*\(")
ATOMIC_DECLARATION = re.compile(r"(?:std::atomic|\bAtomic)(?:<[^;=(]*>|_\w+)\s*&?\s*(\w+)\s*[;{\[=]")
EXITS = re.compile(r"\b(?:abort|exit|_exit|quick_exit|terminate)\s*\(")
PRINTS = re.compile(r"std::c(?:out|err|log)\b|\b(?:f?printf|puts|fputs|putchar)\s*\(|\bfmt::print\s*\(")
SLEEPS = re.compile(r"\b(?:sleep_for|sleep_until|u?sleep|nanosleep)\s*\(")
BARE_CLAIM = re.compile(r"^\s*(?:else )?if (?:constexpr )?\(.*\) ((?:EXPECT|ASSERT)_\w+)\(")
INCLUDE = re.compile(r'\s*#\s*include\s+[<"]([^>"]+)[>"]')
DEFINITION_NAME = re.compile(r"([~\w:]+|operator\S+)\s*\(")
LINK = re.compile(r"\]\(([^)\s#]*)(?:#([^)\s]+))?[^)]*\)")
MENTION = re.compile(r"(?<![\w/.])(?:docs|results)/[\w./-]+\.md\b")
NOT_A_FUNCTION = re.compile(
    r"\s*(?:(?:inline\s+|extern\s+\"C\"\s*)?namespace|class|struct|union|enum|extern\s+\"C\"|TEST\w*\s*\(\s*\)|=)")


def code_only(text):
    """The text with comments and the insides of literals blanked; lines and columns stay."""
    pattern = re.compile(r'R"(\w*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)

    def blank(match):
        token = match.group(0)
        if token[0] == "'" and match.start() and text[match.start() - 1].isalnum():
            return token  # a digit separator
        kept = token[0] if token[0] in "\"'" else " "
        return kept + re.sub(r"[^\n]", " ", token[1:-1]) + kept if len(token) > 1 else token

    return pattern.sub(blank, text)


class Source:
    """One file: its lines as written, its lines without comments and literals."""

    def __init__(self, path):
        self.path = path
        self.name = path.relative_to(ROOT).as_posix()
        self.folder = self.name.split("/")[0]
        self.text = path.read_bytes().decode("utf-8", "replace")
        self.lines = self.text.split("\n")
        self.is_cxx = path.suffix in (".cc", ".h")
        self.code = code_only(self.text) if self.is_cxx else ""
        self.code_lines = self.code.split("\n")
        self.violations = []

    def report(self, number, rule, message):
        if f"conventions: allow({rule})" not in self.lines[number - 1]:
            self.violations.append(f"{self.name}:{number}: {rule}: {message}")

    def each(self, pattern, rule, message):
        for number, line in enumerate(self.code_lines, 1):
            for match in pattern.finditer(line):
                self.report(number, rule, message.format(match.group(0).strip()))


def check_text(source):
    for number, line in enumerate(source.lines, 1):
        if not line.isascii():
            source.report(number, "ascii", "not ASCII: " + ascii(next(c for c in line if ord(c) > 127)))
        if line != line.rstrip():
            source.report(number, "whitespace", "trailing white space")
        if "\t" in line and source.path.suffix not in (".go", ".mod"):  # as gofmt writes them
            source.report(number, "whitespace", "a tab")
        if len(line) > LINE_MAX and source.path.suffix in (".cc", ".h", ".cmake", ".py", ".sh"):
            source.report(number, "line-length", f"{len(line)} columns, at most {LINE_MAX}")
    if source.text and not source.text.endswith("\n"):
        source.report(len(source.lines), "whitespace", "no newline at the end")


def check_name(source):
    if source.path.suffix in (".cc", ".h", ".py", ".sh") and not re.fullmatch(r"[a-z0-9_]+", source.path.stem):
        source.report(1, "file-name", "files are named in snake_case")


def check_licence(source):
    if "SPDX-License-Identifier: Apache-2.0" not in "\n".join(source.lines[:3]):
        source.report(1, "spdx", "no SPDX-License-Identifier: Apache-2.0 in the first lines")
    if source.path.suffix == ".h" and "#pragma once" not in source.text:
        source.report(1, "pragma-once", "a header without #pragma once")


def folders_of(name):
    """a/b/c.h is of a/b and of a: the innermost first."""
    return [parent.as_posix() for parent in PurePosixPath(name).parents][:-1]


def check_includes(source):
    room = next((folder for folder in folders_of(source.name) if folder in MAY_INCLUDE), None)
    allowed = MAY_INCLUDE.get(room, set()) | {room}
    for number, line in enumerate(source.lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        header = match.group(1)
        top = header.split("/")[0]
        if top == "gflags" and not source.name.endswith("_main.cc"):
            source.report(number, "include", "gflags is for *_main.cc")
        if room and top in OURS and not {header, *folders_of(header)} & allowed:
            source.report(number, "include", f"{room}/ must not include {header}")


def check_own_header_first(source):
    """A source that includes its own header first proves that the header needs nothing before it."""
    header = source.path.with_suffix(".h")
    if source.path.suffix != ".cc" or not header.exists():
        return
    own = header.relative_to(ROOT).as_posix()
    for number, line in enumerate(source.lines, 1):
        match = INCLUDE.match(line)
        if match:
            if match.group(1) != own:
                source.report(number, "own-header-first", f"includes something before its own {own}")
            return
    source.report(1, "own-header-first", f"does not include its own {own}")


def check_memory_order(source):
    for match in ATOMIC_CALL.finditer(source.code):
        depth, end = 1, match.end()
        while depth and end < len(source.code):
            depth += {"(": 1, ")": -1}.get(source.code[end], 0)
            end += 1
        if not re.search(r"memory_order|\bk?[oO]rder\b", source.code[match.end():end]):
            number = source.code.count("\n", 0, match.start()) + 1
            source.report(number, "memory-order", "an atomic operation without its memory order")
    atomics = set(ATOMIC_DECLARATION.findall(source.code))
    header = source.path.with_suffix(".h")
    if source.path.suffix == ".cc" and header.exists():
        atomics |= set(ATOMIC_DECLARATION.findall(code_only(header.read_text())))
    for name in sorted(atomics):
        # Only a member's name tells an assignment to it from one to a local variable of the same name.
        operators = r"\+\+|--|[-+|&^]=" + (r"|=(?!=)" if name.endswith("_") else "")
        silent = re.compile(rf"(?:\+\+|--)[\w.>\[\]-]*\b{name}\b|\b{name}\s*(?:{operators})")
        for number, line in enumerate(source.code_lines, 1):
            if silent.search(line) and not ATOMIC_DECLARATION.search(line):
                source.report(number, "memory-order", f"an operator on atomic {name} hides its memory order")


def functions(source):
    """(name, first line, lines) of each outermost brace block that follows a parameter list."""
    code = re.sub(r"(?<=[\w>]){[^{}]*}", lambda match: re.sub(r"[{};]", " ", match.group(0)), source.code)  # int x{0}
    # Directives, with the lines that continue them: a long macro is no function.
    code = re.sub(r"(?m)^[ \t]*#(?:.*\\\n)*.*$", lambda match: re.sub(r"[^\n]", " ", match.group(0)), code)
    stack, last = [], 0
    for match in re.finditer(r"[{};]", code):
        at, token = match.start(), match.group(0)
        head = code[last:at]
        last = at + 1
        if token == "{":
            inside = any(name for name, _ in stack)
            name = DEFINITION_NAME.search(head) if ")" in head and not NOT_A_FUNCTION.match(head) else None
            first = code.count("\n", 0, at - len(head.lstrip())) + 1
            stack.append((name.group(1) if name and not inside else None, first))
        elif token == "}" and stack:
            name, first = stack.pop()
            if name:
                yield name, first, code.count("\n", 0, at) + 2 - first


def check_function_length(source):
    for name, first, lines in functions(source):
        allowed = RATCHET.get(f"{source.name}:{name}", FUNCTION_LINES_MAX)
        if lines > allowed:
            source.report(first, "function-length", f"{name} has {lines} lines, at most {allowed}")


def check_library_manners(source):
    if source.name.startswith(LIBRARIES) and source.name not in PRELOADED:
        source.each(EXITS, "no-exit", "a library must not end its process: {0}")
        source.each(PRINTS, "no-print", "a library must not print: {0}")
    if source.folder == "tests":
        source.each(SLEEPS, "no-sleep", "tests do not sleep: {0}")
        source.each(BARE_CLAIM, "braces", "GCC takes an else within {0} for one of the if before it: write braces")


def check_mentions(source):
    """A page that a comment or a message names is there."""
    for number, line in enumerate(source.lines, 1):
        for page in MENTION.findall(line):
            if not (ROOT / page).exists():
                source.report(number, "mention", f"{page} does not exist")


def anchors(page):
    """Where a link into the page can lead: its headings as GitHub names them, and what it names by itself."""
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line) for line in re.findall(r"^#+ +(.*)$", text, re.M)]
    slugs = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    return slugs | set(re.findall(r'<a id="([^"]+)">', text))


def check_document(source):
    if source.path.suffix != ".md":
        return
    fenced = False
    for number, line in enumerate(source.lines, 1):
        fenced ^= line.startswith("```")
        for link, anchor in LINK.findall("" if fenced else re.sub(r"`[^`]*`", "", line)):
            target = source.path.parent / link if link else source.path
            if re.match(r"\w+:", link) or not (link or anchor):
                continue
            if not target.exists():
                source.report(number, "link", f"{link} does not exist")
            elif anchor and target.suffix == ".md" and anchor not in anchors(target):
                source.report(number, "link", f"{link} has no heading or anchor #{anchor}")
        if line.strip() == UNWRITTEN:
            source.report(number, "unwritten", f"'{UNWRITTEN}' still stands where an account belongs")


def check(path):
    source = Source(path)
    check_document(source)
    if source.folder == "results":
        return source.violations
    check_text(source)
    check_name(source)
    if source.path.suffix != ".md" and source.name not in MENTIONS_MADE_UP:
        check_mentions(source)
    if source.is_cxx:
        check_licence(source)
        check_includes(source)
        check_own_header_first(source)
        check_function_length(source)
        check_library_manners(source)
        if source.folder != "tests":
            check_memory_order(source)
    return source.violations


def tree():
    for path in sorted(ROOT.iterdir()):
        if path.is_file() and path.name not in ("LICENSE", ".git"):
            yield path
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            data = path.suffix in (".csv", ".json", ".bin", ".png")
            if path.is_file() and "__pycache__" not in path.parts and not data:
                yield path
    yield from sorted((ROOT / "results").rglob("*.md"))


def main():
    paths = [Path(name).resolve() for name in sys.argv[1:]] or list(tree())
    violations = [violation for path in paths for violation in check(path)]
    for violation in violations:
        print(violation)
    print(f"{len(paths)} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
