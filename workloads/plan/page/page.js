// SPDX-License-Identifier: Apache-2.0
// Draws an answer of mezz_plan (docs/reference/plan.md, "The JSON"), and turns its prices and capacities in the page.
'use strict';
(() => {
  // ---- What the answer says ----------------------------------------------------------------------------------------

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

  const FORMATS = {us: time, '/s': (v) => `${count(v)}/s`, 'B/s': perSecond, years, W: (v) => `${plain(v)} W`};
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

  // ---- What the reader turned --------------------------------------------------------------------------------------

  const STEPS = 40;  // of a price slider, to either side of the listed price
  const EIGHTFOLD = 3;
  const factorAt = (step) => 2 ** ((EIGHTFOLD * step) / STEPS);
  const factors = Object.fromEntries(costItems.map((item) => [item.name, 1]));
  const isAsListed = () => Object.values(factors).every((factor) => factor === 1);

  const stepCost = (step) => step.items.reduce((cost, item) => cost * (factors[item] ?? 1), step.amount);
  const costOf = (plan) => plan.cost.steps.reduce((sum, step) => sum + stepCost(step), 0);
  const boundOf = (target) =>
      (target.metric === 'cost' && target.of_baseline && baseline ?
           target.bound * (costOf(baseline) / baseline.cost.total) :
           target.bound);
  const meets = (plan) => targets.every((target, i) => {
    if (target.metric !== 'cost') return plan.slack[i] === null || plan.slack[i] >= 0;
    return target.at_least ? costOf(plan) >= boundOf(target) : costOf(plan) <= boundOf(target);
  });
  const least = (list, value) =>
      list.reduce((best, one) => (best && value(best) <= value(one) ? best : one), undefined);
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

  // What must change with a slider: called once each time, and once at first.
  const changes = [];
  const changed = () => {
    changes.forEach((change) => change());
    redraw(true);
  };

  // ---- Controls ----------------------------------------------------------------------------------------------------

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
  const pricePerGb = (name) => {
    const plan = plans.find((one) => one[name]);
    if (!plan) return undefined;
    const steps = plan.cost.steps.filter((one) => one.items[0] === name);
    const sum = steps.reduce((cost, step) => cost + stepCost(step), 0);
    return steps.length ? (sum / bytesOf(plan, name)) * 2 ** 30 : undefined;
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
    changes.push(() => {
      const best = cheapest();
      const listed = plans[result.cheapest];
      box.classList.toggle('none', !best);
      if (!best) {
        box.replaceChildren(
            html('p', {class: 'best'}, 'No listed plan meets the targets.'),
            html('p', {}, result.blocked_text || 'The table below says what each misses.'));
        return;
      }
      const base = baseline && costOf(baseline);
      const share = baseline ? 1 - costOf(best) / base : 0;
      box.replaceChildren(
          html('p', {class: 'best'}, `Cheapest that meets the targets: `, html('b', {}, best.name)),
          html(
              'p', {},
              `${money(costOf(best))} a host over ${years(book.years)}` +
                  (baseline ? `; the baseline ${money(base)}, so ${percent(Math.abs(share))} ` +
                           `${share < 0 ? 'more' : 'less'}` :
                              '') +
                  '.'),
          html(
              'p', {},
              isAsListed()        ? 'Prices as listed.' :
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
        html(
            'p', {},
            'Each slider multiplies what it names in every plan, from an eighth to eight times. The answer, the frontier and ' +
                'the tables follow. Only the plans of this report are compared: far from the listed prices ask mezz_plan again.'),
        html('div', {class: 'controls'}, ...priceSliders.map(({box}) => box)),
        html('div', {class: 'bar-of-buttons'}, reset), verdict());
  };

  // ---- Marks that can be reached -----------------------------------------------------------------------------------

  // One tab stop for all marks of a drawing; arrows go from one to the next. The one in focus keeps it when redrawn.
  const reachable = (box, marks, next, onShow) => {
    const had = box.dataset.at ?? '0';
    const keeps = box.contains(document.activeElement);
    const at = (key) => marks.find((mark) => mark.dataset.key === key);
    const current = at(had) || marks[0];
    marks.forEach((mark) => {
      mark.setAttribute('tabindex', mark === current ? 0 : -1);
      mark.addEventListener('focus', () => {
        box.dataset.at = mark.dataset.key;
        marks.forEach((one) => one.setAttribute('tabindex', one === mark ? 0 : -1));
        onShow(mark);
      });
      mark.addEventListener('blur', () => onShow(null));
      mark.addEventListener('pointerenter', () => onShow(mark));
      mark.addEventListener('pointerleave', () => onShow(null));
      mark.addEventListener('keydown', (event) => {
        const to = next(marks.indexOf(mark), event.key);
        if (to === undefined || !marks[to]) return;
        event.preventDefault();
        marks[to].focus();
      });
    });
    if (keeps && current) queueMicrotask(() => current.focus());
  };
  const alongList = (marks) => (at, key) => ({
    ArrowRight: at + 1,
    ArrowDown: at + 1,
    ArrowLeft: at - 1,
    ArrowUp: at - 1,
    Home: 0,
    End: marks.length - 1,
  })[key];

  // A plot, and the note that follows what is under the pointer or in focus.
  const plot = (alternative, draw) => {
    const tip = html('div', {class: 'tip', 'aria-hidden': 'true', hidden: ''});
    const onShow = (mark) => {
      tip.hidden = !mark;
      if (!mark) return;
      const [title, ...lines] = mark.getAttribute('aria-label').split('; ');
      tip.replaceChildren(html('b', {}, title), ...lines.flatMap((line, i) => (i ? [html('br', {}), line] : [line])));
      const [frameBox, markBox] = [box.getBoundingClientRect(), mark.getBoundingClientRect()];
      const left = markBox.left + markBox.width / 2 - frameBox.left;
      const x = Math.max(0, Math.min(left + 14, frameBox.width - tip.offsetWidth));
      const above = markBox.top - frameBox.top - tip.offsetHeight - 8;
      tip.style.left = `${x}px`;
      tip.style.top = `${above < 0 ? markBox.bottom - frameBox.top + 8 : above}px`;
    };
    const image = drawing(alternative, (width) => draw(width, image, onShow), 'group');
    const box = html('div', {class: 'plot'}, image, tip);
    return box;
  };

  // ---- Cost and performance ----------------------------------------------------------------------------------------

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
  const withMedia = (plan, whole, text) => (
      plan.media ? html('span', {}, whole, html('span', {class: 'range'}, mediaOf(plan).map(text).join(', '))) : whole);
  const planText =
      (plan, best) => [plan.name, `${money(costOf(plan))} a host`, `${count(of(plan.throughput))} operations/s`,
                       `P99 ${time(of(plan.p99_us))}, ${percent(plan.miss)} missed`, ...mediaTexts(plan),
                       ...roleOf(plan, best)]
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
          plan === best ? svg('circle', {cx: x, cy: y, r: 11, style: 'fill:none;stroke:var(--c2);stroke-width:3'}) :
                          null,
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
    const square =
        svg('rect', {x: 3, y: 1, width: 14, height: 14, style: 'fill:none;stroke:var(--soft);stroke-width:2'});
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
        'select', {id, name: id},
        ...Object.entries(options).map(([key, {name}]) => html('option', {value: key}, name)));
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

  // ---- The surface -------------------------------------------------------------------------------------------------

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
    const scaled = (plan, name, size) =>
        plan.cost.steps.filter((step) => step.items[0] === name)
            .reduce((sum, step) => sum + stepCost(step) * (size / bytesOf(plan, name)), 0);
    return rest.reduce((sum, step) => sum + stepCost(step), 0) + scaled(model, 'dram', drams[i]) +
        (scms[j] > 0 ? scaled(withScm, 'scm', scms[j]) : 0);
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
    changes.push(() => {
      const [i, j] = [chosen.dram, chosen.scm];
      const figureOf = {
        throughput: cellOf('throughput', i, j),
        p99: cellOf('p99_us', i, j),
        cost: costAt(i, j),
        hit: isNumber(cellOf('miss', i, j)) ? 1 - cellOf('miss', i, j) : undefined
      };
      const judged = targets.filter((target) => isNumber(figureOf[target.metric]));
      const missed = judged.filter(
          (target) => (
              target.at_least ? figureOf[target.metric] < boundOf(target) : figureOf[target.metric] > boundOf(target)));
      box.classList.toggle('none', missed.length > 0);
      box.replaceChildren(
          html('p', {class: 'best'}, html('b', {}, sizeText(i, j))),
          html(
              'p', {},
              `${percent(cellOf('dram_hit', i, j))} found in DRAM, ${percent(cellOf('scm_hit', i, j))} in SCM, ` +
                  `${percent(cellOf('miss', i, j))} missed; ${count(cellOf('throughput', i, j))} operations/s, ` +
                  `P99 ${time(cellOf('p99_us', i, j))}; about ${money(costAt(i, j))} a host.`),
          html(
              'p', {},
              judged.length === 0     ? 'No target is about these figures.' :
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
            choice(
                'heat', 'Shown:', HEATS, (option) => (heat = Object.keys(HEATS).find((key) => HEATS[key] === option))),
            plot(said, drawSurface)));
  };

  // ---- How sure ----------------------------------------------------------------------------------------------------

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
    const said =
        [result.growth, result.flatter, result.break_even].map((one) => one && one.text).filter((text) => text);
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

  // ---- Tables ------------------------------------------------------------------------------------------------------

  const live = (make) => {
    const box = html('div', {});
    changes.push(() => box.replaceChildren(make()));
    return box;
  };
  const scrolling = (label, table) =>
      html('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label}, table);
  const table = (label, heads, lines, name) => scrolling(
      label,
      html(
          'table', {class: name},
          html('thead', {}, html('tr', {}, ...heads.map((head) => html('th', {scope: 'col'}, head)))),
          html(
              'tbody', {},
              ...lines.map(
                  ({is, cells: [first, ...rest]}) => html(
                      'tr', {class: is || ''}, html('th', {scope: 'row'}, first),
                      ...rest.map((cell) => html('td', {}, cell)))))));

  const missedTexts = (plan) =>
      targets
          .filter(
              (target, i) =>
                  (target.metric === 'cost' ?
                       (target.at_least ? costOf(plan) < boundOf(target) : costOf(plan) > boundOf(target)) :
                       plan.slack[i] !== null && plan.slack[i] < 0))
          .map((target) => target.text);
  const missed = (plan) => (meets(plan) ? '' : `misses ${missedTexts(plan).join(', ')}`);
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
                 ...plan.cost.steps.map((step) => ({cells: [step.text, money(step.amount), money(stepCost(step))]})),
        ]);
        return table('the bill of a host', ['for one host', 'as listed', 'with the sliders'], lines, 'plans');
      }));

  const nextDollars = () => {
    const list = (result.next_dollars || []).filter((next) => plans[next.from] && plans[next.to]);
    if (list.length === 0) return null;
    return section(
        'What each further dollar buys', html('p', {}, 'Along the frontier, with prices as listed.'),
        table(
            'steps along the frontier',
            ['to', 'costs more', 'operations/s more', 'P99 less', `operations/s for a ${book.currency || 'unit'}`],
            list.map((next) => ({
                       cells: [
                         plans[next.to].name, money(next.cost), count(next.throughput),
                         time(Math.round(-10 * next.p99_us) / 10 || 0), plain(next.throughput_per_cost)
                       ]
                     })),
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
        'No purchase: the memory you have', html('p', {}, `${parts.charAt(0).toUpperCase()}${parts.slice(1)}.`),
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
        html('p', {}, 'The cheapest server that meets the targets if its DRAM and SCM are used otherwise, as listed.'),
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
        html(
            'p', {},
            `${count(all.hosts)} hosts cost ${money(all.total)} over ${years(book.years)}, ${money(all.saving)} (${
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
        wideTable(
            'DRAM', scms.map((size) => (size ? `${bytes(size)} SCM` : 'no SCM')),
            drams.map((size, i) => [bytes(size), ...scms.map((_, j) => percent(cellOf('miss', i, j)))])));
  };

  // ---- The head and the foot ---------------------------------------------------------------------------------------

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
      load.loop &&
          (load.loop === 'closed' ? `${load.threads} threads, closed loop` : `${count(load.rate)}/s, open loop`)
    ],
    ['plans considered', result.considered],
  ]);
  const notes = () => noteList([
    ...(result.warnings || []).map((text) => [text, 'warning']),
    ...(result.asserts ? [['this is a debug build.', 'warning']] : []),
    ...(plans[result.cheapest] && plans[result.cheapest].sure === false ? [[
      'the cheapest plan meets the targets by its expected figures, but not at the bad ends of their ranges.'
    ]] :
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

  const name = withoutFolder(valueText(workload.name));
  document.title = `${name} \u2013 mezz_plan`;
  const parts = [
    html(
        'header', {}, html('p', {class: 'kicker'}, `mezz_plan, ${valueText(result.time)}`), html('h1', {}, name),
        html('p', {class: 'lead'}, lead()), facts()),
    notes(),
    prices(),
    frontierSection(),
    surfaceSection(),
    sizesTable(),
    nextDollars(),
    sure(),
    noPurchase(),
    alternatives(),
    fleet(),
    plans.length ? bill() : null,
    plans.length ? allPlans() : null,
    configure(),
    manifest(),
  ];
  changes.forEach((change) => change());
  show(...parts);
})();
