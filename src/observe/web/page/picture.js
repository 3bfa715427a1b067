// The picture: ranks as cells on a canvas. Cells are written into a pixel buffer, which takes some
// milliseconds for 100,000 of them; names and marks are drawn over it.

const MOST_MARKS = 300;
const COSIEST_PX = 46;   // the height of a cell at most when all is shown in a small window
const CELLS_ACROSS = 5;  // … and in a large one this part of its width
const MARGIN_PX = 10;
const CLOSEST = 2;        // so many times that at the largest scale
const READABLE_PX = 24;   // the width of a cell
const SHADES = 64;

// "#rrggbb" as a pixel of an ImageData on a little-endian machine, which all browsers run on.
function pixelOf(colour) {
  const value = parseInt(colour.trim().slice(1), 16);
  return (0xff000000 | (value & 0xff) << 16 | (value & 0xff00) | value >> 16) >>> 0;
}

function mixed(a, b, share) {
  let out = 0xff000000;
  for (const shift of [0, 8, 16]) {
    const from = a >>> shift & 0xff, to = b >>> shift & 0xff;
    out |= Math.round(from + (to - from) * share) << shift;
  }
  return out >>> 0;
}

class Picture {
  constructor(canvas, model) {
    this.canvas = canvas;
    this.model = model;
    this.context = canvas.getContext('2d');  // before it is drawn on, what is behind it shows
    this.layout = layoutOf(model.nodes, 1);
    this.figure = FIGURES[0];
    this.most = 1;
    this.hasUnknown = false;
    this.matching = null;
    this.chosen = -1;
    this.scale = 1;      // device pixels per unit
    this.x = 0;          // of the layout's corner, in device pixels
    this.y = 0;
    this.isFitted = true;
    this.isAsked = false;
    this.drawMs = 0;
    this.readColours();
    new ResizeObserver(() => this.resize()).observe(canvas);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { this.readColours(); this.ask(); });
  }

  readColours() {
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue('--' + name).trim();
    this.ink = colour('ink');
    this.soft = colour('soft');
    this.choice = colour('choice');
    this.line = colour('line');
    this.surface = colour('surface');
    this.back = pixelOf(colour('surface'));
    this.raised = pixelOf(colour('raised'));
    this.nodeColour = pixelOf(colour('node'));
    this.unknown = pixelOf(colour('unknown'));
    this.stateColours = {};
    for (const state of Object.keys(STATES)) this.stateColours[state] = pixelOf(colour('state-' + state));
    const low = pixelOf(colour('low')), high = pixelOf(colour('high'));
    this.shades = Array.from({length: SHADES}, (_, i) => mixed(low, high, i / (SHADES - 1)));
  }

  // The nodes have changed.
  arrange() {
    this.fitCanvas();
    const room = this.canvas.parentElement;
    const highest = parseFloat(getComputedStyle(room).maxHeight);
    this.layout = layoutOf(this.model.nodes, this.canvas.clientWidth / Math.max(1, highest));
    if (this.chosen >= this.model.ranks) this.chosen = -1;
    // Around a small job the room is as high as the job.
    const edges = room.offsetHeight - room.clientHeight;
    const wished = this.layout.height * this.widest() / this.ratio + 2 * MARGIN_PX + edges;
    room.style.height = this.layout.height > 0 && wished < highest ? `${Math.ceil(wished)}px` : '';
    this.fitCanvas();
    this.fit();
  }

  resize() {
    if (!this.fitCanvas()) return;
    if (this.isFitted) return this.arrange();
    this.ask();
  }

  // Whether the canvas has got another size, that of its box.
  fitCanvas() {
    const ratio = window.devicePixelRatio || 1;
    const width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
    const height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    if (width === this.canvas.width && height === this.canvas.height && this.buffer) return false;
    this.ratio = ratio;
    this.canvas.width = width;
    this.canvas.height = height;
    this.fontSize = 0;  // a new size resets the context
    this.image = this.context.createImageData(width, height);
    this.buffer = new Uint32Array(this.image.data.buffer);
    return true;
  }

  show(figure) {
    this.figure = figure;
    this.ask();
  }

  ask() {
    if (this.isAsked) return;
    this.isAsked = true;
    requestAnimationFrame(() => { this.isAsked = false; this.draw(); });
  }

  cosiest() {
    return Math.max(COSIEST_PX * this.ratio, this.canvas.width / CELLS_ACROSS);
  }

  // The largest scale at which the width is seen.
  widest() {
    const wide = (this.canvas.width - 2 * MARGIN_PX * this.ratio) / Math.max(1, this.layout.width);
    return Math.min(wide, this.cosiest() / CELL);
  }

  // Where all is seen.
  fitted() {
    const high = (this.canvas.height - 2 * MARGIN_PX * this.ratio) / Math.max(1, this.layout.height);
    return Math.min(this.widest(), high);
  }

  fit() {
    if (!this.buffer) return this.resize();
    this.scale = this.fitted();
    this.x = (this.canvas.width - this.layout.width * this.scale) / 2;
    this.y = (this.canvas.height - this.layout.height * this.scale) / 2;
    this.isFitted = true;
    this.ask();
  }

  // Zooms around a point in CSS pixels; without one, around what is chosen or the middle.
  zoom(factor, at) {
    const closest = CLOSEST * this.cosiest() / CELL;
    const scale = Math.min(closest, Math.max(this.fitted(), this.scale * factor));
    if (scale <= this.fitted()) return this.fit();
    let [x, y] = at ? [at[0] * this.ratio, at[1] * this.ratio] : [this.canvas.width / 2, this.canvas.height / 2];
    if (!at && this.chosen >= 0) {
      const box = this.boxOf(this.chosen);
      [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
    }
    this.x = x - (x - this.x) * scale / this.scale;
    this.y = y - (y - this.y) * scale / this.scale;
    this.scale = scale;
    this.isFitted = false;
    this.keepInside();
  }

  pan(dx, dy) {
    this.x += dx * this.ratio;
    this.y += dy * this.ratio;
    this.isFitted = false;
    this.keepInside();
  }

  keepInside() {
    const kept = (at, size, room) => size <= room ? (room - size) / 2 : Math.min(20, Math.max(room - size - 20, at));
    this.x = kept(this.x, this.layout.width * this.scale, this.canvas.width);
    this.y = kept(this.y, this.layout.height * this.scale, this.canvas.height);
    this.ask();
  }

  choose(rank) {
    this.chosen = rank;
    if (rank >= 0) this.bringIn(this.boxOf(rank));
    this.ask();
  }

  bringIn(box) {
    const edge = 24 * this.ratio;
    if (box.x < edge) this.x += edge - box.x;
    if (box.y < edge) this.y += edge - box.y;
    if (box.x + box.width > this.canvas.width - edge) this.x -= box.x + box.width - this.canvas.width + edge;
    if (box.y + box.height > this.canvas.height - edge) this.y -= box.y + box.height - this.canvas.height + edge;
  }

  // Whether numbers of ranks can be read.
  isClose() {
    return this.layout.shape.cellWidth * this.scale >= READABLE_PX * this.ratio;
  }

  // So near that its number can be read, in the middle; where all is shown so near, all stays shown.
  showClosely(rank) {
    const {shape} = this.layout;
    if (this.isFitted && this.isClose()) return this.choose(rank);
    this.scale = Math.max(this.scale, 34 * this.ratio / shape.cellWidth);
    const node = this.model.nodeOfRank[rank];
    this.x = this.canvas.width / 2 - (this.layout.x[node] + shape.width / 2) * this.scale;
    this.y = this.canvas.height / 2 - (this.layout.y[node] + shape.height / 2) * this.scale;
    this.isFitted = false;
    this.chosen = rank;
    this.keepInside();
  }

  cellOf(index) {
    const {columns, cellWidth} = this.layout.shape;
    return [NODE_EDGE + (index % columns) * (cellWidth + GAP),
      NODE_EDGE + this.layout.shape.strip + Math.floor(index / columns) * (CELL + GAP)];
  }

  boxOf(rank) {
    const node = this.model.nodeOfRank[rank];
    const [dx, dy] = this.cellOf(rank - this.model.nodes.first_rank[node]);
    return {
      x: this.x + (this.layout.x[node] + dx) * this.scale, y: this.y + (this.layout.y[node] + dy) * this.scale,
      width: this.layout.shape.cellWidth * this.scale, height: CELL * this.scale,
    };
  }

  // {node, rank} at a point in CSS pixels; rank -1 beside the cells, node -1 beside the nodes.
  at(cssX, cssY) {
    const x = (cssX * this.ratio - this.x) / this.scale, y = (cssY * this.ratio - this.y) / this.scale;
    const {shape} = this.layout;
    const node = this.layout.x.findIndex((left, i) => x >= left && x < left + shape.width &&
        y >= this.layout.y[i] && y < this.layout.y[i] + shape.height);
    if (node < 0) return {node, rank: -1};
    const column = Math.floor((x - this.layout.x[node] - NODE_EDGE) / (shape.cellWidth + GAP));
    const row = Math.floor((y - this.layout.y[node] - NODE_EDGE - shape.strip) / (CELL + GAP));
    const index = row * shape.columns + column;
    const isCell = column >= 0 && column < shape.columns && row >= 0 && index < this.model.nodes.nproc[node];
    return {node, rank: isCell ? this.model.nodes.first_rank[node] + index : -1};
  }

  // The nearest rank in a direction, for the arrow keys.
  neighbour(rank, dx, dy) {
    const node = this.model.nodeOfRank[rank];
    const {columns} = this.layout.shape;
    const index = rank - this.model.nodes.first_rank[node];
    const column = index % columns + dx, next = index + dx + dy * columns;
    if (column >= 0 && column < columns && next >= 0 && next < this.model.nodes.nproc[node]) return rank + dx + dy * columns;
    const from = this.boxOf(rank);
    let best = rank, nearest = Infinity;
    this.layout.x.forEach((_, other) => {
      const ranks = this.model.nodes.nproc[other];
      if (other === node || ranks === 0) return;
      const ahead = (dx * (this.layout.x[other] - this.layout.x[node]) + dy * (this.layout.y[other] - this.layout.y[node]));
      const aside = Math.abs(dx === 0 ? this.layout.x[other] - this.layout.x[node] : this.layout.y[other] - this.layout.y[node]);
      if (ahead <= 0 || ahead + 4 * aside >= nearest) return;
      nearest = ahead + 4 * aside;
      best = this.nearestRank(other, from);
    });
    return best;
  }

  nearestRank(node, from) {
    const first = this.model.nodes.first_rank[node];
    let best = first, nearest = Infinity;
    for (let i = 0; i < this.model.nodes.nproc[node]; ++i) {
      const box = this.boxOf(first + i);
      const distance = Math.abs(box.x - from.x) + Math.abs(box.y - from.y);
      if (distance < nearest) { nearest = distance; best = first + i; }
    }
    return best;
  }

  colourOf(rank, node) {
    const state = this.model.stateOf(rank);
    const isShown = this.figure.id === 'state' || KEPT_STATES.includes(state);
    let colour = this.stateColours[state] ?? this.unknown;
    if (!isShown) {
      const value = this.figure.of(this.model, rank, node);
      colour = isNumber(value)
        ? this.shades[Math.max(0, Math.min(SHADES - 1, Math.round(value / this.most * (SHADES - 1))))] : this.unknown;
    }
    return this.matching && !this.matching[node] ? mixed(colour, this.back, 0.82) : colour;
  }

  // The value of the darkest colour, and whether a rank has no value.
  measure() {
    if (this.figure.id === 'state') return;
    let most = this.figure.most ?? this.figure.least;
    let hasUnknown = false;
    for (let rank = 0; rank < this.model.ranks; ++rank) {
      const value = this.figure.of(this.model, rank, this.model.nodeOfRank[rank]);
      if (!this.figure.most && value > most) most = value;
      hasUnknown ||= !isNumber(value) && !KEPT_STATES.includes(this.model.stateOf(rank));
    }
    this.most = most;
    this.hasUnknown = hasUnknown;
  }

  draw() {
    if (!this.buffer) return;
    const start = performance.now();
    this.measure();
    this.buffer.fill(this.back);
    for (const group of this.layout.groups) {
      this.fill(this.x + group.x * this.scale, this.y + group.y * this.scale, group.width * this.scale,
        group.height * this.scale, group.level % 2 ? this.back : this.raised);
    }
    this.drawNodes();
    this.context.putImageData(this.image, 0, 0);
    this.drawNames();
    this.drawMarks();
    this.drawMs = performance.now() - start;
    this.onDrawn?.();
  }

  fill(x, y, width, height, colour) {
    const right = Math.min(this.canvas.width, Math.round(x + width)), left = Math.max(0, Math.round(x));
    const bottom = Math.min(this.canvas.height, Math.round(y + height)), top = Math.max(0, Math.round(y));
    if (right <= left) return;
    for (let row = top; row < bottom; ++row) {
      this.buffer.fill(colour, row * this.canvas.width + left, row * this.canvas.width + right);
    }
  }

  isSeen(x, y, width, height) {
    return x + width > 0 && y + height > 0 && x < this.canvas.width && y < this.canvas.height;
  }

  // Within each node cells are at the same whole pixels, so that the picture has an even grain.
  drawNodes() {
    const {shape} = this.layout;
    const {nodes} = this.model;
    const width = shape.width * this.scale, height = shape.height * this.scale;
    const high = Math.max(1, Math.floor(CELL * this.scale)), wide = Math.max(1, Math.floor(shape.cellWidth * this.scale));
    const cells = Array.from({length: shape.columns * shape.rows}, (_, i) => this.cellOf(i).map((at) => Math.round(at * this.scale)));
    const hasBox = width > 14 * this.ratio;
    for (let node = 0; node < nodes.name.length; ++node) {
      const x = Math.round(this.x + this.layout.x[node] * this.scale), y = Math.round(this.y + this.layout.y[node] * this.scale);
      if (!this.isSeen(x, y, width, height)) continue;
      if (hasBox) this.fill(x, y, width, height, this.nodeColour);
      for (let i = 0; i < nodes.nproc[node]; ++i) {
        this.fill(x + cells[i][0], y + cells[i][1], wide, high, this.colourOf(nodes.first_rank[node] + i, node));
      }
    }
  }

  // To set a font takes longer than to write a word in it.
  setFont(size) {
    if (size === this.fontSize) return;
    this.fontSize = size;
    this.context.font = `${size}px system-ui, "DejaVu Sans", sans-serif`;
  }

  text(words, x, y, width, size, colour) {
    this.context.fillStyle = colour;
    this.setFont(size);
    let shown = words;
    if (this.context.measureText(words).width > width) {
      const letters = Math.floor(width / (size * 0.56));
      if (letters < 4) return;
      shown = `${words.slice(0, letters - 1)}…`;
    }
    this.context.fillText(shown, x, y);
  }

  drawNames() {
    const {shape, groups} = this.layout;
    this.context.textBaseline = 'middle';
    this.context.textAlign = 'left';
    const least = 7 * this.ratio, smallest = 9 * this.ratio, largest = 15 * this.ratio;
    for (const group of groups) {
      const strip = group.strip * this.scale;
      const x = this.x + group.x * this.scale, y = this.y + group.y * this.scale, width = group.width * this.scale;
      if (!group.label || strip < least || !this.isSeen(x, y, width, strip)) continue;
      const size = Math.max(smallest, Math.min(largest, strip * 0.85));
      const left = Math.max(x, 0) + 5 * this.ratio;
      this.text(group.label, left, y + strip / 2, x + width - left - 3, size, this.soft);
    }
    const strip = (shape.strip + NODE_EDGE) * this.scale;
    if (strip < smallest * 1.2) return;
    const {name} = this.model.nodes;
    for (let node = 0; node < name.length; ++node) {
      const x = this.x + this.layout.x[node] * this.scale, y = this.y + this.layout.y[node] * this.scale;
      if (!this.isSeen(x, y, shape.width * this.scale, shape.height * this.scale)) continue;
      const left = Math.max(x, 0) + 4 * this.ratio;
      this.text(name[node], left, y + strip / 2, x + (shape.width - 1) * this.scale - left,
        Math.max(smallest, Math.min(largest, strip * 0.8)), this.ink);
      this.drawNumbers(node);
    }
  }

  drawNumbers(node) {
    const first = this.model.nodes.first_rank[node];
    const size = Math.min(26 * this.ratio, CELL * this.scale * 0.4);
    if (size < 7.5 * this.ratio) return;
    this.context.textAlign = 'center';
    for (let i = 0; i < this.model.nodes.nproc[node]; ++i) {
      const box = this.boxOf(first + i);
      const pixel = this.colourOf(first + i, node);
      const light = (pixel & 0xff) * 0.3 + (pixel >> 8 & 0xff) * 0.59 + (pixel >> 16 & 0xff) * 0.11;
      const colour = light > 140 ? '#10161e' : '#ffffff';
      const state = this.model.stateOf(first + i);
      // A problem is shown by a sign as well as by its colour.
      const number = `${first + i}`;
      const fits = (words) => this.context.measureText(words).width < box.width;
      this.context.fillStyle = colour;
      this.setFont(size);
      const words = (TROUBLE.includes(state) ? [`${number} !`, '!'] : [number]).find(fits);
      if (words) this.context.fillText(words, box.x + box.width / 2, box.y + box.height / 2);
    }
    this.context.textAlign = 'left';
  }

  // Rings around cells in trouble that are too small to be seen, and around the chosen one.
  drawMarks() {
    const ring = (box, colour, width, least = 7) => {
      const radius = Math.max(least * this.ratio, Math.hypot(box.width, box.height) / 2 + 3 * this.ratio);
      this.context.beginPath();
      this.context.arc(box.x + box.width / 2, box.y + box.height / 2, radius, 0, 2 * Math.PI);
      this.context.lineWidth = width + 2 * this.ratio;
      this.context.strokeStyle = this.surface;
      this.context.stroke();
      this.context.lineWidth = width;
      this.context.strokeStyle = colour;
      this.context.stroke();
    };
    if (CELL * this.scale < 12 * this.ratio) {
      for (const rank of this.model.troubled().slice(0, MOST_MARKS)) {
        const colour = getComputedStyle(document.documentElement).getPropertyValue('--state-' + this.model.stateOf(rank));
        ring(this.boxOf(rank), colour, 2 * this.ratio);
      }
    }
    if (this.chosen < 0) return;
    const box = this.boxOf(this.chosen);
    if (box.height < 12 * this.ratio) return ring(box, this.choice, 2.5 * this.ratio, 11);  // around a mark
    this.context.lineWidth = 3 * this.ratio;
    this.context.strokeStyle = this.choice;
    this.context.strokeRect(box.x, box.y, box.width, box.height);
  }
}
