# SPDX-License-Identifier: Apache-2.0
"""When a knob is accepted (Ouaknine, Agra and Guz, ICCDA'17, 3: the target improves and no other workload degrades).

Throughput of the candidate is divided by that of the best settings so far, measured side by side in the same round. A
workload has improved if the median of these ratios exceeds its noise, and degraded if its inverse does. Noise is what
the same median does where nothing changed: the base over itself, more often than a knob is, and of all medians of as
many rounds as a knob gets the one that is farthest off. Small losses add up: a knob is also rejected where it and those
accepted before it have together lost more than noise.
"""
import math
import statistics

NOISE_LEAST = 1.02  # of few rounds that happened to agree; issue 11: no workload worse than 0.98 x


def equal_rounds(rounds):
    """How often the base runs beside itself: so often that one round alone does not make the noise."""
    return 2 * rounds - 1


def noise_of(ratios, rounds):
    """How far, as a factor of at least 1, the median of any `rounds` of these ratios of equals is off."""
    ordered = sorted(ratios)
    least, most = statistics.median(ordered[:rounds]), statistics.median(ordered[-rounds:])
    return max(NOISE_LEAST, most, 1 / least)


def median_most(ratios, rounds):
    """The greatest median that `rounds` ratios, of which these are the first, can come to."""
    return statistics.median([*ratios, *[math.inf] * (rounds - len(ratios))])


def why_rejected(ratios, rounds, noise, target, carried):
    """Why the knob is rejected whatever the rounds to come bring, or None: accepted once all have come.

    ratios   {workload: [candidate over best so far, a round each]}; a workload that is not there has not changed
    noise    {workload: factor >= 1}
    carried  {workload: what the knobs accepted so far made of it, over the base}
    """
    for workload, values in ratios.items():
        if workload == target:
            continue
        most = median_most(values, rounds)
        if most < 1 / noise[workload]:
            return f"{workload} degrades to {most:.2f} at best, beyond noise of {noise[workload] - 1:.1%}"
        if carried[workload] * most < 1 / noise[workload]:
            return (f"{workload} degrades to {carried[workload] * most:.2f} at best together with knobs accepted "
                    f"before, beyond noise of {noise[workload] - 1:.1%}")
    most = median_most(ratios[target], rounds) if target in ratios else 1
    if most <= noise[target]:
        return f"{target} does not improve beyond noise of {noise[target] - 1:.1%}"
    return None
