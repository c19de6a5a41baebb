# SPDX-License-Identifier: Apache-2.0
"""The two files that tools/tune takes, and what is wrong with them, by file, line and name. See docs/how-to/tune.md."""
import dataclasses
import difflib
import re

import yaml

UNITS = {"B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SIZE = re.compile(r"(\d+)([BKMGT])$")
PERCENT = re.compile(r"(\d+(?:\.\d+)?)\s?%$")
# Options whose integers are bytes. What holds its unit in its name (_seconds, _micros, _MB) needs none.
BYTES = re.compile(r"(_size|_bytes|_size_base|_bytes_for_level_base|_bytes_limit|_bytes_per_sync|^bytes_per_sync|"
                   r"delayed_write_rate|_bytes_per_sec|_bytes_per_key|_size_to_maintain)$")
# Flags of db_bench that say something although options come from a file; most others are ignored then, silently.
FLAGS = ("async_io", "auto_readahead_size", "batch_size", "cache_numshardbits", "cache_size", "cache_type", "cache_uri",
         "disable_wal", "fill_cache", "rate_limiter_bytes_per_sec", "readahead_size", "row_cache_size",
         "secondary_cache_uri", "sync", "verify_checksum")
COUNT, SHARE, ORDER = "a whole number from 1", "a share such as 10%", "sequential or random"
PARAMETERS = {"populate": {}, "read": {"share": SHARE, "threads": COUNT, "times": COUNT},
              "mixed": {"reads": SHARE, "share": SHARE, "threads": COUNT},
              "replication": {"order": ORDER, "readers": COUNT}}
NEEDED = ("keys", "key_size", "value_size", "target", "workloads")
MAY_STAND = {"workloads file": (*NEEDED, "rounds", "device", "crossover"),
             "knobs file": ("base", "knobs", "left_out"), "base": ("options", "flags"),
             "knob": ("name", "options", "flags", "workloads", "published"), "left_out": ("name", "why", "published"),
             "published": ("from", "to", "gain", "verdict")}
DEVICES = ("sata_ssd", "nvme_flash", "xpoint_ssd", "none")


class Refused(Exception):
    """What is wrong with the files: a sentence each, with file and line."""

    def __init__(self, complaints):
        super().__init__("\n".join(complaints))
        self.complaints = complaints


@dataclasses.dataclass
class Given:
    """A value as RocksDB or db_bench takes it, and where it was given."""
    value: str
    at: str


@dataclasses.dataclass
class Settings:
    """Of a database and the workloads on it. {name: Given}; workloads: {workload: {parameter: value}}."""
    options: dict = dataclasses.field(default_factory=dict)
    flags: dict = dataclasses.field(default_factory=dict)
    workloads: dict = dataclasses.field(default_factory=dict)

    def over(self, base):
        """These, and those of `base` where these say nothing."""
        names = {*base.workloads, *self.workloads}
        return Settings({**base.options, **self.options}, {**base.flags, **self.flags},
                        {name: {**base.workloads.get(name, {}), **self.workloads.get(name, {})} for name in names})


@dataclasses.dataclass
class Knob:
    name: str
    at: str
    settings: Settings
    published: dict


@dataclasses.dataclass
class Plan:
    keys: int
    key_bytes: int
    value_bytes: int
    rounds: int
    device: str
    target: str
    crossover: list
    base: Settings
    knobs: list
    left_out: list


def nearest(name, names):
    found = difflib.get_close_matches(name, names, 1)
    return f"; do you mean {found[0]}?" if found else ""


class Reader:
    """Of one file: its nodes know their lines. Complaints gather; nothing is raised before all is read."""

    def __init__(self, path, complaints):
        self.path, self.complaints = path, complaints

    def complain(self, node, text):
        self.complaints.append(f"{self.at(node)}: {text}")

    def at(self, node):
        return f"{self.path}:{node.start_mark.line + 1 if node else 1}"

    def root(self):
        try:
            with open(self.path, encoding="utf-8") as file:
                return yaml.compose(file, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as wrong:
            mark = wrong.problem_mark or wrong.context_mark
            self.complaints.append(f"{self.path}:{mark.line + 1 if mark else 1}: {wrong.problem or wrong}")
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as wrong:
            self.complaints.append(f"{self.path}: {getattr(wrong, 'strerror', None) or wrong}")
        return None

    def mapping(self, node, what, names=None):
        """{name: (node of the name, node of the value)}; `names`: those that may stand here."""
        if node is None or (isinstance(node, yaml.ScalarNode) and node.value == ""):
            return {}
        if not isinstance(node, yaml.MappingNode):
            self.complain(node, f"{what} is no mapping of names to values")
            return {}
        found = {}
        for key, value in node.value:
            if key.value in found:
                self.complain(key, f"{what} names {key.value} twice")
            elif names is not None and key.value not in names:
                self.complain(key, f"{what} knows no {key.value}{nearest(str(key.value), names)}; it takes "
                                   f"{', '.join(names) or 'nothing'}")
            else:
                found[key.value] = (key, value)
        return found

    def items(self, node, what):
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self.complain(node, f"{what} is no list")
            return []
        return node.value

    def text(self, node, what):
        if not isinstance(node, yaml.ScalarNode):
            self.complain(node, f"{what} is no single value")
            return ""
        return node.value

    def size(self, node, what):
        text = self.text(node, what)
        if match := SIZE.match(text):
            return int(match[1]) * UNITS[match[2]]
        self.complain(node, f"{what}: {text} has no unit; say B, K, M, G or T behind a whole number, such as 2M")
        return 0

    def number(self, node, what):
        text = self.text(node, what)
        if re.fullmatch(r"[1-9]\d*", text):
            return int(text)
        self.complain(node, f"{what}={text} is not {COUNT}")
        return 1

    def share(self, node, what):
        text = self.text(node, what)
        match = PERCENT.match(text)
        if match and 0 <= float(match[1]) <= 100:
            return float(match[1]) / 100
        self.complain(node, f"{what}: {text} is not {SHARE}; from 0% to 100%")
        return 0.0

    def parameter(self, kind, node, what):
        if kind == ORDER:
            text = self.text(node, what)
            if text not in ("sequential", "random"):
                self.complain(node, f"{what}={text} is not {ORDER}")
            return text
        return self.number(node, what) if kind == COUNT else self.share(node, what)

    def workloads(self, node, what):
        found = {}
        for name, (_, value) in self.mapping(node, what, list(PARAMETERS)).items():
            kinds = PARAMETERS[name]
            found[name] = {parameter: self.parameter(kinds[parameter], child, f"{name}.{parameter}")
                           for parameter, (_, child) in self.mapping(value, name, list(kinds)).items()}
        return found

    def values(self, node, what):
        """Options or flags: sizes become bytes, all else stays as it is written."""
        found = {}
        for name, (key, child) in self.mapping(node, what).items():
            text = self.text(child, name)
            if match := SIZE.match(text):
                text = str(int(match[1]) * UNITS[match[2]])
            elif BYTES.search(name) and re.fullmatch(r"[1-9]\d*", text):
                self.complain(child, f"{name}: {text} has no unit; say {text}B if these are bytes, or K, M, G, T")
            found[name] = Given(text, self.at(key))
        return found

    def settings(self, fields):
        flags = self.values(fields.get("flags", (None, None))[1], "flags")
        for name, given in flags.items():
            if name not in FLAGS:
                self.complaints.append(f"{given.at}: flag {name} is not one that can be tuned{nearest(name, FLAGS)}; "
                                       f"name RocksDB's options under options; flags are {', '.join(FLAGS)}")
        return Settings(self.values(fields.get("options", (None, None))[1], "options"), flags,
                        self.workloads(fields.get("workloads", (None, None))[1], "workloads"))

    def words(self, node, what):
        return {name: self.text(value, name)
                for name, (_, value) in self.mapping(node, what, MAY_STAND["published"]).items()}


def read_knobs(path, complaints):
    """(base, knobs, left out)."""
    reader = Reader(path, complaints)
    root = reader.root()
    fields = reader.mapping(root, "a knobs file", MAY_STAND["knobs file"])
    base = reader.settings(reader.mapping(fields.get("base", (None, None))[1], "base", MAY_STAND["base"]))
    knobs, left_out, lines = [], [], {}
    for node in reader.items(fields.get("knobs", (None, None))[1], "knobs"):
        inner = reader.mapping(node, "a knob", MAY_STAND["knob"])
        name = reader.text(inner["name"][1], "name") if "name" in inner else ""
        if not name:
            reader.complain(node, "a knob has no name")
        elif name in lines:
            reader.complain(node, f"knob {name} stands in line {lines[name]} already")
        lines[name] = node.start_mark.line + 1
        if not {"options", "flags", "workloads"} & {*inner}:
            reader.complain(node, f"knob {name} sets nothing: give options, flags or workloads")
        knobs.append(Knob(name, reader.at(node), reader.settings(inner),
                          reader.words(inner.get("published", (None, None))[1], "published")))
    for node in reader.items(fields.get("left_out", (None, None))[1], "left_out"):
        inner = reader.mapping(node, "left_out", MAY_STAND["left_out"])
        left_out.append({"name": reader.text(inner["name"][1], "name") if "name" in inner else "",
                         "why": reader.text(inner["why"][1], "why") if "why" in inner else "",
                         "published": reader.words(inner.get("published", (None, None))[1], "published")})
    if root is not None and not knobs:
        complaints.append(f"{path}:1: there is no knob; name some under knobs")
    return base, knobs, left_out


def read_all_knobs(paths, complaints):
    """Of several files the knobs one after the other, over the base of the first."""
    base, knobs, left_out = read_knobs(paths[0], complaints)
    for path in paths[1:]:
        _, more, left = read_knobs(path, complaints)
        for knob in more:
            if before := next((one for one in knobs if one.name == knob.name), None):
                complaints.append(f"{knob.at}: knob {knob.name} stands in {before.at} already")
        knobs, left_out = knobs + more, left_out + left
    return base, knobs, left_out


def read(workloads_path, knobs_paths):
    """The Plan. Raises Refused with all that is wrong in any file, as far as it shows without RocksDB."""
    complaints = []
    reader = Reader(workloads_path, complaints)
    root = reader.root()
    fields = reader.mapping(root, "a workloads file", MAY_STAND["workloads file"])
    for name in NEEDED:
        if root is not None and name not in fields:
            complaints.append(f"{workloads_path}:1: {name} is missing")
    workloads = reader.workloads(fields.get("workloads", (None, None))[1], "workloads")
    for name, given in workloads.items():
        for parameter in PARAMETERS[name]:
            if parameter not in given:
                reader.complain(fields["workloads"][1], f"{name}.{parameter} is missing")

    def get(name, take, otherwise):
        return take(fields[name][1], name) if name in fields else otherwise
    target, device = get("target", reader.text, ""), get("device", reader.text, "none")
    if "target" in fields and target not in workloads:
        reader.complain(fields["target"][1], f"target={target} is none of the workloads: {', '.join(workloads)}")
    if device not in DEVICES:
        reader.complain(fields["device"][1], f"device={device} is none of {', '.join(DEVICES)}")
    if "workloads" in fields and "populate" not in workloads:
        reader.complain(fields["workloads"][1], "populate is missing: it fills the database that the others use")
    base, knobs, left_out = read_all_knobs(knobs_paths, complaints)
    base.workloads = workloads
    for knob in knobs:
        for name in knob.settings.workloads:
            if name not in workloads:
                complaints.append(f"{knob.at}: knob {knob.name} sets workload {name}, which {workloads_path} has not")
    crossover = [reader.share(node, "crossover")
                 for node in reader.items(fields.get("crossover", (None, None))[1], "crossover")]
    plan = Plan(get("keys", reader.number, 1), get("key_size", reader.size, 0), get("value_size", reader.size, 0),
                get("rounds", reader.number, 3), device, target, crossover, base, knobs, left_out)
    if plan.rounds % 2 == 0:
        reader.complain(fields["rounds"][1], f"rounds={plan.rounds} is even; medians are of an odd number")
    if complaints:
        raise Refused(complaints)
    return plan
