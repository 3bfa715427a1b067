#include <fmt/format.h>

#include <algorithm>

#include "base/net/hostlist.h"
#include "base/text/text.h"
#include "run/conductor/coordinator.h"

// The gathering of nodes before an attempt: which agents are admitted, how long the run waits for
// which nodes, and which nodes wait as spares.
namespace toprun::run {

using model::CauseKind;
using model::Failed;
using model::Failing;
using model::Leaving;
using model::Orphaned;
using model::Signalled;
using model::ToRoot;

std::optional<model::Refused> Coordinator::admit(const model::Join& join) {
  make_way_for(join);
  const auto barred = barred_.find(join.host);
  auto refused = barred != barred_.end() ? model::Refused{model::Refusal::job, barred->second}
                                         : roster_.admit(join);
  if (refused) {
    tell_of_visitor(fmt::format("refused an agent on {}: {}", join.host, refused->text));
  } else if (const auto* other = roster_.with_other_max_restarts(join)) {
    tell_of_visitor(fmt::format("{} has --max-restarts {}; the {} of the root agent on {} is used",
                                join.host, *join.max_restarts, *other->max_restarts, other->host));
  }
  return refused;
}

// A pod that came to a node which then vanished is started again on another before its silence is
// noticed.
void Coordinator::make_way_for(const model::Join& join) {
  if (!settings_.names_are_unique || stage_ != Stage::gathering) return;
  const Node* const holder = roster_.holder_of_slot(join);
  if (holder == nullptr || !holder->is_linked() || holder->is_own()) return;
  if (holder->join.host != join.host || holder->join.agent == join.agent) return;
  tell_of_visitor(fmt::format("{} was started again and replaces its first agent (pid {})",
                              join.host, holder->join.pid));
  dismiss(*roster_.find(holder->join.agent), {exit_failure, {}});
}

void Coordinator::tell_of_visitor(std::string text) {
  if (now_.steady - visitors_reported_since_ >= visitor_lines_while) {
    const int left_out = visitors_reported_ - most_visitor_lines;
    if (left_out > 0) {
      tell_user(
          fmt::format("{} more lines about agents that join and leave were left out", left_out));
    }
    visitors_reported_since_ = now_.steady;
    visitors_reported_ = 0;
  }
  if (++visitors_reported_ <= most_visitor_lines) tell_user(std::move(text));
}

// Waits until all nodes are present, or enough nodes and the last call is over. If the last attempt
// lost no node, there is none to wait for.
void Coordinator::gather() {
  const bool enough = roster_.enough();
  if (!roster_.full()) choice_due_.reset();
  if (!enough) last_call_.reset();
  if (enough && !last_call_) last_call_ = now_.steady + settings_.last_call;
  const bool complete = (roster_.full() && !chooses_later()) || (enough && same_members_) ||
                        (last_call_ && now_.steady >= *last_call_) ||
                        (enough && no_other_can_come());
  if (complete) return arrange();
  if (!enough && no_other_can_come()) return end_early(too_many_have_left());
  if (!last_call_ && now_.steady >= deadline_) return end_early(too_few_joined());
  if (gathering_due_ && now_.steady >= *gathering_due_) {
    gathering_due_.reset();
    actions_.emplace_back(KeepRecord{});
  }
  if (roster_.present() != reported_present_) {
    reported_present_ = roster_.present();
    missing_pause_ = report_missing_every;
    next_report_ = std::min(next_report_, now_.steady + missing_pause_);
  }
  if (now_.steady < next_report_) return;
  report_missing();
  missing_pause_ = std::min(2 * missing_pause_, report_again_every);
  next_report_ = now_.steady + missing_pause_;
}

// Each of the engine's nodes has been here or has ended, and none comes again.
bool Coordinator::no_other_can_come() const {
  const bool may_be = settings_.each_comes_once && !settings_.node_names.empty() &&
                      came_.size() >= settings_.node_names.size();
  if (!may_be) return false;
  return std::ranges::all_of(settings_.node_names,
                             [this](const std::string& node) { return came_.contains(node); });
}

// Whether nodes of the engine's are still on their way, that may be better than those which were
// here first: at the first attempt, for a moment.
bool Coordinator::chooses_later() {
  const bool is_first = course_.attempts.size() == 1;
  const std::size_t all = settings_.node_names.size() - ended_.size();
  if (!is_first || !settings_.size.repairable || all <= roster_.nodes().size()) {
    return false;
  }
  if (!choice_due_) choice_due_ = now_.steady + spares_limit;
  return now_.steady < *choice_due_;
}

void Coordinator::on_report_between_attempts(Node& node, const ToRoot& message) {
  if (const auto* leaving = std::get_if<Leaving>(&message.what)) {
    dismiss(node, {128 + leaving->signal, {}});
  } else if (const auto* failed = std::get_if<Failed>(&message.what)) {
    if (failed->doing != Failing::taking_part) return;  // from an attempt that is over
    end_or_go_on_without(node, *failed);
  } else if (const auto* orphaned = std::get_if<Orphaned>(&message.what)) {
    if (node.is_own()) end_early(root_lost_early(node.join.host, *orphaned));
  } else if (const auto* signalled = std::get_if<Signalled>(&message.what)) {
    end_early(signalled_early(signalled->signal));
  }
}

void Coordinator::gathering_changed() {
  if (stage_ != Stage::gathering || gathering_due_) return;
  gathering_due_ = now_.steady + gathering_record_after;
}

std::optional<model::Gathering> Coordinator::gathering() const {
  if (stage_ != Stage::gathering) return std::nullopt;
  const auto wall = [this](SteadyTime at) {
    return now_.wall + std::chrono::duration_cast<WallTime::duration>(at - now_.steady);
  };
  model::Gathering gathering;
  for (const std::string& agent : roster_.members()) {
    const Node& node = *roster_.find(agent);
    if (node.is_linked()) gathering.here.push_back(node.join.host);
  }
  gathering.missing = roster_.missing(settings_.node_names);
  gathering.least = static_cast<std::size_t>(roster_.size().least);
  gathering.most = static_cast<std::size_t>(roster_.size().most);
  if (last_call_) gathering.begins_at = wall(*last_call_);
  gathering.ends_at = wall(deadline_);
  return gathering;
}

std::vector<std::string> Coordinator::awaited() const {
  // An elastic job does not wait for a node that has ended.
  if (stage_ != Stage::gathering || settings_.elastic) return {};
  return roster_.missing(settings_.node_names);
}

void Coordinator::report_missing() {
  if (last_call_) {
    const Size& size = roster_.size();
    const auto left = *last_call_ - now_.steady;
    if (left < least_told_wait) return;
    const int here = roster_.present();
    tell_user(
        fmt::format("{} joined ({} to {} may take part): the job starts unless another node "
                    "joins within {}",
                    here == 1 ? "1 node has" : fmt::format("{} nodes have", here), size.least,
                    size.most, duration_text(left)));
    return;
  }
  const auto waited = settings_.join_timeout - (deadline_ - now_.steady);
  const std::string_view hint =
      settings_.is_met_on_this_host_only
          ? "; only toprun on this same host can join: the endpoint names "
            "this host by an address that other hosts do not reach"
          : "";
  tell_user(fmt::format("{} (for {} now, at most {}){}", who_is_missing(), duration_text(waited),
                        duration_text(settings_.join_timeout), hint));
}

// "waiting for 2 of 8 nodes: n[3,5]"; "1 of 2:4 nodes are here, waiting for 1 more of n[1,4-5]".
std::string Coordinator::who_is_missing() const {
  const Size& size = roster_.size();
  const std::vector<std::string> absent = roster_.missing(settings_.node_names);
  const std::string names = absent.empty() ? "" : hosts::compress_hostlist(absent);
  if (roster_.present() < size.least && size.least < size.most) {
    return fmt::format("{} of {}:{} nodes have joined, waiting for {} more{}{}", roster_.present(),
                       size.least, size.most, size.least - roster_.present(),
                       names.empty() ? "" : " of ", names);
  }
  return fmt::format("waiting for {} of {} {}{}{}", size.most - roster_.present(), size.most,
                     settings_.ranks_in_place ? "ranks" : "nodes", names.empty() ? "" : ": ",
                     names);
}

Verdict Coordinator::too_few_joined() const {
  const Size& size = roster_.size();
  const std::string requested = size.least == size.most
                                    ? fmt::to_string(size.most)
                                    : fmt::format("{}:{}", size.least, size.most);
  const std::vector<std::string> absent = roster_.missing(settings_.node_names);
  return early(CauseKind::join_timeout,
               Error{fmt::format("{} of {} joined within {}", roster_.present(), requested,
                                 duration_text(settings_.join_timeout)),
                     absent.empty() ? left_early_ ? left_early_->second : ""
                                    : "missing: " + hosts::compress_hostlist(absent),
                     "start the missing ones, or raise join_timeout in --rdzv-conf", exit_failure});
}

Verdict Coordinator::too_many_have_left() const {
  const auto& [node, why] = left_early_ ? *left_early_ : std::pair<std::string, std::string>();
  Verdict verdict =
      early(CauseKind::agent_lost,
            Error{node.empty() ? too_few_are_left(roster_.present())
                               : fmt::format("{} left before the job was complete", node),
                  why, node.empty() ? "" : too_few_are_left(roster_.present()), exit_failure});
  verdict.node = node;
  return verdict;
}

std::string Coordinator::too_few_are_left(int left) const {
  const Size& size = roster_.size();
  return fmt::format("{} of the {} nodes that the job needs{} {} left, and no other node can join",
                     left, size.least, size.least < size.most ? " at least" : "",
                     left == 1 ? "is" : "are");
}

std::vector<Outside> Coordinator::spares() const {
  std::vector<Outside> hosts;
  for (const auto& [agent, node] : roster_.nodes()) {
    if (node->state == NodeState::spare) hosts.push_back(node->join.host);
  }
  std::ranges::sort(hosts, {}, &Outside::raw);
  return hosts;
}

// `has_place`: the spare would be one of the most nodes.
model::Until Coordinator::spare_waits_until(bool has_place) const {
  using model::Until;
  if (!has_place) return Until::a_place_is_free;
  switch (settings_.grow) {
    case Grow::at_restart:
      return Until::the_next_restart;
    case Grow::now:
      return Until::all_have_stopped;
    case Grow::on_signal:
      return Until::somebody_asks;
  }
  return Until::a_place_is_free;
}

void Coordinator::tell_to_wait(Node& node, bool has_place) {
  node.waits = true;
  send(node, model::WaitAsSpare{spare_waits_until(has_place)});
}

// After the choice: those that do not know yet that they wait.
void Coordinator::tell_spares() {
  std::vector<std::string> hosts;
  for (const auto& [agent, node] : roster_.nodes()) {
    if (node->state != NodeState::spare || node->waits) continue;
    hosts.push_back(node->join.host);
    tell_to_wait(*node, false);
  }
  if (hosts.empty()) return;
  tell_of_visitor(hosts.size() == 1 ? hosts.front() + " waits as a spare"
                                    : fmt::format("{} nodes wait as spares: {}", hosts.size(),
                                                  hosts::short_list(hosts)));
}

// A record costs time for each node: of more spares the next one tells.
void Coordinator::keep_spares() {
  constexpr std::size_t most_worth_a_record = 64;
  const std::size_t others = roster_.nodes().size() - static_cast<std::size_t>(roster_.seated());
  if (others <= most_worth_a_record) actions_.emplace_back(KeepRecord{});
}

void Coordinator::lost_spare(const std::string& host, std::string why) {
  if (course_.lost_spares.size() == model::most_lost_nodes) {
    course_.lost_spares.erase(course_.lost_spares.begin());
  }
  course_.lost_spares.push_back({host, now_.wall, std::move(why)});
  keep_spares();
}

// Whether nodes of the engine's are left over, those not counted that ended before they joined.
bool Coordinator::has_spare() const {
  return settings_.size.repairable &&
         settings_.node_names.size() >=
             static_cast<std::size_t>(settings_.size.most) + ended_.size();
}

}  // namespace toprun::run
