// What the page calls things, and how it writes numbers.
'use strict';

const STATES = {
  n: 'not started', r: 'running', d: 'done', f: 'failed', k: 'stopped', l: 'lost', h: 'hanging',
  w: 'waiting for others',
  e: 'ended early',
};
const TROUBLE = 'flhe';
const KEPT_STATES = `${TROUBLE}k`;  // keep their colours when the others show a figure
const MONOSPACED = ['Last lines', 'Last line', 'Stack'];

// The letter of a state by any usual form of its word: "hang", "hangs", "hanging".
function stateCalled(text) {
  if (text === 'hung') return 'h';  // as after the end of the job
  const stem = text.replace(/(s|ing|ed|ure)$/, '');
  return Object.keys(STATES).find((letter) => STATES[letter] === text ||
    (stem.length >= 3 && STATES[letter].split(' ').some((word) => word.startsWith(stem))));
}

// As snapshot::stages_by_name().
const STAGES = {
  gathering: 'waiting for nodes', arranging: 'ordering the nodes', preparing: 'preparing its ranks',
  running: 'running', stopping: 'stopping its ranks', pausing: 'about to restart',
  asking: 'ending', telling: 'ending',
  parting: 'ending', over: 'over',
};

// As model::phases_by_name().
const PHASES = [
  ['join', 'nodes joined'], ['order', 'ordered'], ['stage', 'files copied'],
  ['spawn', 'ranks started'], ['first_connect', 'first at the store'],
  ['last_connect', 'all at the store'], ['first_collective', 'first collective'],
];

// The signals that ask a job to end.
const SIGNALS = {1: 'SIGHUP', 2: 'SIGINT', 3: 'SIGQUIT', 10: 'SIGUSR1', 12: 'SIGUSR2', 15: 'SIGTERM'};

const SLOWEST = {
  join: 'to join', stage: 'to copy the environment', warm: 'to import for --warm',
  prefetch: 'to read what its ranks import', spawn: 'to start its ranks', import: 'to import',
  first_collective: 'from the store to its first collective',
};

// The name that its user chose, else its program: other names are made up by toprun or its engine.
function titleOf(job) {
  return job.title || job.program?.split('/').at(-1) || job.name || 'job';
}

function counted(count, noun) {
  return `${count.toLocaleString('en')} ${noun}${count === 1 ? '' : 's'}`;
}

// ": n0, n1 and 3 more"; empty: no name is known.
function namesIn(names, count) {
  if (!names?.length) return '';
  const more = count > names.length ? ` and ${(count - names.length).toLocaleString('en')} more` : '';
  return `: ${names.join(', ')}${more}`;
}

// "0-3,7" has 2 and 7.
function hasRank(ranks, rank) {
  return String(ranks).split(',').some((part) => {
    const [first, last = first] = part.split('-').map(Number);
    return first <= rank && rank <= last;
  });
}

// The groups for which others wait, then the largest.
function suspectsFirst(hang) {
  const isSuspect = (group) => (hang.suspects ?? []).some(({rank}) => hasRank(group.ranks, rank));
  const groups = hang.groups ?? [];
  return [...groups.filter(isSuspect), ...groups.filter((group) => !isSuspect(group))];
}

function isNumber(value) {
  return typeof value === 'number' && Number.isFinite(value);
}

function rounded(value, digits) {
  return value.toLocaleString('en', {maximumFractionDigits: digits});
}

// Below 1 with two decimals: "0.04", "0.5", "1.3".
function fewDigits(value) {
  return rounded(value, value < 1 ? 2 : 1);
}

function cpus(value) {
  return `${fewDigits(value)} CPU${value === 1 ? '' : 's'}`;
}

// "310 ms", "32.4 s", "4 min 10 s", "2 h 05 min": as duration_text() of base/text/clock.cc, but for
// whole seconds, as of a clock, which have no ".0".
function duration(seconds) {
  if (!isNumber(seconds)) return 'unknown';
  if (seconds > 0 && seconds < 1) return `${Math.floor(seconds * 1000)} ms`;
  if (seconds < 60) return Number.isInteger(seconds) ? `${seconds} s` : `${seconds.toFixed(1)} s`;
  const two = (value) => String(value).padStart(2, '0');
  const whole = Math.floor(seconds);
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${two(whole % 60)} s`;
  if (whole < 2 * 86400) return `${Math.floor(whole / 3600)} h ${two(Math.floor(whole / 60) % 60)} min`;
  return `${Math.floor(whole / 86400)} d ${two(Math.floor(whole / 3600) % 24)} h`;
}

// Of what grows while it is read: tenths only at its beginning.
function age(seconds) {
  return duration(seconds < 10 ? seconds : Math.floor(seconds));
}

function mebibytes(value) {
  if (!isNumber(value)) return 'unknown';
  return value < 1024 ? `${rounded(value, 0)} MiB` : `${rounded(value / 1024, 1)} GiB`;
}

// "3.1 of 16", "12 GiB of 64 GiB"; empty: it is not known.
function hostCpu(model, node) {
  const used = model.nodeFigure('cpu', node);
  return isNumber(used) ? `${rounded(used, 1)} of ${model.nodeFigure('cpus', node) ?? 'unknown'}` : '';
}

function hostMemory(model, node) {
  const used = model.nodeFigure('memory', node);
  return isNumber(used) ? `${mebibytes(used)} of ${mebibytes(model.nodeFigure('memory_total', node))}` : '';
}

// "2026-11-29 19:52:02", by the reader's clock.
function dateTime(text) {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? '' : time.toLocaleString('sv-SE');
}

// As base/text/shown_line.cc: a warning or note of PyTorch, which mostly is not the reason of a failure.
function isNoteOfPytorch(line) {
  return /^\s*(\[rank\d+\]:\s*)?\[[WI]\d{4} \d\d:\d\d:\d\d\./.test(line);
}

function withoutNotes(lines) {
  const own = lines.filter((line) => !isNoteOfPytorch(line));
  return own.length > 0 ? own : lines;
}

function clock(text) {
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? '' : time.toLocaleTimeString('en-GB');
}

// "rank 3 on n4".
function rankText({rank, node}) {
  return `rank ${rank}${node ? ` on ${node}` : ''}`;
}

// "rank 13: data.py:41 in recv", "63 ranks (0-12,14-63) wait in all_reduce".
function groupText({count, ranks, text, place, doing}) {
  if (count > 1) return `${counted(count, 'rank')} (${ranks}) ${text ?? place ?? doing}`;
  return text ? `rank ${ranks} ${text}` : `rank ${ranks}: ${place ?? doing}`;
}

const ORDERS = {
  topology: 'Nodes that are close to each other in the network are neighbours', name: 'By name',
  scheduler: 'As the scheduler has them', given: 'As given', file: 'As in the file of --order',
};

// "By name (no evidence of the topology, …)".
function orderText({name, why}) {
  return `${ORDERS[name] ?? name}${why ? ` (${why})` : ''}`;
}

// How often who goes around the nodes, in the order of their ranks and from the last to the first,
// comes to another domain of the network.
function ringText({level, given, ordered, minimum}, nodes) {
  return `For ${ordered} of ${counted(nodes, 'node')}, the next node in the order is in another ${level} of the network (in the order as given: ${given}; in the best order: ${minimum})`;
}

// "slurm gives spine, leaf for 2 of 2 nodes": as coverage_text() of decide/topology/sources.cc.
function noteText(note) {
  return note.replace(/^(\S+) gives (.+) for (\d+ of \d+ nodes)$/, 'The levels of the network ($2) are known from $1 for $3');
}

function awaitedText(awaited) {
  const where = awaited.phase === 'import' ? 'reached the store' : 'begun their first collective';
  const others = awaited.of - awaited.came - 1;
  const who = isNumber(awaited.rank) ? rankText(awaited) : awaited.node ? `one on ${awaited.node}` : 'one';
  const more = others > 0 ? ` and ${counted(others, 'other')}` : '';
  return `${awaited.came.toLocaleString('en')} of ${awaited.of.toLocaleString('en')} ranks have ${where}, not ${who}${more}.`;
}

// As run/model/phases.cc: a second and a quarter more than the others' median or, of tenths, twice it.
function isSlow({ms, median_ms}) {
  const behind = ms - median_ms;
  return (behind >= 1000 && 4 * behind >= median_ms) || (ms >= 100 && ms > 2 * median_ms);
}

// "rank 17 on n5 took 41 s to import (median 3 s)".
function slowestTexts(slowest) {
  const lines = [];
  for (const [phase, purpose] of Object.entries(SLOWEST)) {
    const spread = slowest?.[phase];
    if (!spread || spread.counted < 2 || !isSlow(spread)) continue;
    const who = isNumber(spread.rank) ? rankText(spread) : spread.node ?? 'one node';
    lines.push(`${who} took ${duration(spread.ms / 1000)} ${purpose} (median ${duration(spread.median_ms / 1000)})`);
  }
  return lines;
}

// As failed_too_text() of `toprun status`: "ranks 1-3 failed too, exit code 5: ValueError: …".
function failedTooText({ranks, exit_code, signal, message, lost_peer, stopped}) {
  const isOne = /^\d+$/.test(ranks);
  const who = `${isOne ? 'rank' : 'ranks'} ${ranks}`;
  if (stopped) return `${who} ${isOne ? 'was' : 'were'} stopped and printed ${message}`;
  const how = [lost_peer ? 'failed as a consequence' : 'failed too', isNumber(exit_code) && `exit code ${exit_code}`,
    isNumber(signal) && `killed by ${SIGNALS[signal] ?? `signal ${signal}`}`].filter(Boolean).join(', ');
  return `${who} ${how}${message ? `: ${message}` : ''}`;
}

// The last hang of an attempt, or null. The job's is that of the attempt that runs.
function hangOf(attempt, job) {
  return attempt.hang ?? (attempt.attempt === job.attempt ? job.hang : null) ?? null;
}

// "the job hung" alone names no rank: the hang does.
function hangOfCause(attempt, job) {
  const {kind, what} = attempt.cause;
  return kind === 'hang' && what === 'the job hung' ? hangOf(attempt, job) : null;
}

function causeText(attempt, job) {
  const hang = hangOfCause(attempt, job);
  return hang?.what ? `${attempt.cause.what}: ${hang.what}` : attempt.cause.what;
}

// The message without what causeText() has said: "no rank has made progress for 30 s".
function messageBelow(attempt, job) {
  const hang = hangOfCause(attempt, job);
  const message = attempt.cause.message ?? '';
  return hang?.what ? message.replace(`: ${hang.what}`, '') : message;
}

// When ranks stopped making progress.
function hangSince(hang) {
  const noticed = hang.noticed ? `, at ${clock(hang.noticed)}` : '';
  if (hang.alarm) {
    const who = isNumber(hang.alarm.rank) ? `Rank ${hang.alarm.rank}` : 'A rank';
    return `${who} wrote ${hang.alarm.key}${noticed}`;
  }
  return `No rank had made progress for ${duration(hang.after_ms / 1000)} when it was noticed${noticed}`;
}

// The hang in which an attempt was when a signal or the engine ended it, or null.
function hangBeforeEnd(attempt, job) {
  const isFromOutside = ['interrupted', 'preempted', 'requeued', 'time_limit'].includes(attempt.cause.kind);
  const hang = hangOf(attempt, job);
  return isFromOutside && hang && !hang.over ? hang : null;
}

function hangText(hang, isLast) {
  const since = `${hangSince(hang)}: ${hang.what}`;
  if (isLast) return since;
  return hang.over ? `The ranks go on since ${clock(hang.over)}. ${since}` : `The ranks go on. ${since}`;
}
