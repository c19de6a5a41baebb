// SPDX-License-Identifier: Apache-2.0
// Cost and performance: each plan a mark.
const MEASURES = {
  throughput: {
    name: 'Throughput',
    metric: 'throughput',
    sign: 1,
    of: (plan) => of(plan.throughput),
    tick: count.tick,
  },
  p99: {name: 'P99 latency', metric: 'p99', sign: -1, of: (plan) => of(plan.p99_us), tick: time.tick},
  mean: {name: 'Mean latency', metric: 'mean', sign: -1, of: (plan) => of(plan.mean_us), tick: time.tick},
  miss: {name: 'Look-ups that miss', sign: -1, of: (plan) => plan.miss, tick: (value) => `${whole(100 * value)} %`},
};
let measure = MEASURES.throughput;

const colourOf = (plan) => (plan.scm ? 'var(--c1)' : 'var(--c0)');
const roleOf = (plan, best) => [plan === best ? 'cheapest that meets the targets' : '',
                                plan === baseline ? 'baseline' : '', meets(plan) ? '' : 'misses a target']
                                   .filter((text) => text);
// What each of ordered media does: nothing of a plan that has one.
const mediaOf = (plan) => (plan.media || []).map((medium, i) => Object.assign({name: i ? 'slow' : 'fast'}, medium));
const mediaTexts = (plan) => mediaOf(plan).map(({name, hit}) => `${percent(hit)} in the ${name} SCM`);
const withMedia = (plan, whole, text) =>
    (plan.media ? html('span', {}, whole, html('span', {class: 'range'}, mediaOf(plan).map(text).join(', '))) : whole);
const planText =
    (plan,
     best) => [plan.name, `${money(costOf(plan))} a host`, `${count(of(plan.throughput))} operations/s`,
               `P99 ${time(of(plan.p99_us))}, ${percent(plan.miss)} missed`, ...mediaTexts(plan), ...roleOf(plan, best)]
                  .join('; ');
const shape = (plan, x, y, size) =>
    (plan.slow_scm ? svg('path', {d: `M${x} ${y - size - 2}l${size + 2} ${2 * size + 2}h${- 2 * size - 4}z`}) :
         plan.scm ? svg('path', {
           d: `M${x} ${y - size - 1}l${size + 1} ${size + 1}l${- size - 1} ${size + 1}l${- size - 1} ${- size - 1}z`
         }) :
                    svg('circle', {cx: x, cy: y, r: size}));
const painted = (node, plan, filled) => {
  const colour = colourOf(plan);
  node.setAttribute('style', `stroke:${colour};fill:${filled ? colour : 'var(--paper)'}`);
  return node;
};

// From the least to the most, or from 0 where that is near or they are close together.
const fittedTicks = (values, wanted) => {
  const [low, high] = [Math.min(...values), Math.max(...values, 1e-9)];
  const fits = low > 0.25 * high && low < 0.98 * high;
  const [, step] = niceTicks(fits ? high - low : high, wanted);
  const from = fits ? Math.floor(low / step + 1e-9) : 0;
  return Array.from({length: Math.ceil(high / step - 1e-9) - from + 1}, (_, i) => (from + i) * step);
};
const across = (ticks, low, high) => linear(ticks[0], ticks[ticks.length - 1], low, high);
const drawPlans = (width, box, onShow) => {
  const height = width < 520 ? 300 : 400;
  const best = cheapest();
  const xTicks = fittedTicks(plans.map(costOf), width < 520 ? 4 : 8);
  const yTicks = fittedTicks(plans.map(measure.of).filter(isNumber), 5);
  const axes = {
    x: across(xTicks, MARGIN.left, width - MARGIN.right),
    xTicks,
    xText: count.tick,
    xTitle: `cost of a host over ${years(book.years)}, ${book.currency || ''}`,
    y: across(yTicks, height - MARGIN.bottom, MARGIN.top),
    yTicks,
    yText: measure.tick,
  };
  const bounds = targets.filter(
      (target) =>
          target.metric === measure.metric && target.bound >= yTicks[0] && target.bound <= yTicks[yTicks.length - 1]);
  const shown = [...plans].filter((plan) => isNumber(measure.of(plan))).sort((a, b) => costOf(a) - costOf(b));
  const marks = shown.map((plan) => {
    const [x, y] = [axes.x(costOf(plan)), axes.y(measure.of(plan))];
    return svg(
        'g', {class: 'mark', role: 'img', 'data-key': plan.index, 'aria-label': planText(plan, best)},
        painted(shape(plan, x, y, plan === best || plan === baseline ? 7 : 5), plan, meets(plan)),
        svg('circle', {class: 'ring', cx: x, cy: y, r: 11}),
        plan === best ? svg('circle', {cx: x, cy: y, r: 11, style: 'fill:none;stroke:var(--c2);stroke-width:3'}) : null,
        plan === baseline ?
            svg('rect',
                {x: x - 11, y: y - 11, width: 22, height: 22, style: 'fill:none;stroke:var(--soft);stroke-width:2'}) :
            null);
  });
  // The two that matter lie above the others, wherever the arrow keys find them.
  const above = (mark) => [best, baseline].some((plan) => plan && mark.dataset.key === String(plan.index));
  const line = frontier(measure.of, measure.sign)
                   .map((plan) => [costOf(plan), measure.of(plan)])
                   .filter((point) => point.every(isNumber));
  const image = canvas(
      width, height, ...frame(width, height, axes),
      ...bounds.map(
          (target) =>
              svg('path', {class: 'bound', d: `M${MARGIN.left} ${axes.y(target.bound)}H${width - MARGIN.right}`})),
      svg('path', {class: 'frontier', d: path(line, axes)}), ...marks.filter((mark) => !above(mark)),
      ...marks.filter(above));
  reachable(box, marks, alongList(marks), onShow);
  return image;
};

const legendItem = (text, ...nodes) =>
    html('li', {}, svg('svg', {viewBox: '0 0 20 16', 'aria-hidden': 'true'}, ...nodes), text);
const legend = () => {
  const sample = (plan, filled) => painted(shape(plan, 10, 8, 5), plan, filled);
  const [dram, scm, ordered] = [{}, {scm: {}}, {scm: {}, slow_scm: {}}];
  const ring = svg('circle', {cx: 10, cy: 8, r: 6, style: 'fill:none;stroke:var(--c2);stroke-width:3'});
  const square = svg('rect', {x: 3, y: 1, width: 14, height: 14, style: 'fill:none;stroke:var(--soft);stroke-width:2'});
  return html(
      'ul', {class: 'legend'}, legendItem('DRAM alone', sample(dram, true)),
      legendItem('DRAM and SCM', sample(scm, true)),
      plans.some((plan) => plan.slow_scm) ? legendItem('DRAM, a fast and a slow SCM medium', sample(ordered, true)) :
                                            '',
      legendItem('hollow: misses a target', sample(dram, false)), legendItem('cheapest that meets them', ring),
      legendItem('baseline', square),
      legendItem('frontier: none is cheaper and better', svg('path', {class: 'frontier', d: 'M0 8H20'})),
      targets.length ? legendItem('target', svg('path', {class: 'bound', d: 'M0 8H20'})) : '');
};

const choice = (id, label, options, chosen) => {
  const select = html(
      'select', {id, name: id}, ...Object.entries(options).map(([key, {name}]) => html('option', {value: key}, name)));
  select.addEventListener('change', () => {
    chosen(options[select.value]);
    redraw(true);
  });
  return html('div', {class: 'bar-of-buttons'}, html('label', {for: id
              }, label), select);
};

const frontierSection = () => {
  if (plans.length === 0) return null;
  const said = () => {
    const best = cheapest();
    return `Cost and ${measure.name.toLowerCase()} of ${plans.length} plans. ` +
        (best ? `Cheapest that meets the targets: ${planText(best, best)}. ` : 'No plan meets the targets. ') +
        'Arrow keys go from plan to plan.';
  };
  return section(
      'Cost and performance',
      figure(
          'Each mark is a server that can be bought. Point at one, or reach it with Tab and the arrow keys. The axes need ' +
              'not begin at 0.',
          choice('measure', 'Upwards:', MEASURES, (chosen) => (measure = chosen)), plot(said, drawPlans), legend()));
};
