# SPDX-License-Identifier: Apache-2.0
"""OPTIONS files: those we write for RocksDB, and what RocksDB makes of them."""
import configparser
import re

from tuning import files

DB, FAMILY, TABLE = "DBOptions", 'CFOptions "default"', 'TableOptions/BlockBasedTable "default"'
SECTIONS = (DB, FAMILY, TABLE)
# db_bench's own listener, which no other program knows, and what is this machine's.
NOT_KEPT = ("listeners", "env", "db_log_dir", "wal_dir")


def parse(text):
    """{section: {option: value}} of an OPTIONS file."""
    parser = configparser.RawConfigParser(delimiters=("=",), comment_prefixes=("#",), strict=False)
    parser.optionxform = str
    parser.read_string(text)
    return {section: dict(parser[section]) for section in parser.sections()}


def render(sections, version):
    lines = ["[Version]", f"  rocksdb_version={version}", "  options_file_version=1.1", ""]
    for section in SECTIONS:
        lines += [f"[{section}]", *(f"  {name}={value}" for name, value in sections.get(section, {}).items()), ""]
    return "\n".join(lines)


def section_of(name, known):
    """Where RocksDB writes an option; None where it knows none of the name."""
    return next((section for section in SECTIONS if name in known.get(section, {})), None)


def from_settings(settings, known, version):
    """An OPTIONS file of these settings alone: RocksDB takes its own defaults for the rest."""
    sections = {}
    for name, given in settings.options.items():
        sections.setdefault(section_of(name, known), {})[name] = given.value
    return render(sections, version)


def portable(text):
    """An OPTIONS file that RocksDB wrote, for other programs: without what only db_bench, or this machine, knows."""
    kept = [line for line in text.splitlines() if line.strip().split("=")[0] not in NOT_KEPT]
    return "\n".join(line.rstrip() for line in kept).rstrip("\n") + "\n"


def same(asked, written):
    """Whether RocksDB wrote the value asked for: numbers in any form, structures that hold what was asked."""
    try:
        return float(asked) == float(written)
    except ValueError:
        pass
    parts = [part for part in re.split(r"[{};]", asked) if part]
    return all(part in written for part in parts) if parts else written in ("", "{}")


def unknown(settings, known):
    """A sentence for each option that RocksDB does not know."""
    names = [name for section in SECTIONS for name in known.get(section, {})]
    for name, given in settings.options.items():
        if section_of(name, known) is None:
            yield f"{given.at}: RocksDB knows no option {name}{files.nearest(name, names)}"


def not_taken(settings, written):
    """A sentence for each option that RocksDB wrote otherwise than it was given."""
    for name, given in settings.options.items():
        got = written[section_of(name, written)][name]
        if not same(given.value, got):
            yield f"{given.at}: RocksDB does not take {name}={given.value} here: it made {got} of it"
