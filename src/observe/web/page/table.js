// The same in words: a table of the nodes, some at a time, so that it is as long for 12,500 as for 50.

const ROWS = 50;
// With whether any row has a value: other columns are left out.
const COLUMNS = [
  ['Node'], ['Ranks'], ['State'], ['Place', (m) => m.nodes.location.some(Boolean)],
  ['Host CPU', (m) => hasNumber(m.figures.nodes.cpu)], ['Host memory', (m) => hasNumber(m.figures.nodes.memory)],
  ['In, MB/s', (m) => hasNumber(m.figures.nodes.received)], ['Out, MB/s', (m) => hasNumber(m.figures.nodes.sent)],
  ['Last output', (m) => hasNumber(m.figures.ranks.output_age)], ['Last line', (m) => m.figures.ranks.line?.some(Boolean)],
];

function hasNumber(values) {
  return Boolean(values?.some(isNumber));
}

class Table {
  constructor(model, choose) {
    this.model = model;
    this.choose = choose;
    this.matching = null;
    this.first = 0;
    $('table-head').replaceChildren(...COLUMNS.map(([word]) => element('th', word, {scope: 'col'})));
    $('before').addEventListener('click', () => this.turn(-ROWS));
    $('after').addEventListener('click', () => this.turn(ROWS));
    $('table').addEventListener('toggle', () => this.show());
  }

  turn(rows) {
    this.first += rows;
    this.show();
  }

  filter(matching) {
    this.matching = matching;
    this.first = 0;
    this.show();
  }

  cells(node) {
    const {model} = this;
    const {name, first_rank, nproc, location} = model.nodes;
    const write = (value, words) => isNumber(value) ? words(value) : '';
    const ranks = nproc[node] === 0 ? 'none' : nproc[node] === 1 ? `${first_rank[node]}`
      : `${first_rank[node]}–${first_rank[node] + nproc[node] - 1}`;
    const silences = Array.from({length: nproc[node]}, (_, i) => model.figureOf('output_age', first_rank[node] + i));
    const speaker = model.speaker(first_rank[node], nproc[node]);
    return [name[node], ranks, model.statesOf(node), location[node] ?? '',
      hostCpu(model, node), hostMemory(model, node),
      write(model.nodeFigure('received', node), (v) => rounded(v, 1)), write(model.nodeFigure('sent', node), (v) => rounded(v, 1)),
      write(Math.min(...silences.map((silence) => silence ?? Infinity)), (seconds) => `${age(seconds)} ago`),
      speaker < 0 ? '' : `rank ${speaker}: ${model.lineOf(speaker)}`];
  }

  show() {
    if (!$('table').open) return;
    const rows = [];
    this.model.nodes.name.forEach((_, node) => { if (!this.matching || this.matching[node]) rows.push(node); });
    this.first = Math.max(0, Math.min(this.first, Math.floor((rows.length - 1) / ROWS) * ROWS));
    const shown = rows.slice(this.first, this.first + ROWS);
    const fits = rows.length <= ROWS;
    setText($('pages'), rows.length === 0 ? 'no node' : fits ? counted(rows.length, 'node')
      : `nodes ${this.first + 1} to ${this.first + shown.length} of ${rows.length.toLocaleString('en')}`);
    $('before').hidden = fits;
    $('after').hidden = fits;
    $('before').disabled = this.first === 0;
    $('after').disabled = this.first + ROWS >= rows.length;
    this.write(shown);
  }

  // Rows stay where they are, so that neither focus nor a reader's place is lost.
  write(shown) {
    const body = $('table-body');
    const has = COLUMNS.map(([, isThere]) => !isThere || Boolean(isThere(this.model)));
    [...$('table-head').cells].forEach((cell, column) => { cell.hidden = !has[column]; });
    while (body.rows.length > shown.length) body.deleteRow(-1);
    while (body.rows.length < shown.length) {
      const row = body.insertRow();
      const head = element('th', undefined, {scope: 'row'});
      const button = element('button');
      button.addEventListener('click', () => this.choose(Number(row.dataset.node)));
      head.append(button);
      row.append(head, ...COLUMNS.slice(1).map(() => element('td')));
    }
    shown.forEach((node, i) => {
      const row = body.rows[i];
      row.dataset.node = node;
      this.cells(node).forEach((text, column) => {
        row.cells[column].hidden = !has[column];
        setText(column === 0 ? row.cells[0].firstChild : row.cells[column], text);
      });
    });
  }
}
