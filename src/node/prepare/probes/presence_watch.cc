#include "node/prepare/probes/presence_watch.h"

#include <utility>

#include "base/os/timer.h"

namespace toprun::probes {

void Attendance::look(const engines::Presence& presence, SteadyTime now) {
  before_ = std::exchange(now_, {presence.nodes.begin(), presence.nodes.end()});
  seen_.insert(now_.begin(), now_.end());
  all_have_begun_ = !presence.may_be_late && now >= begun_by_;
  ++looks_;
}

bool Attendance::has_ended(const std::string& node) const {
  const bool absent = looks_ > 1 && !now_.contains(node) && !before_.contains(node);
  return absent && (all_have_begun_ || seen_.contains(node));
}

struct PresenceWatch::Looking {
  enum class State { resting, asking, over } state = State::resting;
  Attendance attendance;
};

namespace {

// An engine that takes longer tells nothing while this run waits.
constexpr std::chrono::minutes presence_limit{1};

// All expected processes must belong to the one step about which the engine reports.
bool is_one_step(const plan::Job& job) {
  using enum engines::EngineKind;
  const auto engine = job.place.engine;
  return job.place.started_together && (engine == slurm || engine == manual);
}

}  // namespace

PresenceWatch::PresenceWatch(Pool& pool, const plan::Job& job)
    : pool_(pool),
      job_(job),
      looking_(std::make_shared<Looking>(Looking{
          {}, Attendance(SteadyClock::now() + slowest_begin + job.nnodes * more_per_node)})),
      next_look_(SteadyClock::now() + first_presence_look) {
  if (!is_one_step(job)) looking_->state = Looking::State::over;
}

void PresenceWatch::look_if_due() {
  const auto now = SteadyClock::now();
  if (looking_->state != Looking::State::resting || now < next_look_) return;
  next_look_ = now + between_presence_looks + job_.nnodes * more_per_node;
  using Presence = std::optional<engines::Presence>;
  looking_->state = Looking::State::asking;
  pool_.run<Presence>(
      presence_limit, [environment = job_.environment] { return engines::presence(environment); },
      [looking = looking_](const Pool::Answer<Presence>& answer) {
        const Presence presence = answer.value_or(std::nullopt);
        looking->state = presence ? Looking::State::resting : Looking::State::over;
        if (presence) looking->attendance.look(*presence, SteadyClock::now());
      });
}

bool PresenceWatch::has_ended(const std::string& node) const {
  return looking_->attendance.has_ended(node);
}

}  // namespace toprun::probes
