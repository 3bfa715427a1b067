#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/os/timer.h"
#include "node/rehearsal/actor.h"
#include "node/rehearsal/ranks.h"
#include "node/rehearsal/script.h"
#include "node/rehearsal/wire.h"

namespace toprun::rehearsal {

// The result of a rehearsed run.
struct Outcome {
  std::string broken;  // the first broken promise; empty: all promises were kept
  int exit_code = -1;  // the root's exit code; -1: the root has not ended
  std::uint64_t steps = 0;
  milliseconds took{0};
};

// Simulates one run of Root and Members on this thread. The code of Root and Member is the same as
// in the program. Time, pool, links, ranks, terminal and store are simulated; a seed determines
// what they do. Coroutines, callbacks, messages as JSON, pipes for output and log folders are real.
//
// Promises:
//   the run ends within a time that follows from its limits
//   a wait for an answer that is missing or late, or for work that the pool refuses, has a limit
//   without faults, the run ends with 0
//   no rank is alive after the run
//   no answer about an attempt is used for another attempt (a violation crashes, reliably only with
//   a sanitizer)
//   a process that queries the job gets an answer
//   every byte of output that the root receives is accepted soon after its terminal accepts output
//   again, or the link on which it arrived is gone
class Play : public StandIn {
 public:
  Play(Script script, bool traces);
  ~Play() override;

  Outcome run();

  SteadyTime now() const override { return timeline_.now(); }
  void call_at(SteadyTime time, std::function<void()> action) override;
  bool take(std::function<void()> task) override;

  Dice& dice() { return dice_; }
  Ranks& ranks() { return ranks_; }
  bool has_ras() { return dice_.chance(script_.ras_percent); }
  bool has_recorders() { return dice_.chance(script_.ras_percent / 2); }
  bool lives(const std::string& agent) const;
  std::string id_of_root() const { return processes_.front()->actor->agent_id; }

  template <class... Args>
  void expect(bool is_kept, fmt::format_string<Args...> promise, Args&&... args) {
    if (is_kept || !broken_.empty()) return;
    broken_ = fmt::format(promise, std::forward<Args>(args)...);
  }
  template <class... Args>
  void trace(fmt::format_string<Args...> what, Args&&... args) const {
    if (traces_) show_trace(fmt::format(what, std::forward<Args>(args)...));
  }

 private:
  struct Process {
    explicit Process(std::size_t number) : index(number) {}
    ~Process();

    const std::size_t index;
    Loop loop;  // outlives its pending handlers
    std::unique_ptr<Actor> actor;
    std::shared_ptr<Wire> wire;
    bool lives = true;
    // How many bytes of this process's output have reached the root, and how many of them the root
    // has reported as accepted.
    std::size_t delivered = 0;
    std::size_t taken = 0;
  };

  void join(Process& process);
  void dies(Process& process);
  void hang_up(const Process& process);
  bool poll();
  bool is_over() const;
  void apply(const Fault& fault);
  int hang(const Fault& fault);
  void fail_in_look(const Fault& fault);
  void fail_unread(const Fault& fault);
  void stand(milliseconds time);
  void output_came(Process& from, std::size_t bytes);
  void check_credit(Process& process, std::size_t delivered);
  void ask();
  void conclude();
  void show_trace(const std::string& what) const;

  const Script script_;
  const bool traces_;
  simulation::Timeline timeline_;
  Dice dice_;
  Ranks ranks_;
  std::vector<std::function<void()>> unanswered_;  // tasks that the pool never runs
  std::vector<std::unique_ptr<Process>> processes_;
  bool is_disturbed_ = false;
  bool is_slow_ = false;  // the pool is slow
  // The state of the root's terminal.
  bool stands_ = false;
  SteadyTime goes_on_since_{};
  std::string broken_;
};

}  // namespace toprun::rehearsal
