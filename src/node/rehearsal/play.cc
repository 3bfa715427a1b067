#include "node/rehearsal/play.h"

#include <signal.h>

#include <algorithm>
#include <ranges>

#include <boost/asio/co_spawn.hpp>

#include "base/os/console.h"

namespace toprun::rehearsal {
namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

// No run of a script takes longer: attempts, their pauses, and each limit once or twice.
constexpr std::chrono::minutes longest_run{60};
// A loop that turns without time passing.
constexpr std::uint64_t most_turns_of_an_instant = 100'000;
constexpr milliseconds latest_to_join{3'000};
constexpr milliseconds quick_answer{20};
constexpr milliseconds slow_answer{5'000};  // within most limits
// Once for the ranks, and once for the text.
constexpr milliseconds longest_answer = 2 * live::answer_limit + 1s;
// From the moment when the terminal takes output to the word that all of it is taken.
constexpr milliseconds credit_limit{1'000};
// A look at the ranks that is slow, but within its limit.
constexpr milliseconds slow_look{4'800};
constexpr milliseconds before_a_look{1'000};
constexpr milliseconds before_it_fails{2'000};  // the terminal stands
constexpr milliseconds longest_into_a_look{2'000};
constexpr unsigned ok = 200;  // of HTTP

// toprun's own lines are not a part of the play but for its trace.
class Hearer : public LogSink {
 public:
  explicit Hearer(std::function<void(std::string)> heard) : heard_(std::move(heard)) {}
  void write(int, std::string text) override { heard_(std::move(text)); }
  bool flush(milliseconds) override { return true; }

 private:
  const std::function<void(std::string)> heard_;
};

}  // namespace

Play::Process::~Process() {
  loop.forget();
  actor.reset();
}

Play::Play(Script script, bool traces)
    : script_(std::move(script)),
      traces_(traces),
      dice_(script_.seed + 2),
      ranks_(timeline_, script_) {
  StandIn::put(this);
  set_log_sink(std::make_shared<Hearer>([this](const std::string& text) { trace("{}", text); }));
  ranks_.on_arrival = [this](const Rank& rank, bool has_met) {
    for (const auto& process : processes_) {
      if (process->lives) process->actor->rank_came(rank, has_met);
    }
  };
  for (std::size_t i = 0; i < script_.jobs.size(); ++i) {
    auto process = std::make_unique<Process>(i);
    process->actor = std::make_unique<Actor>(*this, process->loop, script_.jobs[i], i);
    processes_.push_back(std::move(process));
  }
}

Play::~Play() {
  processes_.clear();
  unanswered_.clear();
  set_log_sink(nullptr);
  StandIn::put(nullptr);
}

void Play::call_at(SteadyTime time, std::function<void()> action) {
  timeline_.at(time, std::move(action));
}

bool Play::take(std::function<void()> task) {
  const PoolFaults& faults = script_.pool;
  if (dice_.chance(faults.full)) return false;
  if (dice_.chance(faults.never)) {
    unanswered_.push_back(std::move(task));
    return true;
  }
  if (is_slow_) {
    timeline_.in(dice_.time(longest_into_a_look / 2, slow_look), std::move(task));
    return true;
  }
  milliseconds latest = quick_answer;
  if (dice_.chance(faults.late)) latest = dice_.chance(50) ? slow_answer : faults.latest;
  timeline_.in(dice_.time(0ms, latest), std::move(task));
  return true;
}

bool Play::lives(const std::string& agent) const {
  return std::ranges::any_of(processes_, [&](const auto& process) {
    return process->lives && process->actor->agent_id == agent;
  });
}

void Play::show_trace(const std::string& what) const {
  const auto since = std::chrono::duration_cast<milliseconds>(now() - simulation::Timeline().now());
  fmt::print("{:>8} ms  {}{}", since.count(), what, what.ends_with('\n') ? "" : "\n");
}

void Play::join(Process& process) {
  Process& root = *processes_.front();
  if (!root.lives || !process.lives || root.actor->exit_code()) return;
  const model::Join join = process.actor->join();
  asio::post(root.loop, [this, &root, &process, join] {
    if (const auto refused = root.actor->admission().admit(join)) {
      trace("n{} is refused: {}", process.index, refused->text);
      return;
    }
    process.wire = std::make_shared<Wire>(timeline_, Dice(script_.seed + 10 + process.index),
                                          script_.slowest_message);
    process.wire->on_output = [this, &process](std::size_t bytes) { output_came(process, bytes); };
    process.wire->on_taken = [&process](std::size_t bytes) { process.taken += bytes; };
    auto [at_root, at_member] = process.wire->ends(root.loop, process.loop);
    process.actor->begin(std::move(at_member));
    root.actor->admission().joined(join, std::move(at_root), process.actor->route->text(),
                                   root.actor->route->text());
  });
}

// By SIGKILL, and the keeper kills its ranks. What waits in its loop stays, and is never run again.
void Play::dies(Process& process) {
  process.lives = false;
  ranks_.die_with(process.index);
  hang_up(process);
}

// The kernel closes the connections of a process that is gone.
void Play::hang_up(const Process& process) {
  for (const auto& other : processes_) {
    const bool has_link = process.index == 0 || other.get() == &process;
    if (has_link && other->wire) other->wire->lose();
  }
}

// Lets all processes do what they can do now; false: nothing.
bool Play::poll() {
  bool has_run = false;
  for (const auto& process : processes_) {
    if (!process->lives) continue;
    process->loop.restart();
    has_run = process->loop.poll() > 0 || has_run;
    if (process->actor->exit_code() && std::exchange(process->lives, false)) {
      trace("n{} has ended with {}", process->index, *process->actor->exit_code());
      hang_up(*process);
    }
  }
  return has_run;
}

bool Play::is_over() const {
  return std::ranges::none_of(processes_, [](const auto& process) {
    return process->lives && (process->index == 0 || process->wire != nullptr);
  });
}

void Play::ask() {
  Process& root = *processes_.front();
  if (!root.lives || root.actor->root() == nullptr) return;
  const auto is_answered = std::make_shared<bool>(false);
  asio::co_spawn(root.loop, root.actor->root()->answer({"GET", "/stacks"}),
                 [this, is_answered](const std::exception_ptr&, const live::Answer& answer) {
                   *is_answered = true;
                   if (script_.is_calm())
                     expect(answer.status == ok, "a process that asks gets {}", answer.status);
                 });
  timeline_.in(longest_answer, [this, &root, is_answered] {
    expect(*is_answered || !root.lives, "a process that asks where the ranks stand gets no answer");
  });
}

// The ranks go on later, unless the run is to end the hang. Returns how many hang.
int Play::hang(const Fault& fault) {
  const int hung = ranks_.hang(fault.node, fault.rank);
  const plan::Options& options = script_.jobs.front()->options;
  const bool is_ended = options.hang_timeout && options.on_hang != run::OnHang::report && hung > 1;
  if (!is_ended) timeline_.in(fault.lasts, [this] { ranks_.go_on(); });
  return hung;
}

// All that the pool is asked from shortly before the look to the rank's end takes long.
void Play::fail_in_look(const Fault& fault) {
  if (hang(fault) == 0) return;
  const milliseconds looked_at = *script_.jobs.front()->options.hang_timeout;
  timeline_.in(looked_at - before_a_look, [this] { is_slow_ = true; });
  timeline_.in(looked_at + dice_.time(0ms, longest_into_a_look), [this, fault] {
    is_slow_ = false;
    ranks_.is_killed(fault.node, fault.rank, SIGSEGV);
  });
}

// The next attempt is slow to begin, so that the terminal goes on before it does.
void Play::fail_unread(const Fault& fault) {
  stand(fault.lasts);
  timeline_.in(before_it_fails, [this, fault] {
    is_slow_ = true;
    ranks_.is_killed(fault.node, fault.rank, SIGSEGV);
  });
  timeline_.in(fault.lasts + slow_look, [this] { is_slow_ = false; });
}

void Play::stand(milliseconds time) {
  Actor& root = *processes_.front()->actor;
  root.stand(true);
  stands_ = true;
  timeline_.in(time, [this, &root] {
    if (processes_.front()->lives) root.stand(false);
    stands_ = false;
    goes_on_since_ = now();
  });
}

void Play::output_came(Process& from, std::size_t bytes) {
  from.delivered += bytes;
  check_credit(from, from.delivered);
}

// Of the first bytes that came, so many.
void Play::check_credit(Process& process, std::size_t delivered) {
  timeline_.in(credit_limit + 2 * script_.slowest_message, [this, &process, delivered] {
    const Process& root = *processes_.front();
    const bool is_open = root.lives && process.lives && process.wire->is_open();
    if (!is_open || process.taken >= delivered) return;
    if (stands_ || now() < goes_on_since_ + credit_limit) return check_credit(process, delivered);
    expect(false, "{} bytes of output were sent by n{}, but only {} bytes were taken", delivered,
           process.index, process.taken);
  });
}

void Play::apply(const Fault& fault) {
  trace("FAULT: {} (n{}, rank {} there)", name_of(fault.kind), fault.node, fault.rank);
  Process& process = *processes_[fault.node];
  switch (fault.kind) {
    case FaultKind::rank_exits:
      is_disturbed_ = true;
      return ranks_.exits(fault.node, fault.rank, fault.code);
    case FaultKind::rank_killed:
      is_disturbed_ = true;
      return ranks_.is_killed(fault.node, fault.rank, SIGSEGV);
    case FaultKind::agent_dies:
      is_disturbed_ = true;
      if (process.lives) dies(process);
      return;
    case FaultKind::link_lost:
      is_disturbed_ = true;
      if (process.wire) process.wire->lose();
      return;
    case FaultKind::ranks_hang:
      is_disturbed_ = true;
      hang(fault);
      return;
    case FaultKind::fails_in_look:
      is_disturbed_ = true;
      return fail_in_look(fault);
    case FaultKind::fails_unread:
      is_disturbed_ = true;
      return fail_unread(fault);
    case FaultKind::places_asked:
      return ask();
    case FaultKind::signalled:
      is_disturbed_ = true;
      return process.actor->happens([](Actor& actor) {
        if (actor.on_signal) actor.on_signal(SIGTERM, false);
      });
    case FaultKind::orphaned:
      is_disturbed_ = true;
      return process.actor->happens([](Actor& actor) {
        if (actor.on_orphaned) actor.on_orphaned("its keeper was killed", 0ms);
      });
    case FaultKind::paused:
      process.actor->pause(true);
      timeline_.in(fault.lasts, [&process] {
        if (process.lives) process.actor->pause(false);
      });
      return;
    case FaultKind::output_stands:
      return stand(fault.lasts);
  }
}

Outcome Play::run() {
  const SteadyTime began = now();
  processes_.front()->actor->begin(nullptr);
  for (const auto& process : processes_ | std::views::drop(1)) {
    timeline_.in(dice_.time(1ms, latest_to_join), [this, &process] { join(*process); });
  }
  for (const Fault& fault : script_.faults) {
    timeline_.in(fault.at, [this, &fault] { apply(fault); });
  }
  bool goes_on = true;
  while (goes_on && broken_.empty()) {
    for (std::uint64_t turns = 0; poll() && broken_.empty(); ++turns) {
      expect(turns < most_turns_of_an_instant, "an event loop never ends");
    }
    if (is_over()) break;
    goes_on = timeline_.step(began + longest_run);
  }
  expect(is_over(), "the run has not ended after {} min", longest_run.count());
  conclude();
  Outcome outcome;
  outcome.exit_code = processes_.front()->actor->exit_code().value_or(-1);
  outcome.steps = timeline_.steps();
  outcome.took = std::chrono::duration_cast<milliseconds>(now() - began);
  outcome.broken = std::move(broken_);
  return outcome;
}

void Play::conclude() {
  expect(ranks_.living() == 0, "{} ranks live after the run", ranks_.living());
  const auto code = processes_.front()->actor->exit_code();
  if (!is_disturbed_ && script_.is_calm()) {
    expect(code == 0, "without a fault the run ends with {}", code.value_or(-1));
  }
}

}  // namespace toprun::rehearsal
