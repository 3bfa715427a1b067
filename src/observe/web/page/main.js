// Who reacts to what.

const model = new Model();
const panel = new Panel(model);
const picture = new Picture($('picture'), model);
const table = new Table(model, (node) => {
  if (model.nodes.nproc[node] > 0) choose(model.nodes.first_rank[node]);
});

function choose(rank, closely = false) {
  if (closely && rank >= 0) picture.showClosely(rank);
  else picture.choose(rank);
  panel.showDetails(rank);
  setText($('chosen'), rank < 0 ? '' : panel.lineOf(rank));
}

// Only what has figures can be chosen; a report has states alone.
function offerFigures() {
  const offered = FIGURES.filter((figure) => !figure.from || figure === picture.figure || model.hasFigure(...figure.from));
  const ids = offered.map(({id}) => id);
  if (fill($('figure'), ids, () => offered.map(({id, label}) => element('option', label, {value: id})))) {
    $('figure').value = picture.figure.id;
  }
  $('figure').parentElement.hidden = offered.length === 1;
}

function refresh() {
  panel.show();
  offerFigures();
  panel.showDetails(picture.chosen);
  table.show();
  const troubled = model.troubled().length;
  $('trouble').hidden = troubled === 0;
  $('empty').hidden = model.nodes.name.length > 0;
  setText($('empty'), panel.hasEnded() ? 'No rank was started.' : 'Ranks get their places when the nodes have joined.');
  const size = `${counted(model.ranks, 'rank')} on ${counted(model.nodes.name.length, 'node')}`;
  $('picture').setAttribute('aria-label', `Picture of ${size}${troubled ? `, ${troubled} with a problem` : ''}`);
  picture.ask();
}

picture.onDrawn = () => panel.showLegend(picture);

function search() {
  const matching = model.matches($('search').value);
  picture.matching = matching;
  table.filter(matching);
  const found = matching ? matching.filter(Boolean).length : 0;
  const rank = model.rankCalled($('search').value);
  setText($('found'), !matching ? '' : found === 0 ? 'nothing found'
    : rank >= 0 && found === 1 ? rankText({rank, node: model.nodes.name[model.nodeOfRank[rank]]}) : counted(found, 'node'));
  picture.ask();
}

// The searched rank itself, or the first rank of the next node that fits.
function goToFound() {
  const rank = model.rankCalled($('search').value);
  if (rank >= 0) return choose(rank, true);
  if (!picture.matching) return;
  const from = picture.chosen < 0 ? -1 : model.nodeOfRank[picture.chosen];
  const count = model.nodes.name.length;
  for (let i = 1; i <= count; ++i) {
    const node = (from + i) % count;
    if (picture.matching[node] && model.nodes.nproc[node] > 0) return choose(model.nodes.first_rank[node], true);
  }
}

function nextInTrouble() {
  const ranks = model.troubled();
  if (ranks.length) choose(ranks.find((rank) => rank > picture.chosen) ?? ranks[0], true);
}

function step(dx, dy) {
  if (model.ranks === 0) return;
  choose(picture.chosen < 0 ? 0 : picture.neighbour(picture.chosen, dx, dy));
}

// In the picture: elsewhere these keys scroll the page or press a button.
const PICTURE_KEYS = {
  ArrowLeft: () => step(-1, 0), ArrowRight: () => step(1, 0), ArrowUp: () => step(0, -1), ArrowDown: () => step(0, 1),
  Home: () => model.ranks && choose(0), End: () => model.ranks && choose(model.ranks - 1),
  Enter: () => {
    if (picture.chosen < 0) return;
    if (picture.isClose()) $('details').focus();
    else choose(picture.chosen, true);
  },
};
const PAGE_KEYS = {
  '/': () => $('search').focus(),
  n: () => { nextInTrouble(); $('picture').focus(); },
  '+': () => picture.zoom(1.5), '=': () => picture.zoom(1.5), '-': () => picture.zoom(1 / 1.5), 0: () => picture.fit(),
  Escape: () => { choose(-1); picture.fit(); },
};

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT)$/.test(event.target.tagName)) return;
  const act = PAGE_KEYS[event.key] ?? (event.target === $('picture') ? PICTURE_KEYS[event.key] : null);
  if (!act) return;
  event.preventDefault();
  act();
});

$('search').addEventListener('input', search);
$('search').addEventListener('keydown', (event) => {
  if (event.key === 'Enter') goToFound();
  if (event.key === 'Escape') { $('search').value = ''; search(); $('picture').focus(); }
});
$('trouble').addEventListener('click', nextInTrouble);
$('in').addEventListener('click', () => picture.zoom(1.5));
$('out').addEventListener('click', () => picture.zoom(1 / 1.5));
$('fit').addEventListener('click', () => picture.fit());
$('figure').addEventListener('change', () => picture.show(FIGURES.find(({id}) => id === $('figure').value)));

function pointOf(event) {
  const box = $('picture').getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function showHint(event) {
  const [x, y] = pointOf(event);
  const {node, rank} = picture.at(x, y);
  const hint = $('hint');
  hint.hidden = node < 0;
  if (node < 0) return;
  const {figure} = picture;
  const value = rank >= 0 && figure.of ? figure.of(model, rank, node) : null;
  const place = model.nodes.location[node];
  setText(hint, [rank >= 0 ? panel.lineOf(rank) : model.nodes.name[node],
    isNumber(value) ? `${figure.label}: ${figure.text(value)}` : '', place, rank >= 0 ? model.lineOf(rank) : ''].filter(Boolean).join('\n'));
  const left = Math.min(x + 14, $('picture').clientWidth - hint.offsetWidth - 4);
  const top = y + 18 + hint.offsetHeight > $('picture').clientHeight ? y - hint.offsetHeight - 8 : y + 18;
  hint.style.transform = `translate(${Math.max(4, left)}px, ${Math.max(4, top)}px)`;
}

// One finger or the mouse moves the picture, two fingers zoom it; a press without a move chooses.
const pressed = new Map();
let moved = false;

$('picture').addEventListener('pointerdown', (event) => {
  $('picture').setPointerCapture(event.pointerId);
  if (pressed.size === 0) moved = false;
  pressed.set(event.pointerId, [event.clientX, event.clientY]);
});
$('picture').addEventListener('pointermove', (event) => {
  const before = pressed.get(event.pointerId);
  if (!before) return showHint(event);
  $('hint').hidden = true;
  const now = [event.clientX, event.clientY];
  if (!moved && Math.hypot(now[0] - before[0], now[1] - before[1]) < 4) return;
  moved = true;
  if (pressed.size === 2) {
    const other = [...pressed].find(([id]) => id !== event.pointerId)[1];
    const distance = (at) => Math.max(1, Math.hypot(at[0] - other[0], at[1] - other[1]));
    picture.zoom(distance(now) / distance(before), pointOf(event));
  } else {
    picture.pan(now[0] - before[0], now[1] - before[1]);
  }
  pressed.set(event.pointerId, now);
});
for (const name of ['pointerup', 'pointercancel']) {
  $('picture').addEventListener(name, (event) => {
    pressed.delete(event.pointerId);
    if (!moved && name === 'pointerup') choose(picture.at(...pointOf(event)).rank);
  });
}
$('picture').addEventListener('pointerleave', () => { $('hint').hidden = true; });
$('picture').addEventListener('dblclick', (event) => {
  const {rank} = picture.at(...pointOf(event));
  if (rank >= 0) choose(rank, true);
  else picture.zoom(2, pointOf(event));
});
// The page scrolls by the wheel unless the picture is in use.
$('picture').addEventListener('wheel', (event) => {
  if (!event.ctrlKey && document.activeElement !== $('picture')) return;
  event.preventDefault();
  picture.zoom(Math.exp(-event.deltaY * 0.0016), pointOf(event));
}, {passive: false});

function tellLink(kind, words) {
  $('link').dataset.link = kind;
  setProse($('link'), words);
  const knowsNothing = kind === 'refused' && !model.job;
  for (const part of document.querySelectorAll('main, #table, .skip')) part.hidden = knowsNothing;
}

const stream = new Stream('', (name, value) => {
  if (name === 'job') model.takeJob(value);
  if (name === 'nodes') { model.takeNodes(value); picture.arrange(); search(); }
  if (name === 'figures') model.takeFigures(value);
  if (panel.hasEnded()) {
    stream.isOver = true;
    tellLink('over', 'the job has ended');
  }
  refresh();
}, (kind, words) => { if (!stream.isOver) tellLink(kind, words); });

const report = $('report');
if (report) {
  model.takeReport(JSON.parse(report.textContent));
  picture.arrange();
  refresh();
  tellLink('over', 'report of the job');
} else {
  stream.token = takeToken();
  stream.run();
  setInterval(() => panel.showTime(), 1000);
}
