// SPDX-License-Identifier: Apache-2.0
// The page of an answer: head and foot, and the order of its parts.
const workload = result.workload || {};
const lead = () => {
  const best = plans[result.cheapest];
  if (!best) {
    const near = plans[result.nearest];
    return `Nothing that can be bought meets the targets.${near ? ` Nearest: ${near.name}.` : ''} ${
        result.blocked_text || ''}`;
  }
  const saved = baseline ? 1 - best.cost.total / baseline.cost.total : 0;
  return `Cheapest that meets the targets: ${best.name}, ${money(best.cost.total)} a host over ${years(book.years)}` +
      (!baseline || best === baseline ?
           '.' :
           `, ${percent(Math.abs(saved))} ${saved < 0 ? 'more' : 'less'} than the baseline, ${baseline.name}.`);
};
const load = result.load || {};
const facts = () => factList([
  ['prices', book.name && `${book.name}, ${book.as_of}`],
  ['targets', targets.map((target) => target.text).join('; ') || undefined],
  ['policy', workload.policy],
  [
    'footprint',
    isNumber(workload.footprint_bytes) ? bytes(workload.footprint_bytes * (workload.growth ?? 1)) : undefined
  ],
  [
    'load',
    load.loop && (load.loop === 'closed' ? `${load.threads} threads, closed loop` : `${count(load.rate)}/s, open loop`)
  ],
  ['plans considered', result.considered],
]);
const notes = () => noteList([
  ...(result.warnings || []).map((text) => [text, 'warning']),
  ...(result.asserts ? [['this is a debug build.', 'warning']] : []),
  ...(plans[result.cheapest] && plans[result.cheapest].sure === false ?
          [['the cheapest plan meets the targets by its expected figures, but not at the bad ends of their ranges.']] :
          []),
  ...(costItems.some((item) => item.assumed) && !(result.warnings || []).some((text) => text.startsWith('assumed')) ?
          [[`no public price stands behind: ${
              costItems.filter((item) => item.assumed).map((item) => itemName(item.name)).join(', ')}. Turn them.`]] :
          []),
]);

const bracket = (one) => (one ? `${plain(one.value)} ns (${plain(one.low)}\u2013${plain(one.high)})` : undefined);
const manifest = () => {
  const host = result.host || {};
  const costs = result.costs || {};
  return section(
      'How it was planned', manifestTable([
        ['command', html('code', {}, valueText(result.command_line))],
        ['time', result.time],
        ['price book', `${valueText(book.path || book.name)}, as of ${valueText(book.as_of)}`],
        ['curve', workload.curve],
        ['growth', workload.growth > 1 ? `${plain(workload.growth)} times the data of the trace` : undefined],
        ['pack', workload.pack],
        ['block', isNumber(workload.block_bytes) ? bytes(workload.block_bytes) : undefined],
        ['bytes read for a miss', isNumber(workload.flash_bytes) ? bytes(workload.flash_bytes) : undefined],
        [
          'look-ups an operation',
          isNumber(workload.lookups_per_operation) ? plain(workload.lookups_per_operation) : undefined
        ],
        ['core, an operation', bracket(costs.base)],
        ['core, an SCM hit', bracket(costs.scm_hit)],
        ['core, a flash read', bracket(costs.flash_read)],
        ['calibration', costs.source],
        ...targets.map(
            (target) =>
                [`target ${target.text}`,
                 `${target.at_least ? 'at least' : 'at most'} ${targetValue(target, target.bound)}`]),
        ['processor', host.cpu && `${host.cpu}, ${valueText(host.cores)} cores`],
      ]));
};

const title = withoutFolder(valueText(workload.name));
document.title = `${title} \u2013 mezz_plan`;
show(
    html(
        'header', {}, html('p', {class: 'kicker'}, `mezz_plan, ${valueText(result.time)}`), html('h1', {}, title),
        html('p', {class: 'lead'}, lead()), facts()),
    notes(), prices(), frontierSection(), surfaceSection(), sizesTable(), nextDollars(), sure(), noPurchase(),
    alternatives(), fleet(), plans.length ? bill() : null, plans.length ? allPlans() : null, configure(), manifest());
