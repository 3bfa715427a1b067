#include <signal.h>

#include "run/simulation/world.h"

// How long the ranks' graces are, and what may shorten them.
namespace toprun::simulation {
namespace {

constexpr milliseconds a_users_pace{1'000};
constexpr milliseconds fence{1'000};
constexpr milliseconds slack{1};
constexpr milliseconds to_start{100};  // ranks that are being started

}  // namespace

// Judged here again, and not by the program's own rule.
void Agent::heard(const run::GotSignal& got) {
  if (got.meaning != run::SignalMeaning::end) return;
  const SteadyTime now = world_.timeline().now();
  world_.trace("{} gets signal {}", host_, got.signal);
  if (is_own()) world_.root_is_ordered_to_end();
  if (signalled_ && now - *signalled_ < a_users_pace) return;
  if (std::exchange(signalled_, now)) is_impatient_ = true;
  const bool leaves = world_.scenario().settings.elastic && !is_own();
  if (is_impatient_ && !leaves) world_.all_may_be_killed();
}

// Ranks get the whole grace, unless this node's user, or that of the job, has waited and does not
// want to any more; or nothing would clean up after the agent; or the root may have restarted them
// elsewhere.
void Agent::check_grace(milliseconds grace) {
  const SteadyTime now = world_.timeline().now();
  if (!ordered_to_end_) ordered_to_end_ = now;
  const SteadyTime ends = *ordered_to_end_ + world_.scenario().settings.grace.stop;
  const bool may = is_impatient_ || may_kill_at_once_ || world_.may_kill();
  world_.expect(may || now + grace + slack >= ends || living_workers() == 0,
                "{}: ranks are killed {} ms before their grace is over", host_,
                std::chrono::duration_cast<milliseconds>(ends - now - grace).count());
}

// The root may start them elsewhere as soon as it has noticed the silence.
void Agent::check_fence() {
  if (is_dismissed_) return;
  may_kill_at_once_ = true;
  world_.timeline().in(fence + to_start, [this] {
    const bool acts = lives() && !process_.is_stopped();
    world_.expect(!acts || living_workers() == 0, "{} is cut off, but its ranks live", host_);
  });
}

}  // namespace toprun::simulation
