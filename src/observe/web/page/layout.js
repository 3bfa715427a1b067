// Where each node stands in the picture: domains within domains, in units of a tenth of a rank's cell.

const CELL = 10;
const GAP = 1;
const NODE_EDGE = 2;
const NODE_STRIP = 5;    // for its name
const LARGE_STRIP = 3;   // … where it is shown so large that this is enough
const GROUP_EDGE = 4;
const GROUP_STRIP = 11;  // for an innermost domain's name
const LARGE_GROUP_STRIP = 4;
const MOST_LARGE = 64;   // ranks of a job that is shown so large
const OUTER = 3;          // so much wider are edges and strips of each domain around others
const INNER_ASPECT = 1.6;

// The cells of a node: as many columns as make it about twice as wide as high.
function nodeShape(mostRanks, isLarge) {
  const ranks = Math.max(1, mostRanks);
  const wished = ranks <= 4 ? ranks : Math.ceil(Math.sqrt(2 * ranks));
  let columns = wished;
  for (let c = wished; c <= ranks && c < 2 * wished; ++c) {
    if (ranks % c === 0) { columns = c; break; }
  }
  const cellWidth = columns === 1 ? 3 * CELL : columns === 2 ? 1.5 * CELL : CELL;
  const rows = Math.ceil(ranks / columns);
  const strip = isLarge ? LARGE_STRIP : NODE_STRIP;
  return {
    columns, rows, cellWidth, strip,
    width: columns * (cellWidth + GAP) - GAP + 2 * NODE_EDGE,
    height: rows * (CELL + GAP) - GAP + 2 * NODE_EDGE + strip,
  };
}

function tree(locations) {
  const root = {label: '', children: new Map(), nodes: []};
  locations.forEach((location, i) => {
    const path = (location ?? '').split('/').filter(Boolean).slice(0, -1);
    let at = root;
    for (const part of path) {
      if (!at.children.has(part)) at.children.set(part, {label: part, children: new Map(), nodes: []});
      at = at.children.get(part);
    }
    at.nodes.push(i);
  });
  return root;
}

// A domain that only holds another one is no box of its own.
function shortened(group) {
  const children = [...group.children.values()].map(shortened);
  if (children.length === 1 && group.nodes.length === 0) {
    const [only] = children;
    return {...only, label: [group.label, only.label].filter(Boolean).join(' / ')};
  }
  return {label: group.label, children, nodes: group.nodes};
}

// Boxes in rows, in their order; of some widths the one that fills the wished shape best, together
// with what is around them.
function flow(boxes, gap, aspect, around) {
  const area = boxes.reduce((sum, box) => sum + (box.width + gap) * (box.height + gap), 0);
  const used = boxes.reduce((sum, box) => sum + box.width * box.height, 0);
  const widest = Math.max(...boxes.map((box) => box.width));
  let best = null;
  for (let factor = 0.75; factor < 1.7; factor += 0.05) {
    const limit = Math.max(widest, Math.sqrt(area * aspect) * factor);
    const places = [];
    let x = 0, y = 0, high = 0, width = 0;
    for (const box of boxes) {
      if (x > 0 && x + box.width > limit) { x = 0; y += high + gap; high = 0; }
      places.push([x, y]);
      width = Math.max(width, x + box.width);
      high = Math.max(high, box.height);
      x += box.width + gap;
    }
    const height = y + high;
    const cost = Math.max((width + around.width) / aspect, height + around.height) * (1.3 - 0.3 * used / (width * height));
    if (!best || cost < best.cost) best = {places, width, height, cost};
  }
  return best;
}

function layoutOf(nodes, aspect) {
  const isLarge = nodes.nproc.reduce((sum, nproc) => sum + nproc, 0) <= MOST_LARGE;
  const shape = nodeShape(nodes.nproc.reduce((most, nproc) => Math.max(most, nproc), 1), isLarge);
  const count = nodes.name.length;
  const layout = {
    shape, groups: [], x: new Float64Array(count), y: new Float64Array(count), width: 0, height: 0,
  };
  if (count === 0) return layout;

  // Without a name the outermost domain is no box, and needs no edge.
  const measure = (group, wished, isInner) => {
    const inner = group.children.map((child) => measure(child, INNER_ASPECT, true));
    const own = group.nodes.map(() => ({width: shape.width, height: shape.height}));
    const depth = inner.reduce((most, child) => Math.max(most, child.depth + 1), 0);
    const edge = isInner || group.label ? GROUP_EDGE * OUTER ** Math.max(0, depth - 1) : 0;
    const strip = group.label ? (isLarge ? LARGE_GROUP_STRIP : GROUP_STRIP) * OUTER ** depth : 0;
    const around = {width: 2 * edge, height: 2 * edge + strip};
    const packed = flow([...inner, ...own], depth > 0 ? Math.max(GROUP_EDGE, 2 * edge) : GROUP_EDGE / 2, wished, around);
    return {
      group, inner, packed, depth, edge, strip,
      width: packed.width + around.width, height: packed.height + around.height,
    };
  };
  const place = (box, x, y, level) => {
    if (level > 0 || box.group.label) {
      layout.groups.push({label: box.group.label, x, y, width: box.width, height: box.height, strip: box.strip + box.edge, level});
    }
    const left = x + box.edge;
    const top = y + box.edge + box.strip;
    box.packed.places.forEach(([dx, dy], i) => {
      if (i < box.inner.length) return place(box.inner[i], left + dx, top + dy, level + 1);
      const node = box.group.nodes[i - box.inner.length];
      layout.x[node] = left + dx;
      layout.y[node] = top + dy;
    });
  };
  const all = measure(shortened(tree(nodes.location)), aspect, false);
  place(all, 0, 0, 0);
  layout.width = all.width;
  layout.height = all.height;
  return layout;
}
