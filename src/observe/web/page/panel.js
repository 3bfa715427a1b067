// The words around the picture. All text goes in as text nodes: names and output are a user's.

const $ = (id) => document.getElementById(id);

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// No line ends within a date or the name of an option, as it could behind each "-".
function unbroken(text) {
  return text.split(/(\d{4}-\d\d-\d\d|--[\w-]+)/).map((part, i) => (i % 2 ? element('span', part, {className: 'unbroken'}) : part));
}

// A sentence of toprun's, in which `…` is a command or a name to type. What a rank or the kernel has
// written is not: there a quote may look like `this'.
function prose(text) {
  return text.split(/`([^`\n]+)`/).flatMap((part, i) => {
    if (i % 2 === 0) return unbroken(part);
    const code = element('code');
    code.append(...unbroken(part));
    return [code];
  }).filter((part) => part !== '');
}

// `quoted`: words of a rank behind it, as they are.
function setProse(element, text, quoted = '') {
  if (element.dataset.prose === text + quoted) return;
  element.dataset.prose = text + quoted;
  element.replaceChildren(...prose(text), quoted);
}

// A failure of the launcher itself is told in toprun's own sentences.
function isByLauncher(cause) {
  return cause.kind === 'launcher';
}

// `said`: the cause's message.
function setWords(element, cause, text, said) {
  if (isByLauncher(cause)) setProse(element, text + said);
  else setProse(element, text, said);
}

function element(name, text, properties) {
  const made = Object.assign(document.createElement(name), properties);
  if (text !== undefined) made.textContent = text;
  return made;
}

function proseElement(name, text, className = '') {
  const made = element(name, undefined, {className});
  made.append(...prose(text));
  return made;
}

// Replaces the children only if what they say has changed, so that a reader's place is kept.
function fill(parent, key, make) {
  const text = JSON.stringify(key);
  if (parent.dataset.key === text) return false;
  parent.dataset.key = text;
  parent.replaceChildren(...make());
  return true;
}

const LONGEST_WAIT_FOR_STORE_S = 120;  // after that a job is shown as one without the store

class Panel {
  constructor(model) {
    this.model = model;
  }

  hasEnded() {
    return isNumber(this.model.job?.exit_code);
  }

  show() {
    const {job} = this.model;
    if (!job) return;
    this.showTitle(job);
    this.showTime();
    this.showSaid(job);
    this.showAlert(job);
    this.showLaunch(job);
    this.showHang(job.hang, job.hangs || this.hasEnded());
    this.showAttempts(job);
    this.showOrder(job.order);
    this.showMessages(job);
  }

  showTitle(job) {
    setText($('name'), titleOf(job));
    const stage = $('stage');
    const ended = this.hasEnded();
    const failed = ended && job.exit_code !== 0;
    const hangs = !ended && Boolean(job.hangs);
    const signal = SIGNALS[job.attempts?.at(-1)?.interrupted?.signal];
    const well = signal ? `ended with 0 after ${signal}` : 'ended, all well';
    setText(stage, ended ? (failed ? `ended with exit code ${job.exit_code}` : well)
      : hangs ? `${STAGES[job.stage] ?? job.stage}, hangs` : STAGES[job.stage] ?? job.stage ?? '');
    stage.dataset.kind = job.was_ended ? 'stopped' : failed || hangs ? 'bad' : ended ? 'good' : 'runs';
    stage.hidden = false;
    const id = job.id && job.id !== titleOf(job) ? ` (job ${job.id})` : '';
    document.title = `${titleOf(job)}${id}: ${stage.textContent} · toprun`;
  }

  // Seconds from the job's start, by its own clock.
  elapsed() {
    const {job} = this.model;
    const seconds = (new Date(job.now) - new Date(job.started)) / 1000;
    const stands = this.hasEnded() || job.is_snapshot;
    return stands ? seconds : seconds + (performance.now() - this.model.heardAt) / 1000;
  }

  showTime() {
    const {job, nodes} = this.model;
    if (!job) return;
    const facts = [];
    if (job.id && job.id !== job.name) facts.push(`job ${job.id}`);
    if (job.program && job.program !== job.name && job.program !== titleOf(job)) facts.push(job.program);
    if (job.world > 0) facts.push(`${counted(job.world, 'rank')} on ${counted(nodes.name.length || job.joined, 'node')}`);
    const seconds = Math.max(0, this.elapsed());
    if (job.started) facts.push(`started ${dateTime(job.started)}`);
    facts.push(this.hasEnded() ? `ran ${duration(seconds)}` : `for ${duration(Math.floor(seconds))}`);
    const left = this.left();
    if (left !== null) facts.push(left > 0 ? `${duration(Math.floor(left))} left` : 'its time is up');
    if (job.is_snapshot && !this.hasEnded()) facts.push(`as of ${clock(job.now)}`);
    if (job.attempt > 0) {
      const most = isNumber(job.max_restarts) ? ` of at most ${job.max_restarts}` : '';
      facts.push(`attempt ${job.attempt}${isNumber(job.restarts) ? `, ${counted(job.restarts, 'restart')}${most}` : ''}`);
    }
    if (job.root) facts.push(`root agent on ${job.root}`);
    fill($('facts'), facts, () => unbroken(facts.join(' · ')));
    if (!$('alert').hidden && $('alert').dataset.kind === 'hang') setProse($('alert-text'), this.hangsFor(job));
  }

  // What the job said last: that of the rank that printed last. After a failure that rank is mostly one
  // that the failure of another let fail.
  showSaid(job) {
    const {model} = this;
    const cause = job.attempts?.at(-1)?.cause;
    const hasFailed = Boolean(cause) && cause.kind !== 'grown';
    const rank = hasFailed ? -1 : model.newest(0, model.ranks);
    $('said').hidden = rank < 0;
    setText($('said'), rank < 0 ? '' : `rank ${rank}: ${model.lineOf(rank)}`);
  }

  // Seconds up to its time limit, where that is known.
  left() {
    const {job} = this.model;
    if (!job.limit || this.hasEnded()) return null;
    return (new Date(job.limit) - new Date(job.started)) / 1000 - this.elapsed();
  }

  showAlert(job) {
    const failed = (job.attempts ?? []).filter((attempt) => attempt.cause && attempt.cause.kind !== 'grown');
    const last = failed.at(-1);
    const hangs = !this.hasEnded() && job.hangs && job.hang && last?.attempt !== job.attempt;
    $('alert').hidden = !last && !job.was_ended && !hangs;
    $('alert').dataset.kind = job.was_ended ? 'stopped' : hangs ? 'hang' : 'bad';
    if (job.was_ended && job.told) {
      setProse($('alert-title'), '', job.told);  // may end with words of a rank
      setProse($('alert-text'), '');
      this.hideFailure();
      return;
    }
    if (hangs) {
      this.showLiveHang(job.hang);
      return;
    }
    if (!last) return;
    this.showFailure(last, job);
  }

  // What keeps the ranks from going on now: where they stand is beside the picture.
  showLiveHang(hang) {
    setProse($('alert-title'), `Hangs: ${hang.what}`);
    setProse($('alert-text'), this.hangsFor(this.model.job));
    this.hideFailure();
  }

  // "No rank has made progress for 4 min 10 s, since 08:12:00".
  hangsFor({hang, started}) {
    if (hang.alarm) return hangSince(hang);
    const since = new Date(hang.noticed) - hang.after_ms;
    const seconds = Math.floor(this.elapsed() - (since - new Date(started)) / 1000);
    return `No rank has made progress for ${duration(seconds)}, since ${clock(since)}`;
  }

  hideFailure() {
    $('alert-output').hidden = true;
    $('alert-next').hidden = true;
  }

  showFailure(last, job) {
    const {cause} = last;
    // After it, another attempt goes on or has ended well.
    const isOver = last.attempt === job.attempt || (this.hasEnded() && job.exit_code !== 0);
    $('alert').dataset.kind = !isOver ? 'past' : job.was_ended ? 'stopped' : 'bad';
    const hang = hangBeforeEnd(last, job);
    const what = hang ? `Hung: ${hang.what}; then ${cause.what}` : causeText(last, job);
    const attempt = `Attempt ${last.attempt}${this.hasEnded() ? ', then restarted' : ''}: `;
    // As in top; the rest is among the attempts.
    if (!isOver) {
      const [message] = messageBelow(last, job).split('\n');
      setWords($('alert-title'), cause, attempt + what, message && `: ${message}`);
      setProse($('alert-text'), '');
      this.hideFailure();
      return;
    }
    setProse($('alert-title'), what);
    setWords($('alert-text'), cause, '',
      [hang && hangSince(hang), messageBelow(last, job), cause.kernel_evidence].filter(Boolean).join('\n'));
    const next = cause.next || hang?.next;
    const node = this.nodeAtFault(cause);
    const logs = this.logsOf(node, cause.rank, last.attempt), output = this.outputOf(node, cause.node);
    // With --redirects the rank's output is in its logs only.
    const advice = [next && `Next: ${next}`, logs && `Logs: ${logs}`, output && `Output: ${output}`].filter(Boolean).join('\n');
    setProse($('alert-next'), advice);
    $('alert-next').hidden = !advice;
    const said = withoutNotes(cause.last_output ?? []).join('\n');
    $('alert-output').hidden = !said;
    if (fill($('alert-output'), said, () => [said])) $('alert-output').scrollTop = $('alert-output').scrollHeight;
  }

  // Several nodes may have the same name: agents on one host, or hosts that are all called localhost.
  nodeAtFault(cause) {
    const {nodes, nodeOfRank} = this.model;
    const node = nodeOfRank[cause.rank];
    return nodes.name[node] === cause.node ? node : nodes.name.indexOf(cause.node);
  }

  // The file with the output of a node, as report::node_log_path(); empty: it is not known.
  outputOf(node, name) {
    const {job, nodes} = this.model;
    const live = job.node_log && name ? `${job.node_log}/${name.replaceAll('/', '_')}.out` : '';
    return nodes.output?.[node] || live;
  }

  // The files of a rank's logs, as in top, or the folder with those of its node's ranks; empty: they
  // have none.
  logsOf(node, rank, attempt) {
    const {nodes} = this.model;
    if (!nodes.logs[node]) return '';
    const files = isNumber(rank) ? `/attempt_${attempt}/${rank - nodes.first_rank[node]}/*.log` : '';
    return `${nodes.logs[node]}${files} on ${nodes.name[node]}`;
  }

  hasOneNode() {
    return this.model.nodes.name.length === 1;
  }

  // Whether the ranks have run for so long without the store that the job is shown as one without it.
  // A script that never calls init_process_group() never connects to the store.
  runsWithoutStore(job) {
    const {spawn, first_connect} = job.phases ?? {};
    if (!isNumber(spawn) || isNumber(first_connect)) return false;
    const before = (new Date(job.attempts?.at(-1)?.started ?? job.started) - new Date(job.started)) / 1000;
    return this.elapsed() - before - spawn / 1000 > LONGEST_WAIT_FOR_STORE_S;
  }

  showLaunch(job) {
    const times = job.phases ?? {};
    const reached = PHASES.map(([key]) => key).filter((key) => isNumber(times[key]));
    const isLaunching = !this.hasEnded() && !isNumber(times.first_collective) && !this.runsWithoutStore(job);
    $('launch').dataset.launch = isLaunching ? 'goes on' : 'over';
    $('launch').hidden = reached.length === 0 && !isLaunching;
    // Most jobs copy no files. One node awaits no others, and after a restart they are there already.
    const isOfMany = (key) => key === 'join' || key === 'order';
    const phases = PHASES.filter(([key]) => (key !== 'stage' || isNumber(times.stage)) &&
        !(isOfMany(key) && isNumber(times[key]) && (times[key] === 0 || this.hasOneNode())));
    $('launch-of').hidden = !(job.attempt > 0);
    setText($('launch-of'), `Launch of attempt ${job.attempt}`);
    const next = phases.findIndex(([key], i) => !isNumber(times[key]) &&
        !phases.slice(i + 1).some(([later]) => isNumber(times[later])));
    // What was left out is not shown once a later phase is over.
    const shown = phases.filter(([key], i) => isNumber(times[key]) || (isLaunching && next >= 0 && i >= next));
    fill($('phases'), [times, isLaunching], () => shown.map(([key, words]) => {
      const isDone = isNumber(times[key]);
      const item = element('li', words);
      // A script that never calls init_process_group() never comes to the store.
      const isNow = phases[next]?.[0] === key && key !== 'first_connect';
      item.dataset.phase = isDone ? 'done' : isNow ? 'now' : 'later';
      item.append(element('b', isDone ? `after ${duration(times[key] / 1000)}` : item.dataset.phase === 'now' ? 'awaited' : ''));
      if (item.dataset.phase === 'now') item.setAttribute('aria-current', 'step');
      return item;
    }));
    setText($('awaited'), this.awaitedLines(job, isLaunching).join('\n'));
  }

  awaitedLines(job, isLaunching) {
    const lines = [];
    const missing = job.missing ?? [];
    if (job.stage === 'gathering' || missing.length > 0) {
      const count = job.missing_count ?? missing.length;
      const [least] = job.nnodes ?? [];
      if (isNumber(least)) lines.push(`${job.joined} of ${least} nodes have joined${namesIn(job.here, job.joined)}.`);
      if (job.begins_at) lines.push(`The job begins at ${clock(job.begins_at)} without the missing nodes.`);
      else if (job.waits_until) lines.push(`toprun waits until ${clock(job.waits_until)}.`);
      if (count > 0) {
        const more = count > missing.length ? ` and ${count - missing.length} more` : '';
        lines.push(`Awaited: ${missing.join(', ')}${more}.`);
      }
    }
    if (job.awaited && !this.hasEnded()) lines.push(awaitedText(job.awaited));
    if (isLaunching && isNumber(job.phases?.spawn) && !isNumber(job.phases.first_connect)) {
      lines.push('No rank has connected to the store yet, as init_process_group() does.');
    } else if (!this.hasEnded() && this.runsWithoutStore(job)) {
      lines.push('No rank has connected to the store.');
    }
    return lines.concat(slowestTexts(job.slowest).slice(0, 4));
  }

  showHang(hang, isLast) {
    $('hang').hidden = !hang;
    if (!hang) return;
    setText($('hang-title'), isLast ? 'Hang' : 'A hang that is over');
    const isLive = $('alert').dataset.kind === 'hang' && !$('alert').hidden;  // which says it
    $('hang-what').hidden = isLive;
    setProse($('hang-what'), !isLive && this.isInAlert(hang.what) ? `${hangSince(hang)}.` : hangText(hang, isLast));
    fill($('hang-groups'), [hang.groups, hang.suspects], () => suspectsFirst(hang).slice(0, 12).map((group) =>
      proseElement('li', groupText(group))));
    $('hang-next').hidden = !hang.next;
    setProse($('hang-next'), hang.next ? `Next: ${hang.next}` : '');
  }

  // What the first box says in full length is not said again.
  isInAlert(text) {
    return Boolean(text) && !$('alert').hidden && `${$('alert-title').dataset.prose}\n${$('alert-text').textContent}`.includes(text);
  }

  // Of a job that has ended, the page's head and the first box say all of its only attempt, unless
  // other ranks failed too.
  isAttemptTold([only, ...others]) {
    return this.hasEnded() && others.length === 0 && !(only?.failed_too?.length > 0) &&
      (!only?.cause || this.isInAlert(causeText(only, this.model.job)));
  }

  showAttempts(job) {
    const attempts = job.attempts ?? [];
    $('attempts').hidden = attempts.length === 0 || this.isAttemptTold(attempts);
    const key = [attempts, $('alert').hidden, $('alert-title').dataset.prose];
    fill($('attempts-list'), key, () => attempts.slice().reverse().map((attempt) => {
      const item = element('li', `Attempt ${attempt.attempt}: `);
      const seconds = attempt.ended ? (new Date(attempt.ended) - new Date(attempt.started)) / 1000 : null;
      item.append(element('small', `began ${clock(attempt.started)}, ${seconds === null ? 'still runs' : `took ${duration(seconds)}`}`));
      if (attempt.cause) {
        item.append(...this.causeLines(attempt));
      }
      item.append(...(attempt.failed_too ?? []).map((some) => element('p', failedTooText(some), {className: 'message'})));
      return item;
    }));
  }

  causeLines(attempt) {
    const {cause} = attempt;
    const {job} = this.model;
    if (cause.kind === 'hang' && cause.message && this.isInAlert(causeText(attempt, job))) {
      return [element('p', 'the job hung, as above', {className: 'cause'})];
    }
    // Somebody ended it on purpose, as the grey box above says.
    const wasEnded = cause.kind === 'interrupted' && $('alert').dataset.kind === 'stopped';
    const lines = [proseElement('p', causeText(attempt, job), wasEnded ? 'end' : 'cause')];
    const message = messageBelow(attempt, job);
    if (message) lines.push(isByLauncher(cause) ? proseElement('p', message, 'message') : element('p', message, {className: 'message'}));
    const output = withoutNotes(cause.last_output ?? []).join('\n');
    if (output && $('alert-output').hidden) {
      const more = element('details');
      const shown = element('pre', output, {tabIndex: 0});
      more.append(element('summary', 'Last lines of output'), shown);
      // The error is at the end.
      more.addEventListener('toggle', () => { shown.scrollTop = shown.scrollHeight; });
      lines.push(more);
    }
    return lines;
  }

  showOrder(order) {
    $('order').hidden = !order || this.hasOneNode();
    if (!order) return;
    const nodes = this.model.nodes.name.length;
    const rings = (order.ring ?? []).filter((level) => level.ordered > 0 || level.given > 0).map((level) =>
      ringText(level, nodes));
    fill($('order-list'), [order, nodes], () => [orderText(order), ...rings, ...(order.warnings ?? []), ...(order.notes ?? []).map(noteText)]
      .map((line) => proseElement('li', line)));
  }

  showMessages(job) {
    // As in top, without the hang that stands above.
    const messages = (job.messages ?? []).filter(({text}) => !job.hang || text !== job.hang_text);
    $('messages').hidden = messages.length === 0;
    const list = $('messages-list');
    const isAtEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 8;
    const changed = fill(list, messages, () => messages.map((message) => {
      const item = element('li');
      item.append(element('time', clock(message.time)), this.messageText(message.text, job.hang));
      return item;
    }));
    if (changed && isAtEnd) list.scrollTop = list.scrollHeight;
  }

  // The last one, "toprun: START → END (8.9 s): …", in the form of the others; the hang only where it
  // does not stand above.
  messageText(text, hang) {
    const words = text.replace(/^toprun: [^(]* → [^(]*\(([^)]*)\): /, 'ran $1: ');
    return hang && this.isInAlert(hang.what) ? words.replaceAll(hang.what, 'as above') : words;
  }

  // What is known of a rank and its node: [[word, text]].
  factsOf(rank) {
    const {model} = this;
    const {job} = model;
    const node = model.nodeOfRank[rank];
    const facts = [['State', this.stateText(rank)], ['Node', model.nodes.name[node]]];
    const add = (word, value, write) => { if (isNumber(value)) facts.push([word, write(value)]); };
    const nproc = model.nodes.nproc[node];
    facts.push(['Local rank', `${rank - model.nodes.first_rank[node]}${nproc > 1 ? ` of ${nproc}` : ''}`]);
    if (model.nodes.location[node]) facts.push(['Place', model.nodes.location[node]]);
    add('CPU', model.figureOf('cpu', rank), cpus);
    add('Memory', model.figureOf('memory', rank), mebibytes);
    add('GPU', model.figureOf('gpu', rank), (v) => `${rounded(v, 0)} %`);
    add('GPU memory', model.figureOf('gpu_memory', rank), mebibytes);
    const lines = model.linesOf(rank);
    if (lines.length > 0) facts.push(['Last lines', lines.join('\n')]);
    else if (model.lineOf(rank)) facts.push(['Last line', model.lineOf(rank)]);
    add('Last output', model.figureOf('output_age', rank), (v) => `${age(v)} ago`);
    const cpu = hostCpu(model, node), memory = hostMemory(model, node);
    if (cpu) facts.push(['Host CPU', cpu]);
    if (memory) facts.push(['Host memory', memory]);
    add('Network', model.nodeFigure('received', node),
      (v) => `${rounded(v, 1)} MB/s in, ${rounded(model.nodeFigure('sent', node) ?? 0, 1)} out`);
    add('Measured', model.nodeFigure('age', node), (v) => this.hasEnded()
      ? `at ${clock(new Date(model.figures.at) - 1000 * v)}` : `${age(v)} ago`);
    const logs = this.logsOf(node, rank, job.attempt), output = this.outputOf(node, model.nodes.name[node]);
    if (logs) facts.push(['Logs', logs]);
    if (output) facts.push(['Output of its node', output]);
    const standing = model.standingOf(rank);
    if (standing) {
      const when = job.hang.noticed ? ` (at ${clock(job.hang.noticed)})` : '';
      facts.push(['In the hang', `${standing.text ?? standing.place ?? standing.doing}${when}`]);
      const stack = (standing.frames ?? []).map((frame) => `${frame.function} (${frame.file}:${frame.line})`);
      if (stack.length > 0) facts.push(['Stack', stack.join('\n')]);
    }
    return facts;
  }

  // "failed, exit code 7"
  stateText(rank) {
    const {model} = this;
    const cause = model.job.attempts?.at(-1)?.cause;
    const failure = cause?.rank === rank ? cause : model.failureOf(rank);
    const code = model.figureOf('code', rank) ?? (failure?.signal === null ? failure.exit_code : null);
    const state = model.stateOf(rank);
    return `${model.wordsOf(state)}${state === 'f' && isNumber(code) ? `, exit code ${code}` : ''}`;
  }

  showDetails(rank) {
    $('details').hidden = rank < 0;
    if (rank < 0) return;
    setText($('details-title'), `Rank ${rank}`);
    fill($('details-list'), [rank, this.factsOf(rank)], () =>
      this.factsOf(rank).flatMap(([word, text]) => [element('dt', word),
        element('dd', text, {className: MONOSPACED.includes(word) ? 'lines' : ''})]));
  }

  // In a line, for the hint at the mouse and for who listens.
  lineOf(rank) {
    const node = this.model.nodeOfRank[rank];
    return `rank ${rank} on ${this.model.nodes.name[node]}, ${this.model.wordsOf(this.model.stateOf(rank))}`;
  }

  legendOf(counts, states) {
    return states.filter((state) => counts[state]).map((state) => {
      const item = element('span');
      const swatch = element('i');
      swatch.style.background = `var(--state-${state})`;
      item.append(swatch, `${counts[state].toLocaleString('en')} ${this.model.wordsOf(state)}`);
      return item;
    });
  }

  showLegend(picture) {
    const {figure} = picture;
    const counts = this.model.counts();
    if (figure.id === 'state') {
      fill($('legend'), [counts, this.hasEnded()], () => this.legendOf(counts, Object.keys(STATES)));
      return;
    }
    fill($('legend'), [figure.id, picture.most, picture.hasUnknown, counts, this.hasEnded()], () => {
      const item = element('span', '0 ');
      item.append(element('i', undefined, {className: 'scale'}), figure.text(picture.most));
      if (!picture.hasUnknown) return [item, ...this.legendOf(counts, [...KEPT_STATES])];
      const unknown = element('span');
      const swatch = element('i');
      swatch.style.background = 'var(--unknown)';
      unknown.append(swatch, 'unknown');
      return [item, unknown, ...this.legendOf(counts, [...KEPT_STATES])];
    });
  }
}
