// SPDX-License-Identifier: Apache-2.0
// Plots whose marks can be pointed at, and reached by Tab and the arrow keys.
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
    const [frameBox, markBox] = [tip.parentNode.getBoundingClientRect(), mark.getBoundingClientRect()];
    const left = markBox.left + markBox.width / 2 - frameBox.left;
    const x = Math.max(0, Math.min(left + 14, frameBox.width - tip.offsetWidth));
    const above = markBox.top - frameBox.top - tip.offsetHeight - 8;
    tip.style.left = `${x}px`;
    tip.style.top = `${above < 0 ? markBox.bottom - frameBox.top + 8 : above}px`;
  };
  const image = drawing(alternative, (width) => draw(width, image, onShow), 'group');
  return html('div', {class: 'plot'}, image, tip);
};
