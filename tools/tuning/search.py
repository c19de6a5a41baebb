# SPDX-License-Identifier: Apache-2.0
"""The way through the knobs: one by one, each beside the best settings so far, and at the end the best beside the base.

`measure(settings, seed, only)` gives ({workload: operations a second}, effects), of the workloads `only` or of all if
that is None; it may raise `Failed`, which rejects a knob and ends the tuning if the base itself failed.
"""
import dataclasses
import statistics

import db_bench
import progress
from tuning import files, rule

CANDIDATE, BEST = "candidate", "best"
NOT_TRIED = "not tried: the time was over"


class Failed(Exception):
    """A run that did not end well."""


@dataclasses.dataclass
class Comparison:
    """Of two settings, round by round: {workload: [operations a second]} of each, and the effects of each."""
    rates: dict
    effects: dict
    ratios: dict

    def median(self, workload):
        return statistics.median(self.ratios[workload])


@dataclasses.dataclass
class Outcome:
    """Of one knob. `why` is "" if it was accepted; `comparison` None if a run failed."""
    knob: files.Knob
    accepted: bool
    why: str
    comparison: Comparison

    def verdict(self):
        if self.accepted:
            return "accepted"
        return self.why if self.why == NOT_TRIED else f"rejected: {self.why}"


@dataclasses.dataclass
class Tuned:
    noise: dict
    equals: Comparison
    outcomes: list
    best: files.Settings
    confirmed: Comparison  # the best over the base; None if nothing was accepted
    lost: str              # "" or what the accepted knobs together have lost, beyond noise


def touched(settings):
    """The workloads that these settings can change: None for all. What sets one workload alone leaves others be."""
    return None if settings.options or settings.flags else set(settings.workloads)


def compare(measure, candidate, best, rounds, seed, only=None, enough=lambda ratios: False):
    """Both in each round, who comes first alternating. Ends early when `enough` of the ratios so far says so."""
    settings = {CANDIDATE: candidate, BEST: best}
    rates, effects, ratios, number_before = {who: {} for who in settings}, {who: [] for who in settings}, {}, 0
    for number, who in db_bench.interleaved(rounds, [BEST, CANDIDATE]):
        if number != number_before and enough(ratios):
            break
        number_before = number
        measured, effect = measure(settings[who], seed + 10 * number, only)
        effects[who].append(effect)
        for workload, rate in measured.items():
            rates[who].setdefault(workload, []).append(rate)
        if len(effects[CANDIDATE]) == len(effects[BEST]):
            ratios = {workload: [one / other for one, other in zip(rates[CANDIDATE][workload], rates[BEST][workload])]
                      for workload in rates[BEST]}
    return Comparison(rates, effects, ratios)


def medians(seen):
    return ", ".join(f"{workload} {seen.median(workload):.2f}" for workload in seen.ratios)


def judge(measure, knob, best, rounds, seed, noise, target, carried):
    """The Outcome of one knob."""
    def why(ratios):
        return rule.why_rejected(ratios, rounds, noise, target, carried)
    try:
        seen = compare(measure, knob.settings.over(best), best, rounds, seed, touched(knob.settings), why)
    except Failed as failed:
        return Outcome(knob, False, f"a run failed: {failed}", None)
    rejected = why(seen.ratios)
    return Outcome(knob, rejected is None, rejected or "", seen)


def tune(measure, plan, seed=1, say=lambda line: None, late=lambda: False):
    """The whole method. Raises Failed if the base does not run. Once `late()`, no further knob is begun."""
    equals = compare(measure, plan.base, plan.base, rule.equal_rounds(plan.rounds), seed)
    noise = {workload: rule.noise_of(ratios, plan.rounds) for workload, ratios in equals.ratios.items()}
    say("noise: " + ", ".join(f"{workload} {factor - 1:.1%}" for workload, factor in noise.items()))
    best, outcomes, carried = plan.base, [], {workload: 1.0 for workload in noise}
    for number, knob in progress.each(list(enumerate(plan.knobs, 1)), "tools/tune", "knobs"):
        outcome = Outcome(knob, False, NOT_TRIED, None) if late() else judge(
            measure, knob, best, plan.rounds, seed + 1000 * number, noise, plan.target, carried)
        outcomes.append(outcome)
        say(f"{knob.name}: {outcome.verdict()}" +
            (f" ({medians(outcome.comparison)})" if outcome.comparison else ""))
        if outcome.accepted:
            best = knob.settings.over(best)
            carried.update({workload: carried[workload] * outcome.comparison.median(workload)
                            for workload in outcome.comparison.ratios})
    if best is plan.base:
        return Tuned(noise, equals, outcomes, best, None, "")
    confirmed = compare(measure, best, plan.base, plan.rounds, seed + 1000 * (len(plan.knobs) + 1))
    say(f"accepted over base: {medians(confirmed)}")
    lost = rule.why_rejected(confirmed.ratios, plan.rounds, noise, plan.target, {name: 1.0 for name in noise})
    return Tuned(noise, equals, outcomes, best, confirmed, lost or "")
