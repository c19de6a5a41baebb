// SPDX-License-Identifier: Apache-2.0
// What the pages share: formats, drawings, tables; each page's own script follows this one. Text enters a page as text
// only, never as markup: the result, JSON inside #result, may hold anything.
'use strict';
const result = JSON.parse(document.getElementById('result').textContent);
const report = document.getElementById('report');

// ---- Small helpers -----------------------------------------------------------------------------------------------

const SVG = 'http://www.w3.org/2000/svg';
const fill = (node, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.filter((child) => child !== null));
  return node;
};
const html = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const p = (...children) => html('p', {}, ...children);
const svg = (tag, attributes, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

const isNumber = (value) => typeof value === 'number' && Number.isFinite(value);
const NONE = '\u2013';
const formatted = (format) => (value) => (isNumber(value) ? format(value) : NONE);
const digits = (value) => {
  const size = Math.abs(value);
  if (value === 0) return '0';
  return size >= 100 ? value.toFixed(0) :
      size >= 10     ? value.toFixed(1) :
      size >= 0.01   ? value.toFixed(2) :
                       value.toPrecision(2);
};
const whole = (value) => String(Number(value.toPrecision(6)));  // of an axis: 20, not 20.0
const scaled = (steps) => {
  const text = (number) => formatted((value) => {
    const [size, unit] = steps.find(([least]) => Math.abs(value) >= least) || steps[steps.length - 1];
    return (size === 1 && Number.isInteger(value) ? whole : number)(value / size) + unit;
  });
  return Object.assign(text(digits), {tick: text(whole)});
};
const count = scaled([[1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, '']]);
const binary = scaled([[2 ** 40, ' TiB'], [2 ** 30, ' GiB'], [2 ** 20, ' MiB'], [2 ** 10, ' KiB'], [1, ' B']]);
const bytes = (value) => binary(value).replace(/\.0+ /, ' ');  // sizes are round more often than not
const perSecond = scaled([[1e9, ' GB/s'], [1e6, ' MB/s'], [1e3, ' kB/s'], [1, ' B/s']]);
const time = scaled([[1e6, ' s'], [1e3, ' ms'], [1, ' \u00b5s']]);
const percent =
    Object.assign(formatted((value) => (100 * value).toFixed(1) + ' %'), {tick: (value) => `${100 * value} %`});
const times = formatted((value) => value.toFixed(2) + '\u00d7');
const plain = formatted((value) => (Number.isInteger(value) ? whole : digits)(value));
const spreadOf = (spread, format) => `${format(spread.min)}\u2013${format(spread.max)}`;

const valueText = (value) =>
    (Array.isArray(value)                                      ? value.join(', ') :
         typeof value === 'boolean'                            ? (value ? 'yes' : 'no') :
         value === '' || value === null || value === undefined ? NONE :
         typeof value === 'object'                             ? JSON.stringify(value) :
                                                                 String(value));
const withoutFolder = (name) => (/\s/.test(name) ? name : name.replace(/^.*\//, ''));

// ---- Figures -----------------------------------------------------------------------------------------------------

const drawings = [];
// A drawing is made for the width it has, and again when that or what it shows changes, so that its text keeps its
// size. `alternative`: a text, or what makes one. A drawing whose parts can be reached is a 'group', else an 'img'.
const drawing = (alternative, draw, role = 'img') => {
  const box = html('div', {class: 'drawing'});
  drawings.push((anew) => {
    const width = Math.round(box.clientWidth);
    if (width === 0 || (!anew && Number(box.dataset.width) === width)) return;
    box.dataset.width = width;
    const image = draw(width);
    const text = typeof alternative === 'string' ? alternative : alternative();
    fill(image, {role, 'aria-label': text}, []);
    box.replaceChildren(image);
  });
  return box;
};
const canvas = (width, height, ...children) => svg('svg', {viewBox: `0 0 ${width} ${height}`}, ...children);
const section = (title, ...children) => html('section', {}, html('h2', {}, title), ...children);
const figure = (caption, ...children) => html('figure', {}, html('figcaption', {}, caption), ...children);
const absent = (what) => html('p', {class: 'absent'}, what);

const disc = (text, colour, x, y) =>
    svg('g', {}, svg('circle', {cx: x, cy: y, r: 8, style: `fill:${colour}`}),
        svg('text', {x, y: y + 3.5, class: 'tag'}, text));

// ---- Axes --------------------------------------------------------------------------------------------------------

const linear = (from, to, low, high) => (value) => low + ((value - from) / (to - from || 1)) * (high - low);
const niceTicks = (most, wanted) => {
  const rough = most / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
  return Array.from({length: Math.ceil(most / step - 1e-9) + 1}, (_, i) => i * step);
};
const decades = (low, high) => {
  const from = Math.floor(Math.log10(low));
  const to = Math.max(from + 1, Math.ceil(Math.log10(high) - 1e-9));
  return Array.from({length: to - from + 1}, (_, i) => 10 ** (from + i));
};

const TICK_TEXT_WIDTH = 56;
// Every tick, or every second and so on where their texts would touch.
const sparse = (ticks, x) => {
  const every = Math.ceil(TICK_TEXT_WIDTH / Math.abs(x(ticks[1]) - x(ticks[0])));
  return ticks.filter((_, i) => i % every === 0);
};

const MARGIN = {
  left: 62,
  right: 14,
  top: 10,
  bottom: 38
};
// axes: {x, y: value -> pixels; xTicks, yTicks; xText, yText: tick -> text; xTitle}
const frame =
    (width, height, axes) =>
        [...axes.yTicks.map(
             (tick) => svg('path', {class: 'grid', d: `M${MARGIN.left} ${axes.y(tick)}H${width - MARGIN.right}`})),
         ...axes.xTicks.map(
             (tick) => svg('path', {class: 'grid', d: `M${axes.x(tick)} ${MARGIN.top}V${height - MARGIN.bottom}`})),
         ...axes.yTicks.map(
             (tick) => svg('text', {class: 'soft value', x: MARGIN.left - 6, y: axes.y(tick) + 4}, axes.yText(tick))),
         ...sparse(axes.xTicks, axes.x)
             .map(
                 (tick) =>
                     svg('text', {
                       class: 'soft',
                       y: height - MARGIN.bottom + 16,
                       x: Math.min(axes.x(tick), width - 22),
                       'text-anchor': 'middle'
                     },
                         axes.xText(tick))),
         svg('text',
             {class: 'soft', x: (MARGIN.left + width - MARGIN.right) / 2, y: height - 4, 'text-anchor': 'middle'},
             axes.xTitle),
];
const path = (points, axes) =>
    points.map(([x, y], i) => `${i ? 'L' : 'M'}${axes.x(x).toFixed(1)} ${axes.y(y).toFixed(1)}`).join('');

// ---- Lists and tables --------------------------------------------------------------------------------------------

// facts: [name, value]; those without a value are left out.
const factList = (facts) => html(
    'ul', {class: 'facts'},
    ...facts.filter(([, value]) => value !== undefined && value !== NONE)
        .map(([name, value]) => html('li', {}, `${name} `, html('b', {}, String(value)))));

// notes: [text], or [text, 'warning'].
const noteList = (notes) =>
    (notes.length === 0 ?
         null :
         html(
             'ul', {class: 'notes', 'aria-label': 'notes'},
             ...notes.map(
                 ([text, warning]) => html(
                     'li', warning ? {class: warning} : {}, html('b', {}, warning ? 'Warning: ' : 'Note: '), text))));

// lines: the cells, texts or nodes; or {is: class of the line, cells}. The first cell of a line is its head.
const table = (label, heads, lines, name) => html(
    'div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label},
    html(
        'table', {class: name},
        html('thead', {}, html('tr', {}, ...heads.map((head) => html('th', {scope: 'col'}, head)))),
        html('tbody', {}, ...lines.map((line) => {
          const [first, ...rest] = line.cells ?? line;
          return html(
              'tr', {class: line.is || ''}, html('th', {scope: 'row'}, first),
              ...rest.map((cell) => html('td', {}, cell)));
        }))));

// lines: [name, value or node]; those without a value are left out.
const manifestTable = (lines) => html(
    'table', {class: 'manifest'},
    html(
        'tbody', {},
        ...lines.filter(([, value]) => value !== undefined)
            .map(
                ([name, value]) => html(
                    'tr', {}, html('th', {scope: 'row'}, name),
                    html('td', {}, value instanceof Node ? value : valueText(value))))));

// ---- The page ----------------------------------------------------------------------------------------------------

const redraw = (anew) => drawings.forEach((draw) => draw(anew));
// The parts, those that are not null, and what is drawn in them.
const show = (...parts) => {
  report.append(...parts.filter((part) => part !== null));
  redraw(false);
  new ResizeObserver(() => redraw(false)).observe(report);
};
