// What is known of the job: the three parts of a picture (toprun.live/1), or a report made into them.

const MOST_LINES = 10;  // of a rank beside the picture

class Model {
  constructor() {
    this.job = null;
    this.nodes = {name: [], location: [], first_rank: [], nproc: [], logs: []};
    this.figures = {nodes: {}, ranks: {}};
    this.ranks = 0;
    this.early = -1;
    this.hung = new Set();
    this.nodeOfRank = new Int32Array(0);
    this.heardAt = 0;
  }

  takeJob(job) {
    this.job = job;
    const cause = job.attempts?.at(-1)?.cause;
    this.early = cause?.kind === 'ended_early' ? cause.rank : -1;
    const hasEnded = isNumber(job.exit_code);
    job.was_ended ??= hasEnded && wasEnded(job.state, cause);
    const suspects = hasEnded && !job.hang?.over ? job.hang?.suspects ?? [] : [];
    this.hung = new Set(suspects.map(({rank}) => rank));
    this.heardAt = performance.now();
  }

  takeNodes(nodes) {
    this.nodes = nodes;
    let ranks = 0;
    nodes.nproc.forEach((nproc, i) => { ranks = Math.max(ranks, nodes.first_rank[i] + nproc); });
    this.ranks = ranks;
    this.nodeOfRank = new Int32Array(ranks).fill(-1);
    nodes.nproc.forEach((nproc, i) => {
      const first = nodes.first_rank[i];
      this.nodeOfRank.fill(i, first, first + nproc);
    });
  }

  takeFigures(figures) {
    this.figures = figures;
  }

  // A rank that ended with 0 while others still needed it is done, and the cause of their failures.
  // One that hung until toprun stopped it has hung.
  stateOf(rank) {
    const state = this.figures.ranks.state?.[rank] ?? 'n';
    if (state === 'k' && this.hung.has(rank)) return 'h';
    return state === 'd' && rank === this.early ? 'e' : state;
  }

  // After the end of the job no rank hangs any more.
  wordsOf(state) {
    return state === 'h' && isNumber(this.job?.exit_code) ? 'hung' : STATES[state] ?? 'unknown';
  }

  // Whether any rank or node ('ranks', 'nodes') has this figure.
  hasFigure(part, name) {
    return (this.figures[part]?.[name] ?? []).some(isNumber);
  }

  // The last line of a rank's output.
  lineOf(rank) {
    return this.figures.ranks.line?.[rank] ?? '';
  }

  // The last lines of a rank: those that it has sent, or a report's of the rank that failed.
  linesOf(rank) {
    const sent = this.figures.ranks.lines?.[rank] ?? [];
    if (sent.length > 0) return sent;
    const cause = this.job?.attempts?.at(-1)?.cause;
    return cause?.rank === rank ? withoutNotes(cause.last_output ?? []).slice(-MOST_LINES) : [];
  }

  // How a rank failed besides the cause's rank, as a report tells it.
  failureOf(rank) {
    return (this.job?.attempts?.at(-1)?.failed_too ?? []).find(({ranks, stopped}) => !stopped && ranksIn(ranks).includes(rank));
  }

  // Where a rank stood when the last hang was noticed, as in a group of a hang.
  standingOf(rank) {
    return (this.job?.hang?.groups ?? []).find((group) => ranksIn(group.ranks).includes(rank));
  }

  // Of some ranks the one that printed last; -1: none has said anything.
  newest(first, count) {
    let newest = -1, least = Infinity;
    for (let rank = first; rank < first + count; ++rank) {
      const age = this.figureOf('output_age', rank) ?? Number.MAX_VALUE;
      if (this.lineOf(rank) && age < least) { newest = rank; least = age; }
    }
    return newest;
  }

  // Of a node's ranks the one whose last line tells most: that of the failure, or the one that printed last.
  speaker(first, count) {
    const rank = this.job?.attempts?.at(-1)?.cause?.rank;
    const isHere = isNumber(rank) && rank >= first && rank < first + count;
    return isHere && this.lineOf(rank) ? rank : this.newest(first, count);
  }

  figureOf(name, rank) {
    return this.figures.ranks[name]?.[rank] ?? null;
  }

  nodeFigure(name, node) {
    return this.figures.nodes[name]?.[node] ?? null;
  }

  counts() {
    const counts = {};
    for (let rank = 0; rank < this.ranks; ++rank) {
      const state = this.stateOf(rank);
      counts[state] = (counts[state] ?? 0) + 1;
    }
    return counts;
  }

  // Ranks that failed, ended early, hang or are lost with their nodes.
  troubled() {
    const found = [];
    for (let rank = 0; rank < this.ranks; ++rank) {
      if (TROUBLE.includes(this.stateOf(rank))) found.push(rank);
    }
    return found;
  }

  // The ranks of a node by their states: "7 running, 1 failed".
  statesOf(node) {
    const counts = {};
    const first = this.nodes.first_rank[node];
    for (let i = 0; i < this.nodes.nproc[node]; ++i) {
      const state = this.stateOf(first + i);
      counts[state] = (counts[state] ?? 0) + 1;
    }
    return Object.entries(counts).map(([state, count]) => `${count} ${this.wordsOf(state)}`).join(', ');
  }

  // "3", "rank 3": that rank; -1: the text names none of this job.
  rankCalled(text) {
    const number = /^(?:rank\s*)?(\d+)$/i.exec(text.trim());
    return number && Number(number[1]) < this.ranks ? Number(number[1]) : -1;
  }

  // For each node whether it fits what is searched: a part of its name or place, one of its ranks,
  // or the state of one. null: nothing is searched.
  matches(text) {
    const wanted = text.trim().toLowerCase();
    if (!wanted) return null;
    const {name, location, first_rank, nproc} = this.nodes;
    const number = /^(?:rank\s*)?(\d+)$/.exec(wanted);
    const rank = number ? Number(number[1]) : -1;
    const state = stateCalled(wanted);
    return name.map((node, i) => {
      if (rank >= first_rank[i] && rank < first_rank[i] + nproc[i]) return true;
      if (state && this.hasState(i, state)) return true;
      if (number) return node.toLowerCase() === wanted;
      return node.toLowerCase().includes(wanted) || (location[i] ?? '').toLowerCase().includes(wanted);
    });
  }

  hasState(node, state) {
    const first = this.nodes.first_rank[node];
    for (let i = 0; i < this.nodes.nproc[node]; ++i) {
      if (this.stateOf(first + i) === state) return true;
    }
    return false;
  }

  // The picture of a finished job's report (toprun.report/1).
  takeReport(report) {
    const last = report.attempts.at(-1);
    const nodes = last?.nodes ?? [];
    this.takeNodes({
      name: nodes.map((node) => node.name), location: nodes.map((node) => node.location ?? ''),
      first_rank: nodes.map((node) => node.first_rank), nproc: nodes.map((node) => node.nproc),
      logs: nodes.map((node) => node.logs ?? ''), output: nodes.map(({name}) => report.node_output?.[name] ?? ''),
    });
    this.takeFigures({nodes: {}, ranks: {state: this.statesAfter(report, last)}});
    const ended = report.ended ?? report.updated;
    this.takeJob({
      name: report.job, title: report.title, program: report.program, id: report.id ?? '', stage: report.exit_code === null ? 'running' : 'over',
      started: report.started, now: ended, world: this.ranks, joined: nodes.length,
      attempt: last?.attempt ?? 0, restarts: report.restarts, max_restarts: report.max_restarts, phases: last?.phases_ms, slowest: last?.slowest,
      awaited: last?.awaited, hang: last?.hang,
      hangs: report.exit_code === null && Boolean(last?.hang) && last.hang.over === null, is_snapshot: true, attempts: report.attempts,
      exit_code: report.exit_code, messages: [], order: last?.order,
      told: report.told ?? '', was_ended: report.exit_code !== null && wasEnded(report.state, last?.cause),
    });
  }

  // A report tells which ranks failed by themselves. toprun stopped the others, or they had ended.
  statesAfter(report, last) {
    const ended = report.exit_code === null ? 'r' : last?.cause ? 'k' : 'd';
    const states = new Array(this.ranks).fill(ended);
    const groups = last?.hang?.over || report.exit_code !== null ? [] : last?.hang?.groups ?? [];
    for (const group of groups.filter(({doing}) => doing === 'communicates')) {
      for (const rank of ranksIn(group.ranks)) states[rank] = 'w';
    }
    const suspects = last?.hang?.over || report.exit_code !== null ? [] : last?.hang?.suspects ?? [];
    for (const suspect of suspects) states[suspect.rank] = 'h';
    for (const {ranks, stopped} of last?.failed_too ?? []) {
      for (const rank of stopped ? [] : ranksIn(ranks)) if (rank < states.length) states[rank] = 'f';
    }
    const cause = last?.cause;
    if (cause && isNumber(cause.rank) && cause.kind !== 'hang') {
      states[cause.rank] = cause.kind === 'ended_early' ? 'd' : 'f';
    }
    if (cause && (cause.kind === 'node_lost' || cause.kind === 'agent_lost')) {
      this.nodes.name.forEach((name, i) => {
        if (name !== cause.node) return;
        states.fill('l', this.nodes.first_rank[i], this.nodes.first_rank[i] + this.nodes.nproc[i]);
      });
    }
    return states.join('');
  }
}

// The ranks of "0-2,4".
function ranksIn(text) {
  return text.split(',').flatMap((part) => {
    const [first, last = first] = part.split('-').map(Number);
    return Array.from({length: last - first + 1}, (_, i) => first + i);
  });
}

// Whether somebody ended the job, as opposed to its own failure.
function wasEnded(state, cause) {
  return state === 'cancelled' || ['interrupted', 'preempted', 'requeued'].includes(cause?.kind);
}

// What ranks can be coloured by. `of` gives a number or null, `from` is where the figures are. `most` is
// the value of the darkest colour; without it, the highest value is, and at least `least`: a rank that
// does next to nothing is not dark.
const FIGURES = [
  {id: 'state', label: 'State'},
  {id: 'cpu', from: ['ranks', 'cpu'], label: 'CPU of the rank', of: (m, rank) => m.figureOf('cpu', rank),
    least: 1, text: cpus},
  {id: 'memory', from: ['ranks', 'memory'], label: 'Memory of the rank', of: (m, rank) => m.figureOf('memory', rank),
    least: 1024, text: mebibytes},
  {id: 'gpu', from: ['ranks', 'gpu'], label: 'GPU', of: (m, rank) => m.figureOf('gpu', rank), most: 100,
    text: (v) => `${rounded(v, 0)} %`},
  {id: 'gpu_memory', from: ['ranks', 'gpu_memory'], label: 'Memory of the GPU',
    of: (m, rank) => m.figureOf('gpu_memory', rank), least: 1024, text: mebibytes},
  {id: 'silence', from: ['ranks', 'output_age'], label: 'Time without output',
    of: (m, rank) => m.figureOf('output_age', rank), least: 60, text: age},
  {id: 'node_cpu', from: ['nodes', 'cpu'], label: 'Host CPU', of: (m, rank, node) => percent(m, 'cpu', 'cpus', node), most: 100,
    text: (v) => `${rounded(v, 0)} %`},
  {id: 'node_memory', from: ['nodes', 'memory'], label: 'Host memory', most: 100, text: (v) => `${rounded(v, 0)} %`,
    of: (m, rank, node) => percent(m, 'memory', 'memory_total', node)},
  {id: 'received', from: ['nodes', 'received'], label: 'Network in', of: (m, rank, node) => m.nodeFigure('received', node),
    least: 1, text: (v) => `${fewDigits(v)} MB/s`},
  {id: 'sent', from: ['nodes', 'sent'], label: 'Network out', of: (m, rank, node) => m.nodeFigure('sent', node),
    least: 1, text: (v) => `${fewDigits(v)} MB/s`},
];

function percent(model, part, whole, node) {
  const total = model.nodeFigure(whole, node);
  const used = model.nodeFigure(part, node);
  return isNumber(used) && total > 0 ? 100 * used / total : null;
}
