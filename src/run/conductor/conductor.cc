#include "run/conductor/conductor.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/net/hostlist.h"
#include "base/os/signals.h"
#include "base/process/impatience.h"
#include "base/text/text.h"

namespace toprun::run {
namespace {

using model::CauseKind;
using std::chrono::milliseconds;

std::string words_for(const model::WorkerExit& exit) {
  return exit.signal != 0
             ? fmt::format("rank {} on {} was killed by {}", exit.rank, exit.host,
                           signal_name(exit.signal))
             : fmt::format("rank {} on {} exited with {}", exit.rank, exit.host, exit.exit_code);
}

std::string words_for_newcomers(int nodes) {
  return nodes == 1 ? "a node has joined: all ranks start again with it"
                    : fmt::format("{} nodes have joined: all ranks start again with them", nodes);
}

// "rank 2 on b, rank 3 on b", for the first few.
std::string names_of(const std::vector<const model::WorkerExit*>& exits) {
  constexpr std::size_t most_named = 8;
  std::vector<std::string> names;
  for (const model::WorkerExit* exit : exits) {
    if (names.size() == most_named) {
      names.push_back(fmt::format("{} more", exits.size() - most_named));
      break;
    }
    names.push_back(fmt::format("rank {} on {}", exit->rank, exit->host));
  }
  return join(names, ", ");
}

// What the rank's last error is, in a line; empty if it showed none.
std::string_view error_of(const model::WorkerExit& exit) {
  const bool has_file = exit.error_file && !exit.error_file->message.empty();
  return first_line(has_file ? exit.error_file->message : exit.exception);
}

std::string hang_message(const std::vector<const model::WorkerExit*>& absent,
                         const model::WorkerExit& waited) {
  const std::string_view said = error_of(waited);
  return fmt::format("{} did not come to the collective in which rank {} on {} timed out{}{}",
                     names_of(absent), waited.rank, waited.host, said.empty() ? "" : ": ", said);
}

// "rank 0 was in step, …": where the ranks were in the user's code, for the first few places.
std::string places_text(const std::map<std::string, std::vector<int>>& places) {
  constexpr std::size_t most_places = 4;
  std::vector<std::string> texts;
  for (const auto& [place, ranks] : places) {
    if (texts.size() == most_places) {
      texts.push_back(counted(places.size() - most_places, "other place"));
      break;
    }
    texts.push_back(fmt::format("{} {} at {}", ranks.size() == 1 ? "rank" : "ranks",
                                ranges_text(ranks), place));
  }
  return join(texts, "; ");
}

// Of a root that lost all other nodes at once.
Verdict cut_off(const std::vector<std::string>& hosts, const std::vector<char>& silent,
                const Verdict& first) {
  std::vector<std::string> others;
  std::string own;
  for (std::size_t node = 0; node < hosts.size(); ++node) {
    if (silent[node] == 0) {
      own = hosts[node];
    } else if (std::ranges::find(others, hosts[node]) == others.end()) {
      others.push_back(hosts[node]);
    }
  }
  Verdict verdict = first;
  verdict.node.clear();
  verdict.message = fmt::format(
      "{}, where the root is, lost {} at the same time: the network of {} is more likely at fault "
      "than {} nodes",
      own, hosts::short_list(others), own, others.size());
  return verdict;
}

// Of two hosts that do not hear each other, either may be cut off. The node keeps its name in the
// verdict: the job goes on without it, whatever the reason.
Verdict lost_one_of_two(const std::vector<std::string>& hosts, const Verdict& first) {
  const auto own =
      std::ranges::find_if(hosts, [&](const std::string& host) { return host != first.node; });
  Verdict verdict = first;
  verdict.message = fmt::format(
      "{}: this does not tell whether {} failed, or the network of {} or of {}, where the root is",
      first.message, first.node, first.node, *own);
  return verdict;
}

std::string mismatch_message(const model::Mismatch& mismatch) {
  const std::string_view said = error_of(*mismatch.noticed);
  std::string message =
      model::shows_both_calls(said)
          ? std::string(said)
          : fmt::format(
                "Gloo ended rank {}, because data from another rank did not have the size "
                "that the call of rank {} expects; this does not tell which rank is wrong",
                mismatch.noticed->rank, mismatch.noticed->rank);
  if (mismatch.places.empty()) return message;
  return fmt::format("{}; the calls: {}", message, places_text(mismatch.places));
}

Verdict early_end(const model::EndedEarly& early) {
  Verdict verdict;
  const model::WorkerExit& victim = *early.victim;
  verdict.exit_code = model::cause_code(victim);
  verdict.kind = CauseKind::ended_early;
  verdict.exit = victim;
  if (early.ranks.size() == 1) verdict.node = early.ranks.front()->host;
  for (const model::WorkerExit* exit : early.ranks) verdict.absent.push_back(*exit);
  verdict.meanwhile = fmt::format("{} still {}", counted(early.others, "rank"),
                                  early.call.empty() ? "ran" : "called " + early.call);
  const std::string_view said = error_of(victim);
  verdict.message =
      early.ranks.size() == 1
          ? fmt::format("rank {} on {} failed as a consequence", victim.rank, victim.host)
          : fmt::format("rank {} on {} failed after {} had ended with 0", victim.rank, victim.host,
                        names_of(early.ranks));
  if (!said.empty()) verdict.message += fmt::format(": {}", said);
  return verdict;
}

}  // namespace

void Conductor::exited(std::size_t node, model::WorkerExit ended, SteadyTime now) {
  ended.host = hosts_[node];
  const bool is_finding = model::is_finding(ended) && !ended.ours;
  if (is_finding) {
    found_ = ended.exit_code;
    ended.exit_code = 0;
  }
  const model::WorkerExit& exit = exits_.emplace_back(std::move(ended));
  if (!exit.ours) --running_[node];
  if (exit.ours || trigger_ != Trigger::none || (!exit.failed() && !is_finding)) return;
  // What was found may be that a rank hangs, which does not end by itself. After a refusal the
  // others would wait for the rank that refused.
  const bool has_result = is_finding && found_ != exit_usage;
  const bool others_may_end = has_result || model::tells_only_of_a_lost_peer(exit);
  // After a mismatch, the other ranks' tracebacks show from where they made their calls.
  const bool others_fail_alike =
      !others_may_end && (model::fails_in_every_rank(exit) || model::is_of_an_import(exit) ||
                          model::tells_of_a_mismatch(exit));
  if (!others_may_end && !others_fail_alike) {
    stop(Trigger::exit, now);
  } else if (!suspicion_ends_) {
    suspicion_ends_ = now + (others_fail_alike ? grace_.same_text : grace_.own_exit);
  }
}

void Conductor::gone(std::size_t node) {
  leave(node);
}

void Conductor::leave(std::size_t node) {
  if (!gone_[node]) ++gone_count_;
  gone_[node] = 1;
}

void Conductor::lost(std::size_t node, bool silent, std::string reason, SteadyTime now) {
  if (gone_[node]) return;
  if (running_[node] == 0) return leave(node);
  lose(node, silent, reason, now);
}

void Conductor::root_lost(std::size_t node, std::string reason, SteadyTime now) {
  root_is_lost_ = true;
  lose(node, false, reason, now);
}

void Conductor::lose(std::size_t node, bool silent, std::string_view reason, SteadyTime now) {
  leave(node);
  silent_[node] = silent ? 1 : 0;
  if (!loss_) {
    loss_.emplace();
    loss_->exit_code = exit_failure;
    loss_->kind = silent ? CauseKind::node_lost : CauseKind::agent_lost;
    loss_->node = hosts_[node];
    loss_->message = reason;
  }
  stop(Trigger::lost, now);
}

std::size_t Conductor::lost_others() const {
  std::set<std::string_view> others, left;
  for (std::size_t node = 0; node < hosts_.size(); ++node) {
    (silent_[node] != 0 ? others : left).insert(hosts_[node]);
  }
  const bool lost_all = left.size() == 1 && !others.contains(*left.begin());
  return lost_all ? others.size() : 0;
}

void Conductor::failed(std::size_t node, Error error, SteadyTime now) {
  leave(node);
  refused(node, std::move(error), now);
}

void Conductor::refused(std::size_t node, Error error, SteadyTime now) {
  if (!failure_) {
    failure_.emplace();
    failure_->exit_code = error->exit_code;
    failure_->kind = CauseKind::launcher;
    failure_->node = hosts_[node];
    failure_->message = error.line();
  }
  stop(Trigger::failed, now);
}

void Conductor::hung(std::string message, std::string node, bool for_good, SteadyTime now) {
  if (trigger_ != Trigger::none) return;
  hang_.emplace();
  hang_->exit_code = exit_failure;
  hang_->kind = CauseKind::hang;
  hang_->node = std::move(node);
  hang_->message = std::move(message);
  hang_is_the_end_ = for_good;
  stop(Trigger::hung, now);
}

void Conductor::signalled(std::size_t node, int signal, SteadyTime now) {
  const bool again = signalled_[node] != 0;
  signalled_[node] = 1;
  if (signal_ != 0 && !again) return;
  signal_ = signal;
  if (is_impatient(now)) return order({Order::Kind::stop, 0, milliseconds(0)}, now);
  const bool has_another_cause =
      trigger_ != Trigger::none && trigger_ != Trigger::left && trigger_ != Trigger::grown;
  if (!has_another_cause || is_caused_by_signal(model::root_cause(exits_))) {
    trigger_ = Trigger::signal;
  }
  suspicion_ends_.reset();
  order({Order::Kind::interrupt, signal, grace_.stop}, now);
}

// Whether the signal's user does not want to wait for the end of the ranks' grace. What stops them
// may have come with the same signal: no user has seen it yet and pressed a key.
bool Conductor::is_impatient(SteadyTime now) const {
  switch (trigger_) {
    case Trigger::none:
    case Trigger::left:
    case Trigger::grown:
      return false;
    case Trigger::signal:
      return true;
    case Trigger::exit:
    case Trigger::lost:
    case Trigger::failed:
    case Trigger::hung:
      break;
  }
  return now - *stopped_at_ >= process::impatient_after &&
         !is_caused_by_signal(model::root_cause(exits_));
}

void Conductor::leaving(std::size_t node, int signal, SteadyTime now) {
  if (signalled_[node]) return;  // its own agent ends its ranks' grace
  signalled_[node] = 1;
  if (!departure_) {
    departure_.emplace();
    departure_->exit_code = 128 + signal;
    departure_->kind = CauseKind::interrupted;
    departure_->node = hosts_[node];
    departure_->message =
        fmt::format("{} leaves: its agent got {}", hosts_[node], signal_name(signal));
  }
  stop(Trigger::left, now);
}

void Conductor::newcomers(int nodes, bool all, SteadyTime now) {
  newcomers_ = nodes;
  if (grow_ != Grow::now) return;
  if (nodes == 0) {
    growth_due_.reset();
  } else if (all) {
    growth_due_ = now;
  } else if (!growth_due_) {
    growth_due_ = now + grace_.newcomers;
  }
  passed(now);
}

bool Conductor::asked_to_grow(SteadyTime now) {
  return grow_ == Grow::on_signal && newcomers_ > 0 && grow(now);
}

bool Conductor::grow(SteadyTime now) {
  growth_due_.reset();
  if (trigger_ != Trigger::none || !exits_.empty()) return false;
  stop(Trigger::grown, now);
  return true;
}

std::optional<SteadyTime> Conductor::wake_at() const {
  if (!suspicion_ends_ || !growth_due_) return suspicion_ends_ ? suspicion_ends_ : growth_due_;
  return std::min(*suspicion_ends_, *growth_due_);
}

void Conductor::passed(SteadyTime now) {
  if (growth_due_ && now >= *growth_due_) grow(now);
  if (!suspicion_ends_ || now < *suspicion_ends_) return;
  stop(Trigger::exit, now);
}

void Conductor::stop(Trigger trigger, SteadyTime now) {
  suspicion_ends_.reset();
  if (trigger_ != Trigger::none) return;
  trigger_ = trigger;
  order({Order::Kind::stop, 0, grace_.stop}, now);
}

void Conductor::order(Order order, SteadyTime now) {
  if (!stopped_at_) stopped_at_ = now;
  grace_ends_ = now + order.grace;
  orders_.push_back(order);
}

// Slurm signals workers and agents alike, so a worker may die before its agent handles the signal.
bool Conductor::is_caused_by_signal(const model::WorkerExit* cause) const {
  return signal_ != 0 && cause != nullptr && cause->signal == signal_;
}

std::vector<Conductor::Order> Conductor::take_orders() {
  return std::exchange(orders_, {});
}

Verdict Conductor::verdict() const& {
  Verdict verdict = verdict_without_exits();
  verdict.exits = exits_;
  return verdict;
}

Verdict Conductor::verdict() && {
  Verdict verdict = verdict_without_exits();
  verdict.exits = std::move(exits_);
  return verdict;
}

Verdict Conductor::verdict_without_exits() const {
  const model::WorkerExit* cause = model::root_cause(exits_);
  const bool cause_is_known = cause != nullptr && !model::tells_only_of_a_lost_peer(*cause);
  const bool all_well = std::ranges::none_of(exits_, &model::WorkerExit::failed);
  const bool all_ended_by_themselves =
      all_well && std::ranges::none_of(exits_, &model::WorkerExit::ours);

  Verdict verdict;
  if (trigger_ == Trigger::failed) {
    verdict = *failure_;
  } else if (trigger_ == Trigger::hung) {
    verdict = *hang_;
  } else if (loss_ && (trigger_ == Trigger::lost || !cause_is_known)) {
    const std::size_t others = lost_others();
    verdict = others > 1    ? cut_off(hosts_, silent_, *loss_)
              : others == 1 ? lost_one_of_two(hosts_, *loss_)
                            : *loss_;
  } else if (trigger_ == Trigger::signal && (!all_well || ended_well_ == EndedWell::failed)) {
    verdict.exit_code = all_well ? exit_failure : 128 + signal_;
    verdict.kind = CauseKind::interrupted;
    verdict.message = "ended by " + signal_name(signal_);
  } else if (trigger_ == Trigger::left) {
    verdict = *departure_;
  } else if (trigger_ == Trigger::grown && !all_ended_by_themselves) {
    verdict.exit_code = exit_failure;
    verdict.kind = CauseKind::grown;
    verdict.message = words_for_newcomers(newcomers_);
  } else if (const auto early = model::ended_early(exits_); early && !cause_is_known) {
    verdict = early_end(*early);
  } else if (cause != nullptr) {
    verdict.exit_code = model::cause_code(*cause);
    verdict.kind = cause->signal != 0 ? CauseKind::signal : CauseKind::exit;
    verdict.node = cause->host;
    verdict.message = words_for(*cause);
    verdict.exit = *cause;
    if (const auto mismatch = model::mismatch(exits_)) {
      verdict.kind = CauseKind::mismatch;
      verdict.message = mismatch_message(*mismatch);
    } else if (const auto missed = model::missed_collective(exits_)) {
      const auto& absent = missed->absent;
      verdict.kind = CauseKind::hang;
      verdict.node = absent.size() == 1 ? absent.front()->host : std::string();
      verdict.message = hang_message(absent, *missed->waited);
      for (const model::WorkerExit* exit : absent) verdict.absent.push_back(*exit);
    }
  }
  if (!verdict.kind && found_) verdict.exit_code = *found_;
  verdict.ordered_to_end = signal_ != 0 || root_is_lost_ || hang_is_the_end_;
  return verdict;
}

}  // namespace toprun::run
