#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the HTML report of mezz_plan shows in a browser, and what it does when its prices and capacities are turned.

    tests/browser/plan_test.py PAGE_TOOL [--screenshots=FOLDER]

Skipped, with exit status 77, where there is no Chromium: tools/install_deps browser installs it.
"""
import json
import sys

import looking
import plan_fixture
from report_fixture import HOSTILE

WIDTH, HEIGHT = looking.SIZES["laptop"]
SECTIONS = ["Turn the prices", "Cost and performance", "Capacities", "What each further dollar buys", "How sure",
            "No purchase: the memory you have", "Other uses of the same modules", "The fleet", "The bill", "All plans",
            "What configures it", "How it was planned"]


def money(value):
    return f"{value:,.0f} USD"


class Plan(looking.Looking):
    fixture = plan_fixture

    def command(self, result, page):
        return [looking.settings.tool, "plan", result, page]

    def show(self, name, width=WIDTH):
        self.browser.open(self.page(name).as_uri(), width, HEIGHT, "light")
        return getattr(plan_fixture, name)()

    def turn(self, slider, step):
        """As its reader would: the slider moves, and says so."""
        self.assertTrue(self.browser.evaluate(
            f"(() => {{ const s = document.querySelector('input[name={json.dumps(slider)}]'); "
            f" s.value = {step}; s.dispatchEvent(new Event('input', {{bubbles: true}}));"
            f" return Number(s.value) === {step}; }})()"), slider)

    def text(self, selector):
        return self.browser.evaluate(f"document.querySelector({json.dumps(selector)}).innerText")

    def said_of(self, slider):
        return self.browser.evaluate(
            f"document.querySelector('input[name={json.dumps(slider)}]').getAttribute('aria-valuetext')")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.browser.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                              windowsVirtualKeyCode={"ArrowRight": 39, "ArrowUp": 38, "Home": 36}[key])

    def cheapest(self, answer, factors, feasible=lambda plan: plan["feasible"]):
        plans = [plan for plan in answer["plans"] if feasible(plan)]
        return min(plans, key=lambda plan: plan_fixture.cost(plan, factors))

    def assert_chosen(self, answer, plan, factors):
        verdict = self.text("main section .verdict")
        self.assertIn(" ".join(plan["name"].split()), " ".join(verdict.split()))
        self.assertIn(money(plan_fixture.cost(plan, factors)), verdict)
        self.assertIn(money(plan_fixture.cost(answer["plans"][answer["baseline"]], factors)), verdict)
        best = self.text(".plans tr.is-best th")
        self.assertEqual(" ".join(best.split()), " ".join(plan["name"].split()), "the bill is of the same plan")

    def test_shows_everything_an_answer_has(self):
        answer = plan_fixture.full()
        for seen in self.views("full"):
            for heading in SECTIONS:
                self.assertIn(heading, seen["headings"])
            for text in ("less than the baseline", "older than a year", "1234",
                         "no public price stands behind: SCM, qualification", "4 years", "stays best until SCM costs",
                         "Stays best until the data is 1.3 times", "mezzanine://dram=112G", "400 hosts cost",
                         "417", "Pack what you have: 128 GiB as DRAM",
                         "128 GiB + 384 GiB packed", "4.6 %", "@dram", "memory_mode",
                         "7.0 %", "nothing does; nearest", "Assumed, no public price",
                         "prices/2026.yaml"):
                self.assertIn(text, seen["text"])
            self.assertIn(" ".join(HOSTILE.split()), " ".join(seen["text"].split()), "text of an answer stays text")
            self.assertNotIn("taken over", seen["title"])
            self.assertTrue(seen["title"].startswith("blocks.trace"))
        self.show("full")
        marks = self.browser.evaluate("document.querySelectorAll('.mark').length")
        self.assertEqual(marks, len(answer["plans"]))
        cells = self.browser.evaluate("document.querySelectorAll('.cell').length")
        self.assertEqual(cells, len(plan_fixture.DRAMS) * len(plan_fixture.SCMS))

    def test_turning_prices_finds_the_cheapest_plan_anew(self):
        answer, factors = self.show("full"), {}
        first = self.cheapest(answer, factors)
        self.assert_chosen(answer, first, factors)
        chosen = set()
        for slider, step in (("scm", 40), ("dram", -20), ("scm", -37), ("dram", 26), ("cpu", 13), ("energy", 40),
                             ("chassis", -39), ("qualification", 40), ("flash", 7)):
            self.turn(f"price-{slider}", step)
            factors[slider] = 2 ** (3 * step / 40)
            best = self.cheapest(answer, factors)
            self.assert_chosen(answer, best, factors)
            chosen.add(best["name"])
            self.assertIn(f"{factors[slider]:.2f}\u00d7", self.said_of(f"price-{slider}"))
            self.assertEqual(self.browser.complaints(), [])
        self.assertGreater(len(chosen), 1, "a price that changes the choice was among them")
        self.browser.evaluate("document.querySelector('#reset').click()")
        self.assert_chosen(answer, first, {})
        self.assertIn("as listed", self.said_of("price-scm"))

    def test_a_target_about_the_price_moves_with_it(self):
        answer = self.show("cost_target")
        baseline = answer["plans"][answer["baseline"]]
        factors, outcomes = {}, []
        for slider, step in (("dram", 0), ("dram", 20), ("dram", 40), ("scm", 40)):
            self.turn(f"price-{slider}", step)
            factors[slider] = 2 ** (3 * step / 40)
            bound = 0.85 * plan_fixture.cost(baseline, factors)
            meets = [plan for plan in answer["plans"] if min(plan["slack"][:2]) >= 0 and
                     plan_fixture.cost(plan, factors) <= bound]
            outcomes.append(bool(meets))
            if meets:
                self.assert_chosen(answer, min(meets, key=lambda plan: plan_fixture.cost(plan, factors)), factors)
            else:
                self.assertIn("No listed plan meets the targets", self.text("main section .verdict"))
        self.assertEqual(outcomes, [True, True, True, False], "DRAM is dear to the baseline, too; SCM is not")

    def test_turning_prices_moves_the_marks(self):
        self.show("full")
        place = "document.querySelector('.mark[data-key=\"0\"]').getBoundingClientRect().left"
        line = "document.querySelector('.plot .frontier').getAttribute('d')"
        before = self.browser.evaluate(place), self.browser.evaluate(line)
        self.turn("price-chassis", 40)
        after = self.browser.evaluate(place), self.browser.evaluate(line)
        self.assertNotEqual(before[0], after[0])
        self.assertNotEqual(before[1], after[1])

    def test_capacities_choose_a_pair_of_sizes(self):
        answer = self.show("full")
        surface = answer["surface"]
        for i, j in ((0, 0), (4, 0), (2, 3)):
            self.turn("size-dram", i)
            self.turn("size-scm", j)
            said = self.text("#sizes")
            for name in ("dram_hit", "scm_hit", "miss"):
                self.assertIn(f"{100 * surface[name][i][j]:.1f} %", said)
            misses = surface["throughput"][i][j] < answer["targets"][0]["bound"]
            self.assertEqual("Misses throughput" in said, misses, said)
            self.assertTrue(self.browser.evaluate(
                f"(() => {{ const cell = document.querySelector('.cell[data-key=\"{i},{j}\"] rect');"
                " const at = cell.getBoundingClientRect(),"
                " on = document.querySelector('.chosen').getBoundingClientRect();"
                " return Math.abs(at.left - on.left) < 3 && Math.abs(at.top - on.top) < 3; })()"), "the frame is there")
        # At the sizes of a plan it costs what the plan costs, whatever the prices.
        self.turn("price-scm", 20)
        plan = answer["plans"][answer["cheapest"]]
        self.turn("size-dram", plan_fixture.DRAMS.index(plan["dram"]["bytes"] // plan_fixture.GIB))
        self.turn("size-scm", plan_fixture.SCMS.index(plan["scm"]["bytes"] // plan_fixture.GIB))
        self.assertIn(f"about {money(plan_fixture.cost(plan, {'scm': 2 ** 1.5}))} a host", self.text("#sizes"))
        self.browser.evaluate("document.querySelector('.cell[data-key=\"1,2\"]').dispatchEvent(new Event('click'))")
        self.assertIn("128 GiB DRAM + 256 GiB SCM", self.text("#sizes"))
        self.assertEqual(self.said_of("size-dram"), "128 GiB")

    def test_marks_are_reached_by_keyboard_and_say_what_they_are(self):
        answer = self.show("full")
        stops = "[...document.querySelectorAll('%s')].filter((mark) => mark.tabIndex === 0).length"
        for marks in (".mark", ".cell"):
            self.assertEqual(self.browser.evaluate(stops % marks), 1, "one tab stop for all marks of a drawing")
        focused = "document.activeElement.getAttribute('aria-label')"
        self.browser.evaluate("document.querySelector('.mark[tabindex=\"0\"]').focus()")
        self.press("Home")
        order = sorted(answer["plans"], key=lambda plan: plan["cost"]["total"])
        for plan in order[:3]:
            said = self.browser.evaluate(focused)
            self.assertIn(plan["name"], said)
            self.assertIn(money(plan["cost"]["total"]), said)
            self.assertFalse(self.browser.evaluate("document.querySelector('.plot .tip').hidden"), "and shows it")
            self.assertIn(money(plan["cost"]["total"]), self.text(".plot .tip"))
            self.press("ArrowRight")
        self.browser.evaluate("document.querySelector('.cell[data-key=\"0,0\"]').focus()")
        self.press("ArrowUp")
        self.press("ArrowRight")
        self.assertIn("128 GiB DRAM + 128 GiB SCM", self.browser.evaluate(focused))
        nameless = self.browser.evaluate(
            "[...document.querySelectorAll('input, select, button')].filter((one) => !one.labels?.length &&"
            " !one.textContent.trim()).length")
        self.assertEqual(nameless, 0, "every control has a name")
        said = self.browser.evaluate("document.querySelectorAll('[role=status][aria-live=polite]').length")
        self.assertEqual(said, 2, "what changes is read out")

    def test_hovering_shows_a_plan(self):
        self.show("full")
        self.browser.evaluate("document.querySelector('.plot').scrollIntoView()")
        x, y = self.browser.evaluate(
            "(() => { const at = document.querySelector('.mark[data-key=\"0\"]').getBoundingClientRect();"
            " return [at.left + at.width / 2, at.top + at.height / 2]; })()")
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        tip = self.text(".plot .tip")
        self.assertIn("one_socket 64 GiB", tip)
        fits = self.browser.evaluate(
            "(() => { const tip = document.querySelector('.plot .tip').getBoundingClientRect();"
            " return tip.left >= 0 && tip.right <= innerWidth; })()")
        self.assertTrue(fits)
        self.browser.call("Input.dispatchMouseEvent", type="mouseMoved", x=1, y=1)
        self.assertTrue(self.browser.evaluate("document.querySelector('.plot .tip').hidden"))

    def test_ordered_media_are_told_apart_and_paid_together(self):
        answer = plan_fixture.ordered()
        plan = answer["plans"][answer["cheapest"]]
        fast, slow = (f"{100 * medium['hit']:.1f} %" for medium in plan["media"])
        for seen in self.views("ordered"):
            for text in (f"fast {fast}, slow {slow}", "fast for ever, slow 7.50 years", "of the fast medium",
                         "of the slow medium", "a fast and a slow SCM medium"):
                self.assertIn(text, seen["text"])
        self.show("ordered")
        mark = f".mark[data-key=\"{answer['cheapest']}\"]"
        self.assertIn(f"{fast} in the fast SCM; {slow} in the slow SCM",
                      self.browser.evaluate(f"document.querySelector('{mark}').getAttribute('aria-label')"))
        self.assertIn("SCM, both media, across", self.browser.evaluate("document.body.textContent"))
        both = plan["scm"]["bytes"] + plan["slow_scm"]["bytes"]
        self.turn("size-dram", plan_fixture.DRAMS.index(plan["dram"]["bytes"] // plan_fixture.GIB))
        self.turn("size-scm", plan_fixture.SCMS.index(both // plan_fixture.GIB))
        self.assertIn(f"about {money(plan['cost']['total'])} a host", self.text("#sizes"))

    def test_one_medium_is_not_told_as_two(self):
        for seen in self.views("full"):
            for absent in ("a fast and a slow SCM medium", "in the fast SCM", "both media", "for ever"):
                self.assertNotIn(absent, seen["text"])

    def test_another_measure_redraws_the_axis(self):
        self.show("full")
        for name in ("p99", "mean", "miss", "throughput"):
            before = self.browser.evaluate("document.querySelector('.plot svg').innerHTML")
            self.browser.evaluate(
                f"(() => {{ const s = document.querySelector('#measure'); s.value = '{name}';"
                " s.dispatchEvent(new Event('change')); })()")
            self.assertNotEqual(self.browser.evaluate("document.querySelector('.plot svg').innerHTML"), before, name)
            self.assertEqual(self.browser.complaints(), [])
            self.assertEqual(self.browser.evaluate(self.probe)["badNumbers"], 0)

    def test_says_that_nothing_meets_the_targets(self):
        for seen in self.views("infeasible"):
            self.assertIn("Nothing that can be bought meets the targets", seen["text"])
            self.assertIn("It reaches 0.3 of the throughput asked for.", seen["text"])
            self.assertNotIn("What configures it", seen["headings"])

    def test_leaves_out_what_an_answer_lacks(self):
        for name in ("least", "without_plans"):
            for seen in self.views(name):
                for absent in ("Capacities", "The fleet", "Turn the prices", "How sure"):
                    self.assertNotIn(absent, seen["headings"])


if __name__ == "__main__":
    sys.exit(looking.main(__doc__, "page_tool"))
