#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What README and docs/ must keep to, as a test: prints one line a violation and fails if there is any.

    tools/pages.py [--long]        --long: shows every sentence that is too long

Each page is of one kind and in the index, says first what it is for, and is short. Hardly a sentence is long. A figure
that somebody measured stands beside a link to the folder of results that carries it, digit by digit; another figure
stands beside the file of this tree that holds it.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("start", "how-to", "reference", "explanation")
README_LINES_MAX = 150
DOCS_LINES_MAX = 2500
WORDS_MAX = 30
LONG_SHARE_MAX = 0.02

CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"!?\[([^\]]*)\]\(([^)\s]+)\)")
COMMENT = re.compile(r"<!--.*?-->", re.S)
# What a measurement, or a comparison of two, is told in. Sizes of memory, counts of things and limits in seconds are no
# such figures.
NUMBER = r"\d[\d,]*(?:\.\d+)?|\.\d+"
RANGE = rf"(?:{NUMBER})(?:(?: to |-| and | / |, )(?:{NUMBER}))*"
FIGURE = re.compile(rf"(?<![\w.,/#@-])({RANGE})(?=k?\s?(?:times\b|x as\b|ops/s|kop/s|ns\b|us\b|ms\b|%|points\b))"
                    rf"|(?<![\w.,/#@-])(?<!Linux )(?<!RocksDB )((?:\d+|)\.\d{{2,}})(?![\w.]|-?\d)"
                    r"|(?<![\w.])(\d+(?:\.\d+)?)k\b")
PATH = re.compile(r"(?:[\w.-]+/)+[\w.*-]*|[\w-]+_test\b|\b[\w-]+\.(?:cc|h|py|yaml|cmake)\b")


def blocks(text):
    """(first line, kind, text) of each paragraph, list item and table row outside of code; kind: text, item, row."""
    fenced, start, kind, lines = False, 0, "text", []
    text = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)
    for number, line in enumerate([*text.split("\n"), ""], 1):
        bare = line.strip()
        item = re.match(r"(?:[-*]|\d+\.)\s+", bare)
        ends = not bare or fenced or item or bare[0] in "|#<" or bare.startswith(("```", "!["))
        if ends and lines:
            yield start, kind, " ".join(lines)
            lines = []
        if bare.startswith("```"):
            fenced = not fenced
        elif fenced or not bare or bare[0] in "#<" or bare.startswith("!["):
            pass
        elif bare[0] == "|":
            if not re.fullmatch(r"[|:\s-]+", bare):
                yield number, "row", bare
        else:
            if not lines:
                start, kind = number, "item" if item else "text"
            lines.append(bare[item.end():] if item else bare)


def plain(block):
    """As it is read aloud: a span of code is a word, a link is its text."""
    return LINK.sub(r"\1", CODE.sub("CODE", block)).replace("**", "").replace("*", "")


def sentences(block):
    return [part for part in re.split(r"(?<=[.!?])[\")']*\s+(?=[A-Z0-9\"(\[.])", plain(block)) if part.strip()]


def long_sentences(text):
    """(how many sentences there are, those with too many words)."""
    every = [sentence for _, kind, block in blocks(text) if kind != "row" for sentence in sentences(block)]
    return len(every), [sentence for sentence in every if len(sentence.split()) > WORDS_MAX]


def digits(number):
    return number.replace(",", "").lstrip("0") or "0"


def figures(block):
    """The numbers of a block that somebody measured, or that it compares with."""
    text = re.sub(r"\]\([^)]*\)", "]", CODE.sub(" ", block)).replace("**", "")
    found = []
    for match in FIGURE.finditer(text):
        found += re.findall(NUMBER, match.group(0))
    return found


def carried(folder):
    """Every number that a folder of results states in words or tables."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.md")))
    return {digits(number) for number in re.findall(NUMBER, text)}


def sourced(block, root):
    """Whether it names a file or folder of the tree, or a test."""
    for span in [*CODE.findall(block), *(target for _, target in LINK.findall(block))]:
        for path in PATH.findall(span.strip("`")):
            name = path.rstrip("*./")
            test = root / "tests" / name
            if (root / name).exists() or any(test.with_name(test.name + end).exists() for end in (".cc", ".py", ".sh")):
                return True
            if name.endswith(("_test", ".cc", ".h")) and any(root.glob(f"**/{Path(name).name}*")):
                return True
    return False


def with_sources(text):
    """(first line, text, what may name its source): of a row all of its table and what stands before it, of an item
    itself and the sentence with a colon that begins its list."""
    before, table = "", []
    for number, kind, block in [*blocks(text), (0, "text", "")]:
        if kind == "row":
            table.append((number, block))
            continue
        named = " ".join([before, *(row for _, row in table)])
        yield from ((at, row, named) for at, row in table)
        table = []
        if kind == "item":
            yield number, block, f"{before} {block}" if before.endswith(":") else block
        else:
            before = block
            yield number, block, block


def results_of(page, block):
    return {(page.parent / target.partition("#")[0]).resolve().parent for _, target in LINK.findall(block)
            if "results/" in target and "results/README" not in target}


def check_figures(page, text, root):
    for number, block, named in with_sources(text):
        wanted = figures(block)
        if not wanted:
            continue
        folders = results_of(page, block) or results_of(page, named)
        if folders:
            known = set().union(*(carried(folder) for folder in folders if folder.is_dir()))
            for figure in wanted:
                if digits(figure) not in known:
                    yield number, f"{figure} is not in {', '.join(sorted(folder.name for folder in folders))}"
        elif not sourced(named, root):
            yield number, f"{', '.join(wanted)}: neither a link to results/ nor a file of the tree that holds it"


def check_page(page, root):
    text = page.read_text(encoding="utf-8")
    for number, message in check_figures(page, text, root):
        yield number, message
    if page not in (root / "README.md", root / "docs" / "README.md"):
        lines = text.split("\n")
        if not lines[0].startswith("# ") or len(lines) < 3 or not lines[2].startswith("This page "):
            yield 1, "does not begin with its name and with what `This page` is for"
        if page.relative_to(root / "docs").parts[0] not in KINDS:
            yield 1, f"is of no kind: {', '.join(KINDS)}"
        if f"({page.relative_to(root / 'docs')})" not in (root / "docs" / "README.md").read_text(encoding="utf-8"):
            yield 1, "is not in docs/README.md"


def pages(root):
    return [root / "README.md", *sorted((root / "docs").rglob("*.md"))]


def check(root, show_long=False):
    violations = []
    lines = {page: page.read_text(encoding="utf-8").count("\n") for page in pages(root)}
    readme, docs = lines[root / "README.md"], sum(lines.values()) - lines[root / "README.md"]
    if readme > README_LINES_MAX:
        violations.append(f"README.md: {readme} lines, at most {README_LINES_MAX}")
    if docs > DOCS_LINES_MAX:
        violations.append(f"docs: {docs} lines, at most {DOCS_LINES_MAX}")
    every, too_long = 0, []
    for page in pages(root):
        name = page.relative_to(root)
        violations += [f"{name}:{number}: {message}" for number, message in check_page(page, root)]
        count, its = long_sentences(page.read_text(encoding="utf-8"))
        every += count
        too_long += [f"{name}: {len(sentence.split())} words: {sentence}" for sentence in its]
    if show_long:
        print("\n".join(too_long))
    if len(too_long) > LONG_SHARE_MAX * every:
        violations.append(f"{len(too_long)} of {every} sentences have more than {WORDS_MAX} words, at most "
                          f"{LONG_SHARE_MAX:.0%}: tools/pages.py --long shows them")
    return violations, (f"{len(lines)} pages, README of {readme} lines, docs of {docs}, {every} sentences, "
                        f"{len(too_long)} of them long")


def main():
    violations, said = check(ROOT, "--long" in sys.argv[1:])
    for violation in violations:
        print(violation)
    print(f"{said}; {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
