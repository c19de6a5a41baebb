// SPDX-License-Identifier: Apache-2.0
// What an answer of mezz_plan says (docs/reference/plan.md, "The JSON"), and the prices that its reader turns.
// ---- What the answer says -----------------------------------------------------------------------------------------

const book = result.price_book || {};
const costItems = result.cost_items || [];
const targets = result.targets || [];
const plans = (result.plans || []).map((plan, index) => Object.assign({index}, plan));
const baseline = plans[result.baseline];
const money = formatted((value) => {
  const text = Math.abs(value) < 100 ? digits(value) : Math.round(value).toLocaleString('en-US');
  return `${text} ${book.currency || ''}`.trim();
});
const years = formatted((value) => `${plain(value)} year${value === 1 ? '' : 's'}`);
const cap = (text) => text.charAt(0).toUpperCase() + text.slice(1);
const of = (bracket) => (bracket && typeof bracket === 'object' ? bracket.value : bracket);
const between = (format) => (bracket) =>
    (bracket && isNumber(bracket.low) && isNumber(bracket.high) && bracket.low !== bracket.high ?
         html(
             'span', {}, format(bracket.value),
             html('span', {class: 'range'}, `${format(bracket.low)}\u2013${format(bracket.high)}`)) :
         format(of(bracket)));

const FORMATS = {
  us: time,
  '/s': (v) => `${count(v)}/s`,
  'B/s': perSecond,
  years,
  W: (v) => `${plain(v)} W`
};
const targetValue = (target, value) =>
    (target.metric === 'cost' ? money(value) : (FORMATS[target.unit] || plain)(value));
const ITEM_NAMES = {
  dram: 'DRAM',
  scm: 'SCM',
  flash: 'flash',
  cpu: 'processors',
  chassis: 'chassis',
  energy: 'energy',
  qualification: 'qualification',
};
const itemName = (name) => ITEM_NAMES[name] || name;

// ---- What the reader turned ---------------------------------------------------------------------------------------

const STEPS = 40;  // of a price slider, to either side of the listed price
const EIGHTFOLD = 3;
const factorAt = (step) => 2 ** ((EIGHTFOLD * step) / STEPS);
const factors = Object.fromEntries(costItems.map((item) => [item.name, 1]));
const isAsListed = () => Object.values(factors).every((factor) => factor === 1);

const stepCost = (step) => step.items.reduce((cost, item) => cost * (factors[item] ?? 1), step.amount);
const costOfSteps = (steps) => steps.reduce((sum, step) => sum + stepCost(step), 0);
const costOf = (plan) => costOfSteps(plan.cost.steps);
const boundOf = (target) =>
    (target.metric === 'cost' && target.of_baseline && baseline ?
         target.bound * (costOf(baseline) / baseline.cost.total) :
         target.bound);
const isBeyond = (target, value) => (target.at_least ? value < boundOf(target) : value > boundOf(target));
const missedTargets = (plan) => targets.filter(
    (target, i) =>
        (target.metric === 'cost' ? isBeyond(target, costOf(plan)) : plan.slack[i] !== null && plan.slack[i] < 0));
const meets = (plan) => missedTargets(plan).length === 0;
const least = (list, value) => list.reduce((best, one) => (best && value(best) <= value(one) ? best : one), undefined);
const cheapest = () => least(plans.filter(meets), costOf);
// None of them is both dearer and no better: `value` is to be high, or low if `sign` is -1.
const frontier = (value, sign) => {
  const good = (plan) => (isNumber(value(plan)) ? sign * value(plan) : -Infinity);
  let most = -Infinity;
  return [...plans].sort((a, b) => costOf(a) - costOf(b) || good(b) - good(a)).filter((plan) => {
    const better = good(plan) > most;
    most = Math.max(most, good(plan));
    return better;
  });
};

const changes = [];
// What must change with a slider: called each time, and once at first.
const onChange = (change) => {
  changes.push(change);
  change();
};
const changed = () => {
  changes.forEach((change) => change());
  redraw(true);
};

// ---- Controls -----------------------------------------------------------------------------------------------------

let controls = 0;
// text: value -> what is said of it. Returns the element; `set(value)` moves the slider as its reader would.
const slider = (name, {label, hint, min, max, value, text}, turned) => {
  const id = `slider-${++controls}`;
  const input = html('input', {type: 'range', id, name, min, max, step: 1, value});
  const output = html('output', {for: id
  });
  const say = () => {
    output.textContent = text(Number(input.value));
    input.setAttribute('aria-valuetext', output.textContent);
  };
  input.addEventListener('input', () => {
    turned(Number(input.value));
    say();
    changed();
  });
  say();
  const box = html('div', {class: 'control'}, html('label', {for: id
                   }, label), output, input, hint ? html('span', {class: 'hint', id: `${id}-hint`}, hint) : null);
  if (hint) input.setAttribute('aria-describedby', `${id}-hint`);
  const set = (to) => {
    input.value = to;
    turned(to);
    say();
  };
  return {box, set};
};

const factorText = (factor) => (factor === 1 ? 'as listed' : `${factor.toFixed(2)}\u00d7`);
// Of ordered media both: the fast one is `scm`.
const bytesOf = (plan, name) => plan[name].bytes + (name === 'scm' && plan.slow_scm ? plan.slow_scm.bytes : 0);
const stepsOf = (plan, name) => plan.cost.steps.filter((step) => step.items[0] === name);
const pricePerGb = (name) => {
  const plan = plans.find((one) => one[name]);
  if (!plan) return undefined;
  const steps = stepsOf(plan, name);
  return steps.length ? (costOfSteps(steps) / bytesOf(plan, name)) * 2 ** 30 : undefined;
};
const perGb = (name) => (['dram', 'scm', 'flash'].includes(name) ? pricePerGb(name) : undefined);

const itemHint = (item) => {
  const range =
      item.low === item.high ? '' : `the book allows ${item.low.toFixed(2)}\u00d7 to ${item.high.toFixed(2)}\u00d7`;
  const parts = [item.assumed ? 'assumed, no public price' : '', range, item.source || ''].filter((text) => text);
  return cap(parts.join('; '));
};
const priceSliders = costItems.map(
    (item) => slider(
        `price-${item.name}`, {
          label: cap(item.label || `price of ${itemName(item.name)}`),
          hint: itemHint(item),
          min: -STEPS,
          max: STEPS,
          value: 0,
          text: (step) => {
            const each = perGb(item.name);
            return factorText(factorAt(step)) + (each === undefined ? '' : `, ${money(each)} a GiB`);
          },
        },
        (step) => (factors[item.name] = factorAt(step))));

const verdict = () => {
  const box = html('div', {class: 'verdict', role: 'status', 'aria-live': 'polite'});
  onChange(() => {
    const best = cheapest();
    const listed = plans[result.cheapest];
    box.classList.toggle('none', !best);
    if (!best) {
      box.replaceChildren(
          html('p', {class: 'best'}, 'No listed plan meets the targets.'),
          p(result.blocked_text || 'The table below says what each misses.'));
      return;
    }
    const base = baseline && costOf(baseline);
    const share = baseline ? 1 - costOf(best) / base : 0;
    box.replaceChildren(
        html('p', {class: 'best'}, `Cheapest that meets the targets: `, html('b', {}, best.name)),
        p(`${money(costOf(best))} a host over ${years(book.years)}` +
          (baseline ? `; the baseline ${money(base)}, so ${percent(Math.abs(share))} ` +
                   `${share < 0 ? 'more' : 'less'}` :
                      '') +
          '.'),
        p(isAsListed()        ? 'Prices as listed.' :
              !listed         ? 'Prices turned.' :
              best === listed ? 'Prices turned; the choice stays.' :
                                `Prices turned; as listed it is ${listed.name}.`));
  });
  return box;
};

const prices = () => {
  if (costItems.length === 0) return null;
  const reset = html('button', {type: 'button', id: 'reset'}, 'All prices as listed');
  reset.addEventListener('click', () => {
    priceSliders.forEach((one) => one.set(0));
    changed();
  });
  return section(
      'Turn the prices',
      p('Each slider multiplies what it names in every plan, from an eighth to eight times. The answer, the frontier and ' +
        'the tables follow. Only the plans of this report are compared: far from the listed prices ask mezz_plan again.'),
      html('div', {class: 'controls'}, ...priceSliders.map(({box}) => box)),
      html('div', {class: 'bar-of-buttons'}, reset), verdict());
};
