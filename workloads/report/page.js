// SPDX-License-Identifier: Apache-2.0
// Draws a result of mezz_replay.
const blockMode = result.mode === 'block';
const options = result.options || {};
const fields = '@FIELDS@';  // workloads/replay/engine/fields.h: HtmlReport puts them here

const fixed = (digitsBehind) => formatted((value) => value.toFixed(digitsBehind));
// How a figure is shown, by its unit.
const BY_UNIT = {
  '1/s': count,
  'times': fixed(2),
  'us': time,
  'share': percent,
  'B/s': perSecond,
  'B/op': plain,
  'reads/op': fixed(3),
  's/Mop': plain
};
const byUnit = (field) => BY_UNIT[field.unit] || plain;

// ---- The rows ----------------------------------------------------------------------------------------------------

const COLOURS = 8;
const DASHES = ['none', '7 3', '2 3', '9 3 2 3', '4 2'];
const rows = result.rows.map((row, i) => Object.assign({}, row, {
  tag: String(i + 1),
  colour: `var(--c${i % COLOURS})`,
  dash: DASHES[i % DASHES.length],
  measured: row.available !== false && (!row.windows || row.windows.length > 0),
}));
const measured = rows.filter((row) => row.measured);
const missOf = (row) => (isNumber(row.miss) ? row.miss : Math.max(0, 1 - row.dram_hit - row.scm_hit));

// The row's number on a disc of its colour: what tells the curves apart besides their colours.
const tag = (row, x, y) => disc(row.tag, row.colour, x, y);

// ---- Figures -----------------------------------------------------------------------------------------------------

// One bar a row: its name and value beside each other above it, or below one another where that is too narrow.
const bars = (width, list, valueOf, bar) => {
  const narrow = width < 520;
  const step = narrow ? 66 : 48;
  return canvas(
      width, list.length * step,
      ...list.map(
          (row, i) => svg(
              'g', {class: 'bar', transform: `translate(0 ${i * step})`}, tag(row, 9, 11),
              svg('text', {x: 24, y: 15}, row.cache),
              svg('text', narrow ? {x: 0, y: 54, class: 'soft'} : {x: width - 1, y: 15, class: 'value'}, valueOf(row)),
              bar(row, width, 22, 16))));
};

const throughputBar = (most) => (row, width, y, height) => {
  const spread = row.ops_per_s;
  const x = (value) => (value / most) * (width - 8);
  const middle = y + height / 2;
  return svg(
      'g', {}, svg('rect', {x: 0, y, width: x(spread.median), height, rx: 2, style: `fill:${row.colour}`}),
      svg('path', {
        class: 'spread',
        d: `M${x(spread.min)} ${middle}H${x(spread.max)}` +
            [spread.min, spread.max].map((value) => `M${x(value)} ${y + 2}v${height - 4}`).join('')
      }),
      ...(row.windows || [])
          .map((window) => svg('circle', {cx: x(window.ops_per_s), cy: middle, r: 3, class: 'window'})));
};

const throughput = () => {
  const list = measured.filter((row) => row.ops_per_s && row.ratio);
  if (list.length === 0) return null;
  const most = Math.max(...list.map((row) => row.ops_per_s.max));
  const value = (row) => `${count(row.ops_per_s.median)} ops/s (${spreadOf(row.ops_per_s, count)}), ` +
      `${times(row.ratio.median)} (${spreadOf(row.ratio, (ratio) => ratio.toFixed(2))})`;
  return section(
      'Throughput',
      figure(
          `Operations a second: median of the windows, a dot for each, a line from the least to the ` +
              `most. The ratio is to ${list[0].cache}, window by window.`,
          drawing(
              'Throughput. ' + list.map((row) => `${row.cache}: ${value(row)}`).join('; ') + '.',
              (width) => bars(width, list, value, throughputBar(most)))));
};

const TIERS =
    [['DRAM', 'dram', (row) => row.dram_hit], ['2nd tier', 'scm', (row) => row.scm_hit], ['miss', 'miss', missOf]];
const TIER_TEXT_WIDTH = 62;
const hitBar = (row, width, y, height) => {
  let x = 0;
  return svg(
      'g', {}, ...TIERS.flatMap(([title, name, share]) => {
        const size = Math.max(0, share(row)) * width;
        const part = svg('rect', {class: 'tier', x, y, width: size, height, style: `fill:var(--${name})`});
        const text =
            svg('text', {class: 'onfill', x: x + size / 2, y: y + 12.5, style: `fill:var(--on-${name})`}, title);
        x += size;
        return size < TIER_TEXT_WIDTH ? [part] : [part, text];
      }),
      svg('rect', {x: 0.5, y: y + 0.5, width: width - 1, height: height - 1, style: 'fill:none;stroke:var(--line)'}));
};

const hits = () => {
  const list = measured.filter((row) => isNumber(row.dram_hit) && isNumber(row.scm_hit));
  if (list.length === 0) return null;
  const value = (row) => TIERS.map(([name, , share]) => `${name} ${percent(share(row))}`).join('  \u00b7  ');
  return section(
      'Where blocks were found',
      figure(
          'Shares of the block look-ups, from the left: found in DRAM, found in the second tier, read from flash.',
          drawing(
              'Where blocks were found. ' + list.map((row) => `${row.cache}: ${value(row)}`).join('; ') + '.',
              (width) => bars(width, list, value, hitBar))));
};

// ---- Curves ------------------------------------------------------------------------------------------------------

const line = (row, d) => svg('path', {class: 'curve', d, style: `stroke:${row.colour};stroke-dasharray:${row.dash}`});
const curve = (row, points, axes) => line(row, path(points, axes));

// Rows of a table that say which number, colour and dashes are whose, and what `columns` say about each.
const keyTable = (list, columns) => table(
    'key and figures', ['cache', ...columns.map(([name]) => name)], list.map((row) => {
      const sample = canvas(48, 18, line(row, 'M0 9H48'), tag(row, 24, 9));
      return [html('span', {}, sample, row.cache), ...columns.map(([, text]) => text(row))];
    }),
    'series');

// The point where the curve passes the share, between its neighbours on a logarithmic axis.
const atShare = (points, share) => {
  const i = points.findIndex((point) => point[1] >= share);
  if (i <= 0) return [points[Math.max(i, 0)][0], i < 0 ? points[points.length - 1][1] : points[0][1]];
  const [[x0, y0], [x1, y1]] = [points[i - 1], points[i]];
  return [x0 * (x1 / x0) ** ((share - y0) / (y1 - y0 || 1)), share];
};

const CDF_SHOWN = 0.9995;  // the few slower operations would squeeze all others into a corner
const drawCdf = (list) => (width) => {
  const height = width < 520 ? 280 : 360;
  const least = list.map((row) => row.latency_cdf.find(([us]) => us > 0) || [1]);
  const most = list.map((row) => atShare(row.latency_cdf, CDF_SHOWN));
  const xTicks = decades(Math.min(...least.map(([us]) => us)), Math.max(...most.map(([us]) => us)));
  const xLog = linear(Math.log10(xTicks[0]), Math.log10(xTicks[xTicks.length - 1]), MARGIN.left, width - MARGIN.right);
  const axes = {
    x: (us) => xLog(Math.log10(Math.min(Math.max(us, xTicks[0]), xTicks[xTicks.length - 1]))),
    xTicks,
    xText: time.tick,
    xTitle: 'latency, logarithmic',
    y: linear(0, 1, height - MARGIN.bottom, MARGIN.top),
    yTicks: [0, 0.25, 0.5, 0.75, 1],
    yText: percent.tick,
  };
  const level = (i) => 0.15 + (0.75 * (i + 0.5)) / list.length;
  return canvas(
      width, height, ...frame(width, height, axes), ...list.map((row) => curve(row, row.latency_cdf, axes)),
      ...list.map((row, i) => {
        const [us, share] = atShare(row.latency_cdf, level(i));
        return tag(row, axes.x(us), axes.y(share));
      }));
};

const hugeShare = (row) =>
    (row.pages && row.pages.resident_bytes ? row.pages.huge_bytes / row.pages.resident_bytes : undefined);
const quantile = (name) => (row) => time((row.latency_us || {})[name] ?? row[`${name}_us`]);
const latency = () => {
  const quantiles = [
    ['P50', quantile('p50')], ['P95', quantile('p95')], ['P99', quantile('p99')], ['P99.9', quantile('p99_9')],
    ['max', quantile('max')]
  ];
  const list = measured.filter((row) => row.latency_us || isNumber(row.p50_us));
  if (list.length === 0) return null;
  const curves = list.filter((row) => row.latency_cdf && row.latency_cdf.length > 1);
  const texts =
      list.map((row) => `${row.cache}: ` + quantiles.map(([name, text]) => `${name} ${text(row)}`).join(', '));
  return section(
      'Latency',
      curves.length === 0 ?
          absent('This result has no latency distributions, only quantiles.') :
          figure(
              'Share of the operations that took at most so long. A curve further to the left is faster.',
              drawing('Latency distributions. ' + texts.join('; ') + '.', drawCdf(curves))),
      keyTable(list, quantiles));
};

// ---- Over time ---------------------------------------------------------------------------------------------------

// [time, value, seconds] of a row's series. Its figures are per second, however short the last point is.
const seriesOf = (row, value) =>
    row.series.map((point) => [point.t_s, value(point), point.seconds || 1]).filter((point) => point.every(isNumber));
const meanOf = (points) => points.reduce((sum, [, value, seconds]) => sum + value * seconds, 0) /
    points.reduce((sum, [, , seconds]) => sum + seconds, 0);

const drawSeries = (list, yMost, yText, yTicksOf) => (width) => {
  const height = 220;
  const xMost = Math.max(...list.flatMap(({points}) => points.map((point) => point[0])));
  const xTicks = niceTicks(xMost, 6);
  const yTicks = yTicksOf(yMost);
  const axes = {
    x: linear(0, xTicks[xTicks.length - 1], MARGIN.left, width - MARGIN.right),
    xTicks,
    xText: whole,
    xTitle: 'seconds',
    y: linear(0, yTicks[yTicks.length - 1], height - MARGIN.bottom, MARGIN.top),
    yTicks,
    yText,
  };
  return canvas(
      width, height, ...frame(width, height, axes), ...list.map(({row, points}) => curve(row, points, axes)),
      ...list.map(({row, points}, i) => {
        const [x, y] = points[Math.floor(((i + 0.5) / list.length) * points.length)];
        return tag(row, axes.x(x), axes.y(y));
      }));
};

// what: {title, value: point -> number, text: value -> text, most: highest value of the axis if it is fixed}
const panel = (list, what) => {
  const curves = list.map((row) => ({row, points: seriesOf(row, what.value)})).filter(({points}) => points.length > 0);
  const values = curves.flatMap(({points}) => points.map((point) => point[1]));
  if (values.length === 0 || (!what.most && Math.max(...values) === 0)) {
    return html('div', {class: 'panel'}, html('h3', {}, what.title), absent('None was recorded.'));
  }
  return html(
      'div', {class: 'panel'}, html('h3', {}, what.title),
      drawing(
          `${what.title} over time; means: ` +
              curves.map(({row, points}) => `${row.cache} ${what.text(meanOf(points))}`).join(', ') + '.',
          drawSeries(
              curves, what.most || Math.max(...values), what.text.tick,
              what.most ? () => [0, 0.25, 0.5, 0.75, 1] : (most) => niceTicks(most, 4))));
};

// A panel shows the sum of the fields of its title.
const PANELS = [...new Set(fields.series.map((field) => field.panel).filter(Boolean))].map((title) => {
  const its = fields.series.filter((field) => field.panel === title);
  return {
    title,
    value: (point) => its.reduce((sum, field) => sum + point[field.name], 0),
    text: byUnit(its[0]),
    most: its[0].unit === 'share' ? 1 : undefined
  };
});
const overTime = () => {
  const list = measured.filter((row) => row.series && row.series.length > 1);
  if (blockMode && list.length === 0) return null;
  if (list.length === 0) return section('Over time', absent('This result has no time series.'));
  const meanText = (row, what) => {
    const points = seriesOf(row, what.value);
    return points.length ? what.text(meanOf(points)) : NONE;
  };
  return section(
      'Over time',
      figure(
          'Hit ratio, bandwidth and the rest, second by second, each cache on its own clock.',
          html('div', {class: 'panels'}, ...PANELS.map((what) => panel(list, what)))),
      html('h3', {}, 'Means of the above'),
      keyTable(list, PANELS.map((what) => [what.title, (row) => meanText(row, what)])));
};

// ---- Tables ------------------------------------------------------------------------------------------------------

const number = (name, format) => (row) => format(row[name]);
// 'latency_us.max': max of the object latency_us.
const valueOf = (row, name) => name.split('.').reduce((object, key) => (object || {})[key], row);
// A spread is shown by its median, with least and most below.
const figureOf = (field) => (row) => {
  const format = byUnit(field);
  const value = valueOf(row, field.name);
  if (value === null || typeof value !== 'object') return format(value);
  return html('span', {}, format(value.median), html('span', {class: 'range'}, spreadOf(value, format)));
};
// [key of the row, title, row -> text]: the figures of the windows, and then what the windows of a row have in
// common.
const MEASURES =
    fields.window.filter((field) => field.title)
        .map((field) => [field.name.split('.')[0], field.title, figureOf(field)])
        .concat([
          ['medium', 'medium', (row) => row.medium || NONE],
          ['emulated', 'emulated', (row) => (row.emulated ? 'yes' : 'no')],
          ['dram_shards', 'shards of the DRAM tier', (row) => row.dram_shards || NONE],
          ['pages', 'memory in huge pages', (row) => (hugeShare(row) === undefined ? NONE : percent(hugeShare(row)))],
        ]);
const NOT_MEASURES = ['cache', 'tag', 'available', 'second_tier_idle', 'noisy', 'measured', 'reason'];

// What the table above does not know is shown under its own name, so that a newer mezz_replay loses nothing.
const otherMeasures = () => {
  const known = new Set(MEASURES.map(([key]) => key).concat(NOT_MEASURES));
  const found = new Map();
  const note = (key, text) => {
    if (!found.has(key)) found.set(key, [key, key.replace(/_/g, ' '), text]);
  };
  for (const row of result.rows) {
    for (const [key, value] of Object.entries(row)) {
      if (known.has(key)) continue;
      if (isNumber(value)) note(key, number(key, count));
      if (key === 'roles' || value === null || typeof value !== 'object' || Array.isArray(value)) continue;
      for (const [inner, one] of Object.entries(value)) {
        if (isNumber(one)) note(`${key}: ${inner}`, (r) => count((r[key] || {})[inner]));
      }
    }
  }
  return [...found.values()];
};

const everything = () => {
  if (measured.length === 0) return null;
  const present = MEASURES.filter(([key]) => measured.some((row) => row[key] !== undefined));
  return section(
      'All figures',
      table(
          'measure', ['measure', ...measured.map((row) => row.cache)],
          present.concat(otherMeasures()).map(([, name, text]) => [name, ...measured.map(text)]), 'wide'));
};

const roles = () => {
  const list = measured.filter((row) => row.roles && Object.keys(row.roles).length > 0);
  if (list.length === 0) return null;
  const names = [...new Set(list.flatMap((row) => Object.keys(row.roles)))];
  // Where a cache does not tell its tiers apart by kind there is their sum only.
  const cell = (role) => html(
      'span', {}, percent(role.hit ?? role.dram_hit + role.scm_hit),
      isNumber(role.dram_hit + role.scm_hit) ?
          html('span', {class: 'range'}, `${percent(role.dram_hit)} + ${percent(role.scm_hit)}`) :
          null);
  return section(
      'Hits by kind of block',
      p('Share of the look-ups of each kind that hit; below it, where known, in DRAM + in the second tier.'),
      table(
          'kind', ['kind', ...list.map((row) => row.cache)],
          names.map((name) => [name.replace(/_/g, ' '), ...list.map((row) => cell(row.roles[name] || {}))]), 'wide'));
};

const flashText = () => {
  const {flash} = result;
  if (!flash || !flash.emulated) return flash && flash.name;
  return `${flash.name}, emulated: ${flash.device}, ${flash.mean_latency_us.toFixed(0)} \u00b5s on average, ${
      flash.queue_depth} reads at once, ${bytes(flash.bytes_per_s)}/s`;
};

const manifest = () => {
  const host = result.host || {};
  const lines = [
    ['command', html('code', {}, valueText(result.command_line))],
    ['time', result.time],
    ['seed', result.seed],
    ['RocksDB', result.rocksdb],
    ['compiler', result.compiler],
    ['debug build', result.asserts],
    ['medium', result.medium || [...new Set(measured.map((row) => row.medium).filter(Boolean))]],
    ['device model', result.model],
    ['flash', flashText()],
    ['emulated', result.emulated ?? measured.some((row) => row.emulated)],
    ['processor', `${valueText(host.cpu)}, ${valueText(host.cores)} cores`],
    ['memory', bytes(host.memory_bytes)],
    ['kernel', `${valueText(host.kernel)} ${host.machine || ''}`],
    ['distinct keys', result.distinct_keys],
    ['data', isNumber(result.database_bytes) ? bytes(result.database_bytes) : undefined],
    ['mean block', isNumber(result.mean_block_bytes) ? bytes(result.mean_block_bytes) : undefined],
    ['accesses', result.accesses],
    ['distinct blocks', result.unique],
    ...Object.entries(options).map(([name, value]) => [`--${name}`, value]),
  ];
  return section('How it was measured', manifestTable(lines));
};

const counters = () => {
  const list = rows.filter((row) => typeof row.counters === 'string' && row.counters !== '');
  if (list.length === 0) return null;
  return section(
      'Counters',
      ...list.map((row) => html('details', {}, html('summary', {}, row.cache), html('pre', {}, row.counters))));
};

// ---- The head ----------------------------------------------------------------------------------------------------

const notes = () => {
  const list = [];
  const warn = (text) => list.push([text, 'warning']);
  const note = (text) => list.push([text]);
  const named = (test) => rows.filter(test).map((row) => row.cache).join(', ');
  if (result.asserts) warn('this is a debug build: its figures mean nothing.');
  if (result.complete === false) warn('the run was interrupted; only what was finished is shown.');
  const noisy = named((row) => row.noisy);
  if (result.noisy || noisy) {
    warn(
        `the machine was too noisy for these figures to be repeatable${noisy ? ` (${noisy})` : ''}: ` +
        'leave it to this run alone, or measure longer.');
  }
  for (const row of rows.filter((one) => one.available === false))
    note(`${row.cache} was not available: ${row.reason || 'no reason given'}.`);
  for (const row of rows.filter((one) => one.available !== false && !one.measured))
    note(`${row.cache} finished no window.`);
  const idle = named((row) => row.second_tier_idle);
  if (idle) note(`the second tier never hit: ${idle}. What its row shows is the DRAM cache alone.`);
  const emulated = named((row) => row.emulated && row.measured);
  if (emulated) {
    note(`emulated: other memory stood for SCM${
        result.model && result.model !== 'none' ? `, with the latency of model ${result.model} added` :
                                                  ', without its latency'} (${emulated}).`);
  }
  if (result.flash && result.flash.emulated)
    note(`emulated: the data lay in memory, and reads took as long as those of ${flashText()}.`);
  return noteList(list);
};

const lead = () => {
  if (measured.length === 0) return 'No cache finished; there is nothing to show.';
  const by = (value) => measured.reduce((best, row) => (value(row) > value(best) ? row : best));
  if (blockMode) {
    const best = by((row) => -row.miss);
    return `Fewest misses: ${best.cache}, ${percent(best.miss)} of the accesses.`;
  }
  const best = by((row) => (row.ops_per_s || {}).median || 0);
  const first = measured[0];
  if (!best.ops_per_s || !best.ratio) return 'This result has no throughput.';
  return `Highest median throughput: ${best.cache}, ${count(best.ops_per_s.median)} operations a second` +
      (best === first ? '.' : `, ${times(best.ratio.median)} that of ${first.cache}.`);
};

const ownSizes = rows.length > 0 && rows.every((row) => row.cache.includes('@'));
const facts = () => factList([
  ['RocksDB', result.rocksdb],
  ['threads', options.threads],
  ['DRAM', ownSizes ? undefined : bytes(options.dram_bytes)],
  ['SCM', ownSizes ? undefined : bytes(options.scm_bytes)],
  ['data', bytes(result.database_bytes ?? result.footprint_bytes ?? result.unique * options.unit_bytes)],
  ['windows', rows.some((row) => row.windows) ? options.repeats : undefined],
]);

const workload = withoutFolder(valueText(result.workload));
document.title = `${workload} \u2013 mezz_replay`;
show(
    html(
        'header', {},
        html('p', {class: 'kicker'}, `mezz_replay${blockMode ? ' --mode=block' : ''}, ${valueText(result.time)}`),
        html('h1', {}, workload), html('p', {class: 'lead'}, lead()), facts()),
    notes(), throughput(), latency(), hits(), overTime(), roles(), everything(), counters(), manifest());
