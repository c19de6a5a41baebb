// SPDX-License-Identifier: Apache-2.0
// Capacities: what each pair of sizes does.
const surface = result.surface || {};
const drams = surface.dram_bytes || [];
const scms = surface.scm_bytes || [];
const HEATS = {
  miss: {name: 'Look-ups that miss', text: percent, short: (v) => `${(100 * v).toFixed(1)}%`},
  throughput: {name: 'Throughput', text: (v) => `${count(v)} operations/s`, short: count},
  p99_us: {name: 'P99 latency', text: time, short: time},
  dram_hit: {name: 'Found in DRAM', text: percent, short: (v) => `${(100 * v).toFixed(1)}%`},
  scm_hit: {name: 'Found in SCM', text: percent, short: (v) => `${(100 * v).toFixed(1)}%`},
};
let heat = 'miss';
const nearest = (sizes, size) =>
    sizes.reduce((best, one, i) => (Math.abs(one - size) < Math.abs(sizes[best] - size) ? i : best), 0);
const model = plans[result.cheapest] || baseline;
const chosen = {
  dram: drams.length && model && model.dram ? nearest(drams, model.dram.bytes) : 0,
  scm: scms.length && model ? nearest(scms, model.scm ? bytesOf(model, 'scm') : 0) : 0,
};
const cellOf = (name, i, j) => ((surface[name] || [])[i] || [])[j];

// Pale to dark; the text on it black or white, whichever stands out more: 4.5 : 1 at least.
const HEAT_ENDS = [[232, 243, 250], [8, 48, 107]];
const heatColour = (share) => HEAT_ENDS[0].map((from, k) => Math.round(from + (HEAT_ENDS[1][k] - from) * share));
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const inkOn = (rgb) => (luminance(rgb) > 0.179 ? '#000000' : '#ffffff');

// What the sizes would cost: the modules of the model, scaled by bytes, and all else of it as it is.
const costAt = (i, j) => {
  if (!model) return undefined;
  const withScm = model.scm ? model : plans.find((plan) => plan.scm);
  if (scms[j] > 0 && !withScm) return undefined;
  const rest = model.cost.steps.filter((step) => !['dram', 'scm'].includes(step.items[0]));
  const ofSize = (plan, name, size) => costOfSteps(stepsOf(plan, name)) * (size / bytesOf(plan, name));
  return costOfSteps(rest) + ofSize(model, 'dram', drams[i]) + (scms[j] > 0 ? ofSize(withScm, 'scm', scms[j]) : 0);
};
const sizeText = (i, j) => `${bytes(drams[i])} DRAM + ${scms[j] ? `${bytes(scms[j])} SCM` : 'no SCM'}`;
const cellText =
    (i, j) => [sizeText(i, j),
               ...Object.entries(HEATS).map(([name, {name: title, text}]) => `${title}: ${text(cellOf(name, i, j))}`),
               `about ${money(costAt(i, j))} a host`,
].join('; ');

let sizeSliders = {};
const drawSurface = (width, box, onShow) => {
  const left = width < 520 ? 66 : 84;
  const step = (width - left - 4) / scms.length;
  const row = Math.max(26, Math.min(44, step));
  const values = drams.flatMap((_, i) => scms.map((__, j) => cellOf(heat, i, j))).filter(isNumber);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const top = 4, bottom = top + drams.length * row;
  const y = (i) => bottom - (i + 1) * row;
  const {short} = HEATS[heat];
  const marks = drams.flatMap((_, i) => scms.map((__, j) => {
    const value = cellOf(heat, i, j);
    const rgb = heatColour(isNumber(value) ? (value - low) / (high - low || 1) : 0);
    const text = formatted(short)(value);
    const mark =
        svg('g', {class: 'cell', role: 'img', 'data-key': `${i},${j}`, 'aria-label': cellText(i, j)}, svg('rect', {
              x: left + j * step,
              y: y(i),
              width: step,
              height: row,
              style: `fill:rgb(${rgb.join(',')});stroke:var(--paper)`
            }),
            text.length * 7.5 > step - 4 ?
                null :
                svg('text',
                    {class: 'onfill', x: left + (j + 0.5) * step, y: y(i) + row / 2 + 4, style: `fill:${inkOn(rgb)}`},
                    text),
            svg('rect', {class: 'ring', x: left + j * step + 2, y: y(i) + 2, width: step - 4, height: row - 4}));
    mark.addEventListener('click', () => {
      sizeSliders.dram.set(i);
      sizeSliders.scm.set(j);
      changed();
    });
    return mark;
  }));
  const every = Math.max(1, Math.ceil(62 / step));
  const image = canvas(
      width, bottom + 42, ...marks,
      svg('rect', {class: 'chosen', x: left + chosen.scm * step, y: y(chosen.dram), width: step, height: row}),
      ...drams.map((size, i) => svg('text', {class: 'soft value', x: left - 6, y: y(i) + row / 2 + 4}, bytes(size))),
      ...scms.map(
          (size, j) =>
              (j % every ?
                   null :
                   svg('text', {class: 'soft', x: left + (j + 0.5) * step, y: bottom + 16, 'text-anchor': 'middle'},
                       size ? bytes(size).replace(' ', step < 62 ? '\u2009' : ' ') : 'none'))),
      svg('text', {class: 'soft', x: left + (width - left) / 2, y: bottom + 36, 'text-anchor': 'middle'},
          `SCM${model && model.slow_scm ? ', both media,' : ''} across, DRAM upwards`));
  const columns = scms.length;
  reachable(box, marks, (at, key) => {
    const [i, j] = [Math.floor(at / columns), at % columns];
    const to = {
      ArrowRight: [i, j + 1],
      ArrowLeft: [i, j - 1],
      ArrowUp: [i + 1, j],
      ArrowDown: [i - 1, j],
      Home: [i, 0],
      End: [i, columns - 1]
    }[key];
    return to && to[1] >= 0 && to[1] < columns ? to[0] * columns + to[1] : undefined;
  }, onShow);
  return image;
};

const sizesVerdict = () => {
  const box = html('div', {class: 'verdict', role: 'status', 'aria-live': 'polite', id: 'sizes'});
  onChange(() => {
    const [i, j] = [chosen.dram, chosen.scm];
    const figureOf = {
      throughput: cellOf('throughput', i, j),
      p99: cellOf('p99_us', i, j),
      cost: costAt(i, j),
      hit: isNumber(cellOf('miss', i, j)) ? 1 - cellOf('miss', i, j) : undefined
    };
    const judged = targets.filter((target) => isNumber(figureOf[target.metric]));
    const missed = judged.filter((target) => isBeyond(target, figureOf[target.metric]));
    box.classList.toggle('none', missed.length > 0);
    box.replaceChildren(
        html('p', {class: 'best'}, html('b', {}, sizeText(i, j))),
        p(`${percent(cellOf('dram_hit', i, j))} found in DRAM, ${percent(cellOf('scm_hit', i, j))} in SCM, ` +
          `${percent(cellOf('miss', i, j))} missed; ${count(cellOf('throughput', i, j))} operations/s, ` +
          `P99 ${time(cellOf('p99_us', i, j))}; about ${money(costAt(i, j))} a host.`),
        p(judged.length === 0     ? 'No target is about these figures.' :
              missed.length === 0 ? `Meets ${judged.map((target) => target.text).join(', ')}.` :
                                    `Misses ${missed.map((target) => target.text).join(', ')}.`));
  });
  return box;
};

const surfaceSection = () => {
  if (drams.length === 0 || scms.length === 0) return null;
  const sizes = (name, label, list) => slider(
      `size-${name}`,
      {label, min: 0, max: list.length - 1, value: chosen[name], text: (at) => (list[at] ? bytes(list[at]) : 'none')},
      (at) => (chosen[name] = at));
  sizeSliders = {dram: sizes('dram', 'DRAM of the server', drams), scm: sizes('scm', 'SCM of the server', scms)};
  const said = () => `${HEATS[heat].name} by DRAM and SCM of the server. ${cellText(chosen.dram, chosen.scm)}. ` +
      'Arrow keys go from size to size.';
  return section(
      'Capacities',
      figure(
          `What each pair of sizes does on the server ${
              model ? model.server : ''}: darker is more. The sliders, or a click, choose a ` +
              'pair; its cost is the modules\u2019 price by the byte, so between sizes that are sold it is a guess.',
          html('div', {class: 'controls'}, sizeSliders.dram.box, sizeSliders.scm.box), sizesVerdict(),
          choice('heat', 'Shown:', HEATS, (option) => (heat = Object.keys(HEATS).find((key) => HEATS[key] === option))),
          plot(said, drawSurface)));
};
