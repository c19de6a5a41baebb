// SPDX-License-Identifier: Apache-2.0
// What a page shows, as its reader would find it: evaluated in the page, answers with an object.
(() => {
  const textOf = (element) => [...element.childNodes]
                                  .filter((n) => n.nodeType === Node.TEXT_NODE)
                                  .map((n) => n.textContent.trim())
                                  .join('');
  const shown = (element) => element.getClientRects().length > 0;
  const box = (element) => element.getBoundingClientRect();
  const all = (selector) => [...document.querySelectorAll(selector)];

  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((value) => value / 255)
                          .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const channels = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
  const backgroundOf = (element) => {
    if (element.matches('text.tag, text.onfill'))
      return channels(getComputedStyle(element.previousElementSibling).fill);
    for (let at = element; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const contrast = (element) => {
    const style = getComputedStyle(element);
    const a = luminance(channels(element instanceof SVGElement ? style.fill : style.color));
    const b = luminance(backgroundOf(element));
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  };

  const texts = all('main *').filter((element) => textOf(element) !== '' && shown(element));
  const overlaps = [];
  const outside = [];
  for (const image of all('.drawing svg')) {
    const frame = box(image);
    const inside = [...image.querySelectorAll('text:not(.tag)')].map((text) => [text.textContent, box(text)]);
    inside.forEach(([a, p], i) => {
      if (p.left < frame.left - 1 || p.right > frame.right + 1 || p.bottom > frame.bottom + 1) outside.push(a);
      for (const [b, q] of inside.slice(i + 1)) {
        if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 3 && q.top < p.bottom - 3)
          overlaps.push(`${a} | ${b}`);
      }
    });
  }
  return {
    title: document.title,
    text: document.querySelector('main').innerText,
    headings: all('h2, h3').map((heading) => heading.textContent),
    width: innerWidth,
    scrollWidth: document.documentElement.scrollWidth,
    tooWide: all('main *')
                 .filter((e) => shown(e) && !e.closest('.scroll *') && box(e).right > innerWidth + 1)
                 .map((e) => e.outerHTML.slice(0, 120)),
    bars: all('section').map(
        (section) => [section.querySelector('h2').textContent, section.querySelectorAll('.bar').length]),
    curves: all('.drawing svg').map((image) => image.querySelectorAll('.curve').length).filter((n) => n > 0),
    drawings: all('.drawing').length,
    drawn: all('.drawing svg').filter((image) => box(image).height > 40).length,
    withoutAlternative: all('.drawing')
                            .filter(
                                (d) => !d.querySelector(':scope > svg:is([role="img"], [role="group"])') ||
                                    d.firstChild.getAttribute('aria-label').length < 20)
                            .length,
    badNumbers:
        all('svg *').filter((e) => [...e.attributes].some((a) => /NaN|undefined|Infinity/.test(a.value))).length,
    overlaps,
    outside,
    faint: texts.filter((e) => contrast(e) < (e.matches('text.tag') ? 3 : 4.5))
               .map((e) => `${textOf(e)} ${contrast(e).toFixed(2)}`),
    paper: luminance(channels(getComputedStyle(document.body).backgroundColor)),
    foreign: all('main script, main img, main iframe, main link').length,
  };
})()
