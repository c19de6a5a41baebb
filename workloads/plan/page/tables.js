// SPDX-License-Identifier: Apache-2.0
// How sure the answer is, and its tables.
// ---- How sure -----------------------------------------------------------------------------------------------------

const drawSensitivity = (list) => (width) => {
  const narrow = width < 520;
  const step = narrow ? 54 : 40;
  const left = narrow ? 8 : 130;
  const [low, high] = [1 / 8, 8];
  const clamp = (factor, none) => Math.min(high, Math.max(low, factor ?? none));
  const x = (factor) => linear(Math.log2(low), Math.log2(high), left + 8, width - 16)(Math.log2(factor));
  const y = (i) => i * step + (narrow ? 36 : 20);
  const bottom = list.length * step + 6;
  return canvas(
      width, bottom + 36,
      ...[1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8].flatMap(
          (tick) =>
              [svg('path', {class: 'grid', d: `M${x(tick)} 0V${bottom}`}),
               svg('text', {class: 'soft', x: x(tick), y: bottom + 14, 'text-anchor': 'middle'},
                   `${tick < 1 ? `1/${1 / tick}` : tick}\u00d7`),
  ]),
      ...list.flatMap((one, i) => {
        const item = costItems.find(({name}) => name === one.item) || {low: 1, high: 1};
        return [
          svg('text', narrow ? {x: left, y: i * step + 18} : {x: left - 10, y: y(i) + 4, class: 'value'},
              cap(itemName(one.item))),
          svg('path', {class: 'track', d: `M${x(low)} ${y(i)}H${x(high)}`}),
          svg('path', {class: 'stays', d: `M${x(clamp(one.low, low))} ${y(i)}H${x(clamp(one.high, high))}`}),
          svg('path',
              {class: 'book', d: `M${x(clamp(item.low, 1))} ${y(i) - 7}v14m0 -7H${x(clamp(item.high, 1))}m0 -7v14`}),
          svg('circle', {class: 'now', cx: x(clamp(factors[one.item], 1)), cy: y(i), r: 5}),
        ];
      }),
      svg('text', {class: 'soft', x: (left + width) / 2, y: bottom + 32, 'text-anchor': 'middle'},
          'times the listed price, logarithmic'));
};

const sure = () => {
  const list = result.sensitivity || [];
  const said = [result.growth, result.flatter, result.break_even].map((one) => one && one.text).filter((text) => text);
  if (list.length === 0 && said.length === 0) return null;
  const texts = list.map((one) => one.text || `${itemName(one.item)}: ${one.low ?? 0} to ${one.high ?? 'any'}`);
  return section(
      'How sure',
      list.length === 0 ?
          '' :
          figure(
              'How far one price can go, all others as listed, before another plan is the cheapest: the thick bar. The ' +
                  'thin one is the book\u2019s own range, the ring where its slider stands.',
              drawing(`How far one price can go. ${texts.join(' ')}`, drawSensitivity(list))),
      html('ul', {class: 'plain'}, ...texts.concat(said).map((text) => html('li', {}, text))));
};

// ---- Tables -------------------------------------------------------------------------------------------------------

const live = (make) => {
  const box = html('div', {});
  onChange(() => box.replaceChildren(make()));
  return box;
};
const missed = (plan) => (meets(plan) ? '' : `misses ${missedTargets(plan).map((target) => target.text).join(', ')}`);
const planRow = (plan, best) => ({
  is: plan === best ? 'is-best' :
      meets(plan)   ? '' :
                      'misses',
  cells: [
    plan.name,
    money(costOf(plan)),
    baseline ? percent(costOf(plan) / costOf(baseline) - 1) : NONE,
    between(count)(plan.throughput),
    between(time)(plan.p99_us),
    percent(plan.dram_hit),
    withMedia(plan, percent(plan.scm_hit), ({name, hit}) => `${name} ${percent(hit)}`),
    percent(plan.miss),
    percent(plan.cpu_share),
    plain(plan.watts),
    withMedia(
        plan, isNumber(plan.lifetime_years) ? years(plan.lifetime_years) : NONE,
        ({name, lifetime_years: lasts}) => `${name} ${isNumber(lasts) ? years(lasts) : 'for ever'}`),
    plan.bottleneck || NONE,
    missed(plan) || (plan.sure ? 'meets all, surely' : 'meets all'),
  ],
});
const allPlans = () =>
    section('All plans', live(() => {
              const best = cheapest();
              return table(
                  'plans by cost',
                  [
                    'plan', 'cost of a host', 'to the baseline', 'operations/s', 'P99', 'in DRAM', 'in SCM', 'missed',
                    'CPU', 'watts', 'SCM lasts', 'limited by', 'targets'
                  ],
                  [...plans].sort((a, b) => costOf(a) - costOf(b)).map((plan) => planRow(plan, best)), 'plans');
            }));

const bill = () => section(
    'The bill', live(() => {
      const shown =
          [cheapest() || plans[result.nearest], baseline].filter((plan, i, list) => plan && list.indexOf(plan) === i);
      const lines = shown.flatMap(
          (plan) =>
              [{is: 'is-best', cells: [plan.name, money(plan.cost.total), money(costOf(plan))]},
               ...plan.cost.steps.map((step) => [step.text, money(step.amount), money(stepCost(step))]),
      ]);
      return table('the bill of a host', ['for one host', 'as listed', 'with the sliders'], lines, 'plans');
    }));

const nextDollars = () => {
  const list = (result.next_dollars || []).filter((next) => plans[next.from] && plans[next.to]);
  if (list.length === 0) return null;
  return section(
      'What each further dollar buys', p('Along the frontier, with prices as listed.'),
      table(
          'steps along the frontier',
          ['to', 'costs more', 'operations/s more', 'P99 less', `operations/s for a ${book.currency || 'unit'}`],
          list.map(
              (next) =>
                  [plans[next.to].name, money(next.cost), count(next.throughput),
                   time(Math.round(-10 * next.p99_us) / 10 || 0), plain(next.throughput_per_cost)]),
          'plans'));
};

const noPurchase = () => {
  const {no_purchase: found} = result;
  if (!found) return null;
  const parts = valueText(found.text).replace(/^no purchase: /, '');
  const line = (split, i) => ({
    is: i === found.best && found.uri ? 'is-best' :
        split.feasible                ? '' :
                                        'misses',
    cells: [
      `${bytes(split.dram_bytes)} + ${bytes(split.packed_bytes)} packed`,
      plain(split.pack_ratio),
      count(of(split.throughput)),
      time(of(split.mean_us)),
      time(of(split.p99_us)),
      percent(split.miss),
      split.sure         ? 'meets all, surely' :
          split.feasible ? 'meets all' :
                           'misses some',
    ],
  });
  const splits = found.splits || [];
  return section(
      'No purchase: the memory you have', p(`${cap(parts)}.`),
      splits.length ? table(
                          'ways to part the memory',
                          ['DRAM and packed', 'packs', 'operations/s', 'mean', 'P99', 'missed', 'targets'],
                          splits.map(line), 'splits') :
                      null,
      found.uri ? html('pre', {}, found.uri) : null);
};

const alternatives = () => {
  const list = result.alternatives || [];
  const best = plans[result.cheapest];
  if (list.length === 0) return null;
  const used = best && {
    policy: `${workload.policy}, as planned`,
    server: best.name,
    cost: best.cost.total,
    throughput: of(best.throughput),
    p99_us: of(best.p99_us),
    miss: best.miss,
    feasible: true,
  };
  const row = (one) => ({
    is: one.feasible ? '' : 'misses',
    cells: [
      one.policy,
      one.server,
      money(one.cost),
      best ? percent(one.cost / best.cost.total - 1) : NONE,
      count(one.throughput),
      time(one.p99_us),
      percent(one.miss),
      one.feasible ? 'meets all' : 'nothing does; nearest',
    ],
  });
  return section(
      'Other uses of the same modules',
      p('The cheapest server that meets the targets if its DRAM and SCM are used otherwise, as listed.'),
      table(
          'other uses',
          ['use', 'cheapest', 'cost of a host', 'to the plan', 'operations/s', 'P99', 'missed', 'targets'],
          [...(used ? [used] : []), ...list].map(row), 'plans'));
};

const fleet = () => {
  const {fleet: all} = result;
  if (!all || !(all.hosts > 1)) return null;
  return section(
      'The fleet',
      p(`${count(all.hosts)} hosts cost ${money(all.total)} over ${years(book.years)}, ${money(all.saving)} (${
            percent(all.saving_share)}) less ` +
        `than ${money(all.baseline_total)} for as many of the baseline, and draw ${
            plain(all.watts / 1e3)} kW instead of ` +
        `${plain(all.baseline_watts / 1e3)}. The baseline\u2019s throughput takes ${
            count(all.hosts_for_baseline_throughput)} of them.`));
};

const configure = () => (!result.uri ? null : section('What configures it', html('pre', {}, result.uri)));

const sizesTable = () => {
  if (drams.length === 0) return null;
  return html(
      'details', {}, html('summary', {}, 'Share of look-ups that miss, by sizes, as figures'),
      table(
          'DRAM', ['DRAM', ...scms.map((size) => (size ? `${bytes(size)} SCM` : 'no SCM'))],
          drams.map((size, i) => [bytes(size), ...scms.map((_, j) => percent(cellOf('miss', i, j)))]), 'wide'));
};
