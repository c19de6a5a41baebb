#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a man page: of a program from what it says with --help, or mezzanine(7) from the tables of the pages.

    tools/man.py --version VERSION --output FOLDER mezzanine | PROGRAM

The keys are those of docs/reference/options.md, which a test compares with the code's own table; the variables are
those of docs/how-to/preload.md.
"""
import argparse
import re
import subprocess
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
ROFF = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}
KEYS = "| key | values | default | what it is | taken by |"
VARIABLES = "| variable | what it does |"
ABOUT = """A little DRAM holds the hot blocks of a RocksDB, and more memory behind it the others, packed where that
pays: the SCM tier. It lies in DRAM, CXL memory or persistent memory. In a file it is warm again after a restart. The
program stays as it is: it is linked to `librocksdb.so`. If that is not of the release that the library was built for,
or the URI or the medium is no good, a line on stderr says so, and the program goes on with its own cache."""
PROGRAMS = ("mezz_inspect", "mezz_plan", "mezz_replay", "mezz_sim", "mezz_trace")


def plain(text):
    """The text as roff prints it, whatever is in it."""
    escaped = "".join(ROFF.get(character, character) for character in text)
    return r"\&" + escaped if escaped.startswith(".") else escaped


def bold(text):
    return rf"\fB{plain(text)}\fR"


def marked(markdown):
    """A piece of a page: code and what is strong are bold, a link is its text."""
    text = re.sub(r"\[([^\]]*)\]\([^)\s]*\)", r"\1", markdown)
    parts = re.split(r"`([^`]*)`|\*\*([^*]*)\*\*", text)
    # Of each three the first is neither, and one of the others is None.
    return "".join(plain(part) if index % 3 == 0 else bold(part)
                   for index, part in enumerate(parts) if part is not None)


def header(name, section, version):
    return [f'.TH {name.upper()} {section} "" "Mezzanine {version}"']


def rows(page, head):
    """The cells of all tables of a page that begin so."""
    text = (DOCS / page).read_text()
    tables = text.split(head + "\n")[1:]
    if not tables:
        raise SystemExit(f"tools/man.py: docs/{page} has no table {head}")
    for table in tables:
        for line in table.partition("\n\n")[0].splitlines()[1:]:
            yield [cell.strip() for cell in line.strip("|").split(" | ")]


def sentence(text):
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")


def mezzanine(version):
    page = header("mezzanine", 7, version)
    page += [".SH NAME", plain("mezzanine - a block cache of DRAM and storage-class memory for RocksDB")]
    page += [".SH SYNOPSIS", ".nf",
             bold("MEZZANINE_CACHE='mezzanine://KEY=VALUE;...' LD_PRELOAD=libmezzanine_preload.so") + " program",
             ".fi", ".SH DESCRIPTION", marked(ABOUT)]
    page += [".SH ENVIRONMENT"]
    for variable, meaning in rows("how-to/preload.md", VARIABLES):
        page += [".TP", marked(variable), marked(sentence(meaning))]
    page += [".SH KEYS OF THE URI",
             marked("Sizes are digits with K, M, G or T (powers of two). An unknown, repeated or malformed key is "
                    "refused by name.")]
    for key, values, default, meaning, _ in rows("reference/options.md", KEYS):
        page += [".TP", bold(key.strip("`") + "=") + " " + marked(values), marked(sentence(meaning)),
                 f"Default: {marked(default)}."]
    return page + [".SH SEE ALSO", ", ".join(f"{bold(name)}(1)" for name in PROGRAMS)]


def program(path, version):
    """Its --help: a line that names it, usages, titles of groups at the margin, flags and what they do below them."""
    lines = subprocess.run([path, "--help"], check=True, capture_output=True, text=True).stdout.splitlines()
    name, _, about = lines[0].partition(": ")
    page = header(name, 1, version) + [".SH NAME", plain(f"{name} - {about}")]
    usages = [line.removeprefix("usage: ") for line in lines if line.startswith("usage: ")]
    page += [".SH SYNOPSIS", ".nf", *map(bold, usages), ".fi", ".SH DESCRIPTION"]
    options = False
    for line in lines[1:]:
        text = line.strip()
        if not text:
            continue
        if line.startswith("usage: "):
            page += [".TP", bold(text.removeprefix("usage: "))]
        elif line.startswith("      "):
            page.append(plain(text))
        elif line.startswith("  "):
            page += [".TP", bold(text)]
        elif " --help " in text:
            page += [".PP", plain(text) + "."]
        else:
            page += [] if options else [".SH OPTIONS"]
            page += [f'.SS "{plain(text)}"']
            options = True
    return page + [".SH SEE ALSO", f"{bold('mezzanine')}(7)"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--version", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("what")
    given = parser.parse_args()
    if given.what == "mezzanine":
        page, file = mezzanine(given.version), given.output / "man7" / "mezzanine.7"
    else:
        page, file = program(given.what, given.version), given.output / "man1" / f"{Path(given.what).name}.1"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
