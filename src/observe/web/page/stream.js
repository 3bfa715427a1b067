// The job's events, read by fetch(): EventSource can send no token but in the address or a cookie.
// An address ends up in logs and histories, and a cookie would go to every port of this host.

const SILENCE_MS = 30000;     // the server sends something every 10 s
const LONGEST_WAIT_S = 10;
const BUSY_WAIT_S = 5;
const HIDDEN_MS = 60000;      // a tab that nobody sees for so long lets go until it is seen

// The token moves from the address to this tab's own storage, where it outlives a reload.
function takeToken() {
  const given = /^#token=([\w-]+)$/.exec(location.hash);
  if (given) {
    sessionStorage.setItem('token', given[1]);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem('token') ?? '';
}

// `take` is called with an event's name and its value, `tell` with what became of the connection.
class Stream {
  constructor(token, take, tell) {
    this.token = token;
    this.take = take;
    this.tell = tell;
    this.isOver = false;
    this.hiddenMs = HIDDEN_MS;
    this.control = null;
  }

  // Nobody looks: neither the job's agents nor one of the few connections of this browser to a server
  // are kept busy.
  letGoWhileHidden() {
    let timer;
    document.addEventListener('visibilitychange', () => {
      clearTimeout(timer);
      if (document.hidden) timer = setTimeout(() => this.control?.abort(), this.hiddenMs);
    });
  }

  async seen() {
    while (document.hidden) {
      await new Promise((done) => document.addEventListener('visibilitychange', done, {once: true}));
    }
  }

  async run() {
    this.letGoWhileHidden();
    for (let failures = 0; !this.isOver; ++failures) {
      const result = await this.once();
      if (this.isOver) return;
      if (document.hidden && result === 'came') {
        this.tell('waits', 'paused while this tab is hidden');
        await this.seen();
        failures = -1;
        continue;
      }
      if (result === 'refused') return this.tell('refused', 'The token is missing or wrong. Open the whole address that toprun printed when the job started, with #token=… at its end. `toprun status JOB` shows the address of a job of `toprun submit --web`. If TOPRUN_WEB_TOKEN was set, write #token= and that token behind the address.');
      if (result === 'came') failures = 0;
      let wait = result === 'busy' ? BUSY_WAIT_S : Math.min(LONGEST_WAIT_S, 2 ** failures);
      for (; wait > 0 && !this.isOver; --wait) {
        const why = result === 'busy' ? 'too many browsers follow this job' : 'connection lost';
        this.tell('lost', `${why}; next try in ${wait} s`);
        await new Promise((done) => setTimeout(done, 1000));
      }
    }
  }

  // "came": there were events; "nobody": nobody answered.
  async once() {
    const control = this.control = new AbortController();
    let watch = setTimeout(() => control.abort(), SILENCE_MS);
    let result = 'nobody';
    try {
      const answer = await fetch('events', {
        headers: {Authorization: `Bearer ${this.token}`}, cache: 'no-store', signal: control.signal,
      });
      if (answer.status === 401) return 'refused';
      if (answer.status === 503) return 'busy';
      if (!answer.ok) return 'nobody';
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      let text = '';
      for (;;) {
        const {done, value} = await reader.read();
        if (done) return result;
        clearTimeout(watch);
        watch = setTimeout(() => control.abort(), SILENCE_MS);
        result = 'came';
        this.tell('live', 'live');
        text = this.events(text, value);
      }
    } catch {
      return result;
    } finally {
      clearTimeout(watch);
    }
  }

  // Takes all whole events and gives back the rest.
  events(text, more) {
    let from = Math.max(0, text.length - 1);
    text += more;
    for (let end; (end = text.indexOf('\n\n', from)) >= 0; from = 0) {
      const event = /^event: (\w+)\ndata: /.exec(text);
      if (event) this.take(event[1], JSON.parse(text.slice(event[0].length, end)));
      text = text.slice(end + 2);
    }
    return text;
  }
}
