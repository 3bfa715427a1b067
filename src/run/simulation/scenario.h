#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <memory_resource>
#include <new>
#include <optional>
#include <queue>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <boost/unordered/unordered_flat_map.hpp>

#include "base/text/clock.h"
#include "run/conductor/events.h"
#include "run/conductor/settings.h"

namespace toprun::simulation {

using std::chrono::milliseconds;

// The future events at one point of virtual time, in the order of their insertion. The events are
// stored one after another in memory that is freed with the instant. With one allocation per event,
// a third of a large run's time would be spent on allocations.
class Instant {
 public:
  Instant() = default;
  ~Instant();
  Instant(const Instant&) = delete;
  Instant& operator=(const Instant&) = delete;

  template <class What>
  void add(What&& what) {
    using One = Holding<std::decay_t<What>>;
    Event* const event =
        new (memory_.allocate(sizeof(One), alignof(One))) One(std::forward<What>(what));
    (last_ == nullptr ? first_ : last_->next) = event;
    last_ = event;
  }
  bool empty() const { return first_ == nullptr; }
  // Runs the first event. The event may add other events.
  void run_first();

 private:
  struct Event {
    virtual ~Event() = default;
    virtual void run() = 0;
    Event* next = nullptr;
  };
  template <class What>
  struct Holding final : Event {
    explicit Holding(What&& action) : what(std::move(action)) {}
    explicit Holding(const What& action) : what(action) {}
    void run() override { what(); }
    What what;
  };

  Event* take_first();

  alignas(std::max_align_t) std::byte first_block_[512];
  std::pmr::monotonic_buffer_resource memory_{first_block_, sizeof first_block_};
  Event* first_ = nullptr;
  Event* last_ = nullptr;
};

// Virtual time: a queue of future events. Events at the same time keep the order of their
// insertion.
class Timeline {
 public:
  template <class What>
  void at(SteadyTime time, What&& what) {
    instant(std::max(time, now_)).add(std::forward<What>(what));
  }
  template <class What>
  void in(milliseconds time, What&& what) {
    at(now_ + time, std::forward<What>(what));
  }
  // Runs the next event. Returns false if there is no event before `limit`.
  bool step(SteadyTime limit);
  SteadyTime now() const { return now_; }
  run::Moment moment() const { return {now_, WallTime(now_.time_since_epoch())}; }
  std::uint64_t steps() const { return steps_; }
  std::uint64_t steps_of_this_instant() const { return steps_ - steps_before_; }

 private:
  struct HashOfTime {
    std::size_t operator()(SteadyTime time) const {
      return std::hash<std::int64_t>()(time.time_since_epoch().count());
    }
  };

  Instant& instant(SteadyTime time);

  // Many events occur at the same few instants, so lookups are more frequent than insertions.
  boost::unordered_flat_map<SteadyTime, std::unique_ptr<Instant>, HashOfTime> instants_;
  using Next = std::pair<SteadyTime, Instant*>;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next_;
  SteadyTime now_ = SteadyTime() + std::chrono::hours(1);
  std::uint64_t steps_ = 0;
  std::uint64_t steps_before_ = 0;  // value of steps_ at the start of this instant
};

// Random choices from a seed. Every agent and every link has its own generator, so a generator must
// be small. SplitMix64 (Steele, Lea and Flood 2014) has 8 bytes of state; the standard library's
// mt19937 has 2.5 kB.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  int number(int least, int most) {
    return least + static_cast<int>(next() % static_cast<std::uint64_t>(most - least + 1));
  }
  milliseconds time(milliseconds least, milliseconds most) {
    return milliseconds(number(static_cast<int>(least.count()), static_cast<int>(most.count())));
  }
  bool chance(int percent) { return number(1, 100) <= percent; }

 private:
  std::uint64_t next() {
    std::uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

  std::uint64_t state_;
};

enum class FaultKind {
  rank_exits,   // a rank raises an exception and exits with its own exit code
  rank_killed,  // a rank is killed by a signal that toprun did not send
  workers_do_not_start,
  container_fails,
  network_refused,  // the workers do not use the required network
  agent_dies,       // the keeper ends the agent's processes
  keeper_dies,      // the keeper dies, and the agent detects this
  both_die,         // agent and keeper die, and the kernel ends the workers
  node_dies,        // the node dies without a message
  cut_off,          // one or both directions deliver no messages for a while
  stopped,          // the agent is stopped for a while (SIGSTOP)
  signal_to_agent,  // SIGTERM or SIGINT, delivered one to three times within a second
  signal_to_all,
  signal_again,  // SIGINT to an agent, and SIGTERM after a wait
  ranks_hang,    // one rank makes no progress, and the others wait for it
  malformed,     // the agent sends an invalid message
  echoes,        // from now on, messages from earlier attempts arrive again
  store_lost,    // the node with the store dies, as in node_dies, once ranks are assigned
  joins,         // another agent joins
  comes_again,   // an agent dies, and another agent joins from the same host
  flaps,         // like comes_again, but repeated, soon after each start of ranks
  mute,          // the agent sends nothing but heartbeats until the user ends the job
  // The ranks' order is computed late or never. In another variant of this fault, a member dies
  // during the computation, and the next order is late too.
  no_order,
  no_store_found,    // the search for the store on one node does not end, or ends late
  no_workplace,      // the container's start, or the environment's copy, does not end
  no_ranks_started,  // the ranks have not started when the pool's time limit ends
  no_end_reported,   // the report of the job's end is not written
  pool_full,         // the agent's thread pool refuses work for a while: each request fails at once
  rank_alarmed,      // a rank stops waiting for others and reports that through the store
  places_asked,      // a user asks where the ranks are in their code
  terminal_paused,   // the root's terminal accepts no output for a while
  asked_to_grow,     // SIGURG to an agent: the job may grow
  noticed,           // SIGUSR1 to the ranks on one node or to all ranks
};
inline constexpr int fault_kinds = static_cast<int>(FaultKind::noticed) + 1;
std::string_view name_of(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::rank_exits;
  milliseconds at{0};  // time since the start
  int node = 0;        // an index into the agents
  int rank = 0;        // the rank's index on the node
  int code = 1;
  milliseconds lasts{0};  // how long cut_off, stopped … last; for rank_exits, the time from the
                          // exception to the exit
  bool to_root = true;    // for cut_off: whether messages to the root are cut off
  bool to_node = true;
};

// One simulated run. The seed determines all values.
struct Scenario {
  std::uint64_t seed = 0;
  run::Settings settings;
  int agents = 1;  // number of agents at the start
  int slots = 1;
  bool container = false;
  milliseconds container_takes{0};
  milliseconds work{0};  // run time of an attempt without faults
  milliseconds slowest_message{5};
  int stubborn_percent = 0;     // percentage of ranks that ignore SIGTERM
  int saving_percent = 0;       // percentage of ranks that save a checkpoint for seconds before
                                // they obey SIGTERM
  int graceful_percent = 0;     // percentage of ranks that exit with 0 when interrupted
  bool records_errors = false;  // the ranks write error files with the time of the exception
  bool gathers_output = false;  // the root shows what all ranks print
  bool encodes = false;         // messages are encoded and decoded as on the network
  bool long_names = false;      // host names have the maximum length of a message field
  bool has_indices = false;     // the engine assigns an index to each node
  std::optional<int> unfit;     // the index of a node that cannot take part
  // A node that its check finds unfit from an attempt on; every node has a check then.
  struct Sick {
    int node = 0;
    int attempt = 0;
  };
  std::optional<Sick> sick;
  std::optional<int> broken;  // the index of a node whose machine is at fault if its ranks fail
  std::vector<Fault> faults;  // in chronological order
};

// Returns the name of the node with this index.
std::string name_of_node(int place, bool is_long);

// Generates a scenario with at most `size` nodes.
Scenario scenario(std::uint64_t seed, int size);
// Generates an elastic job with `nodes` nodes and `faults` faults, one fault after another.
Scenario large(std::uint64_t seed, int nodes, int faults);
// Generates a scenario without faults for ranks that an engine started, each with its own agent.
Scenario in_place(std::uint64_t seed, int ranks);

}  // namespace toprun::simulation
