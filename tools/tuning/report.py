# SPDX-License-Identifier: Apache-2.0
"""What tools/tune found, as JSON and as Markdown for people."""
import dataclasses
import statistics

from tuning import search

EFFECTS = (("write_amplification", "WA"), ("read_amplification", "RA"), ("space_amplification", "SA"),
           ("stall_s", "stalls s"))


def spread(ratios):
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f}-{max(ratios):.2f})"


def plain(settings):
    """Settings without the lines they came from."""
    return {"options": {name: given.value for name, given in settings.options.items()},
            "flags": {name: given.value for name, given in settings.flags.items()}, "workloads": settings.workloads}


def comparison(seen):
    return None if seen is None else dataclasses.asdict(seen)


def as_json(plan, tuned, crossover):
    return {"target": plan.target, "keys": plan.keys, "key_bytes": plan.key_bytes, "value_bytes": plan.value_bytes,
            "rounds": plan.rounds, "device": plan.device, "base": plain(plan.base), "best": plain(tuned.best),
            "noise": tuned.noise, "equals": comparison(tuned.equals), "lost": tuned.lost,
            "confirmed": comparison(tuned.confirmed), "left_out": plan.left_out, "crossover": crossover,
            "knobs": [{"name": outcome.knob.name, "sets": plain(outcome.knob.settings), "accepted": outcome.accepted,
                       "why": outcome.why, "published": outcome.knob.published,
                       "comparison": comparison(outcome.comparison)} for outcome in tuned.outcomes]}


def effect(seen, who, name):
    values = [getattr(effects, name) for effects in seen.effects[who]]
    return statistics.median(values) if values else float("nan")


def effects_of(seen):
    """What changed from the best so far to the candidate, figure by figure."""
    return " | ".join(f"{effect(seen, search.BEST, name):.2f} -> {effect(seen, search.CANDIDATE, name):.2f}"
                      for name, _ in EFFECTS)


def said(values):
    return ", ".join(f"{name}={value}" for name, value in values.items())


def sets(settings):
    texts = [f"`{name}={given.value}`" for name, given in {**settings.options, **settings.flags}.items()]
    texts += [f"{workload}: {said(values)}" for workload, values in settings.workloads.items() if values]
    return ", ".join(texts[:3] + ([f"and {len(texts) - 3} more"] if len(texts) > 3 else []))


def published(words):
    change = f"{words['from']} to {words['to']}: " if "from" in words and "to" in words else ""
    return f"{change}{words.get('gain', '')}; {words.get('verdict', '')}".strip("; ")


def knob_rows(plan, tuned, workloads):
    yield ("| knob | sets | " + " | ".join(workloads) + " | verdict | published | " +
           " | ".join(short for _, short in EFFECTS) + " |")
    yield "|---|---|" + "---:|" * len(workloads) + "---|---|" + "---|" * len(EFFECTS)
    for outcome in tuned.outcomes:
        seen = outcome.comparison
        found = seen.ratios if seen else {}
        ratios = [spread(found[name]) if name in found else "" for name in workloads]
        verdict = "**accepted**" if outcome.accepted else outcome.verdict()
        yield (f"| {outcome.knob.name} | {sets(outcome.knob.settings)} | {' | '.join(ratios)} | {verdict} | "
               f"{published(outcome.knob.published)} | {effects_of(seen) if seen else ' | ' * (len(EFFECTS) - 1)} |")
    for left in plan.left_out:
        yield (f"| {left['name']} | | {' | ' * (len(workloads) - 1)} | left out: {left['why']} | "
               f"{published(left['published'])} | {' | ' * (len(EFFECTS) - 1)} |")


def crossover_rows(crossover):
    yield ""
    yield ("Reading the master for a replication, keys/s of the whole database, by the share of values that lie on "
           f"flash (the rest is in RAM and is not read). By iterator: {crossover['sequential']:.0f}.")
    yield ""
    yield "| on flash | by key at random | over iterator |"
    yield "|---:|---:|---:|"
    for share, rate in crossover["random"]:
        yield f"| {share:.0%} | {rate:.0f} | {rate / crossover['sequential']:.2f} |"


def crossing(crossover):
    """The share on flash from which the iterator is faster, between those measured; None if it is nowhere."""
    before = None
    for share, rate in sorted(crossover["random"]):
        over = rate / crossover["sequential"]
        if over < 1:
            if before is None:
                return share
            return before[0] + (share - before[0]) * (before[1] - 1) / (before[1] - over)
        before = share, over
    return None


def verdict_lines(plan, tuned):
    if tuned.confirmed is None:
        return ["No knob was accepted: the base stands."]
    names = [outcome.knob.name for outcome in tuned.outcomes if outcome.accepted]
    lines = [f"Accepted, in this order: {', '.join(names)}. All of them over the base, side by side:", "",
             "| workload | base ops/s | accepted ops/s | ratio | noise |", "|---|---:|---:|---:|---:|"]
    for name, ratios in tuned.confirmed.ratios.items():
        base, best = (statistics.median(tuned.confirmed.rates[who][name]) for who in (search.BEST, search.CANDIDATE))
        target = " (target)" if name == plan.target else ""
        lines.append(f"| {name}{target} | {base:.0f} | {best:.0f} | {spread(ratios)} | {tuned.noise[name] - 1:.1%} |")
    lines += ["", "Side effects, base -> accepted: " + "; ".join(
        f"{short} {effect(tuned.confirmed, search.BEST, name):.2f} -> "
        f"{effect(tuned.confirmed, search.CANDIDATE, name):.2f}" for name, short in EFFECTS) + "."]
    if tuned.lost:
        lines += ["", f"**Not confirmed**: together, {tuned.lost}."]
    return lines


def as_markdown(plan, tuned, crossover, emulated):
    workloads = list(tuned.noise)
    where = f"modelled {plan.device}: **emulated**" if emulated else "the disk of the databases"
    lines = ["# Tuning", "",
             f"Target: {plan.target}. {plan.keys} keys of {plan.key_bytes} bytes with values of {plan.value_bytes}, "
             f"{plan.rounds} rounds, flash: {where}. Ratios are throughput over the best settings so far, in the same "
             "round: median (least-greatest). WA, RA, SA: write, read and space amplification, before -> after.", "",
             *verdict_lines(plan, tuned), "", "## Knob by knob", "",
             "Noise, from the base beside itself: " +
             ", ".join(f"{name} {spread(tuned.equals.ratios[name])}" for name in workloads) +
             ". A knob that cannot be accepted any more is not run to the last round.", "",
             *knob_rows(plan, tuned, workloads)]
    if crossover:
        share = crossing(crossover)
        lines += ["", "## By iterator or by key", *crossover_rows(crossover), "",
                  f"The iterator is faster {'nowhere' if share is None else f'from {share:.0%} on flash on'}; theirs: "
                  "from 15 % (85 % in RAM)."]
    beside = {**{name: given.value for name, given in tuned.best.flags.items()},
              **{name: said(values) for name, values in tuned.best.workloads.items() if values}}
    lines += ["", "## What the OPTIONS file does not hold", "", "Flags of db_bench and settings of workloads: " +
              "; ".join(f"`{name}`: {value}" for name, value in beside.items()) + "."]
    return "\n".join(lines) + "\n"
