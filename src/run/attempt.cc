#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>

#include "hosts/hostlist.h"
#include "run/coordinator.h"

namespace toprun::run {

using rendezvous::Arrivals;
using rendezvous::AskedToGrow;
using rendezvous::Failed;
using rendezvous::Failing;
using rendezvous::Gone;
using rendezvous::Leaving;
using rendezvous::Notice;
using rendezvous::Orphaned;
using rendezvous::OutputLines;
using rendezvous::Prefetched;
using rendezvous::RanksMove;
using rendezvous::RanksSeen;
using rendezvous::RanksStill;
using rendezvous::RanksTold;
using rendezvous::Ready;
using rendezvous::Signalled;
using rendezvous::Started;
using rendezvous::ToRoot;
using std::chrono::milliseconds;
using view::CauseKind;

namespace {

// Whether the text names the host, as a separate word: "/tmp/n2x/a" and "n20" do not name "n2".
bool names_host(std::string_view text, std::string_view host) {
  constexpr std::string_view between_words = " :;,()\"";
  const auto stands_alone = [&](std::size_t at) {
    const std::size_t end = at + host.size();
    return (at == 0 || between_words.contains(text[at - 1])) &&
           (end == text.size() || between_words.contains(text[end]));
  };
  std::size_t at = text.find(host);
  while (at != std::string_view::npos && !stands_alone(at)) at = text.find(host, at + 1);
  return at != std::string_view::npos;
}

Error with_host(Error error, const std::string& host) {
  if (!names_host(error.line(), host)) error.what = host + ": " + error.what;
  return error;
}

}  // namespace

Verdict signalled_early(int signal) {
  Verdict verdict;
  verdict.exit_code = 128 + signal;
  verdict.kind = CauseKind::interrupted;
  verdict.message = fmt::format("ended by signal {} before the workers were started", signal);
  verdict.told_to_end = true;
  return verdict;
}

Verdict root_lost_early(const std::string& host, const Orphaned& orphaned) {
  Conductor conductor({host}, {1}, {});
  conductor.root_lost(0, orphaned.reason);
  return conductor.verdict();
}

void Coordinator::arrange() {
  roster_.close();
  course_now().phases.joined = now_.steady;
  attempt_ = {};
  attempt_.members = roster_.members();
  Arrange request{course_now().number, {}, {}};
  request.members.reserve(attempt_.members.size());
  for (std::size_t i = 0; i < attempt_.members.size(); ++i) {
    Node& node = *roster_.find(attempt_.members[i]);
    node.part = i;
    attempt_.hosts.push_back(node.join.host);
    request.members.push_back(node.join);
  }
  if (course_.attempts.size() > 1) {
    for (const view::NodeRecord& node : (course_.attempts.end() - 2)->nodes) {
      request.before.push_back(node.name);
    }
  }
  course_now().spreads.join = time_to_join();
  stage_ = Stage::arranging;
  actions_.emplace_back(std::move(request));
}

void Coordinator::happened(Arranged& arranged) {
  if (stage_ != Stage::arranging || arranged.attempt != course_now().number) return;
  if (!arranged.arrangement) {
    return end_attempt(early(CauseKind::launcher, arranged.arrangement.error()));
  }
  attempt_.arrangement = *std::move(arranged.arrangement);
  AttemptCourse& course = course_now();
  course.phases.ordered = now_.steady;
  for (const std::size_t i : attempt_.arrangement.nodes) {
    const rendezvous::Assignment& part = attempt_.arrangement.parts[i];
    course.nodes.push_back({attempt_.hosts[i], part.group_rank, part.first_rank,
                            part.local_world_size, part.location});
  }
  course.order = attempt_.arrangement.order;
  for (const std::string& warning : attempt_.arrangement.order.warnings) tell_user(warning);
  for (const std::string& warning : arranged.warnings) tell_user(warning);
  if (settings_.tells_orders) {
    for (const std::string& line : view::order_table(*course.order, course.nodes)) tell_user(line);
  }
  actions_.emplace_back(KeepRecord{});
  assign();
}

void Coordinator::assign() {
  const Shared<rendezvous::StoreAddress> store = store_address();
  if (settings_.tells_orders && settings_.several_processes) {
    tell_user(fmt::format("the store is on {}, port {}", store->host, store->port));
  }
  std::vector<rendezvous::Assignment> parts = attempt_.arrangement.parts;
  if (!settings_.stage_key.empty()) plan_staging(parts);
  const bool others_start_at_once = others_need_no_preparation();
  for (std::size_t i = 0; i < attempt_.members.size(); ++i) {
    rendezvous::Assignment& part = parts[i];
    part.attempt = course_now().number;
    part.restarts = restarts_.count();
    part.store = store;
    part.colours = settings_.colours;
    part.run_id = settings_.run_id;
    Node& node = *roster_.find(attempt_.members[i]);
    part.start = others_start_at_once && !node.is_own();
    if (part.start) continue;
    node.state = NodeState::preparing;
    ++attempt_.late;
    send(node, std::move(part));
  }
  if (others_start_at_once) attempt_.held = std::move(parts);
  stage_ = Stage::preparing;
  deadline_ = now_.steady + settings_.prepare_limit;
}

// With the store on the root's node, which they have reached already.
bool Coordinator::others_need_no_preparation() const {
  const auto is_own = [this](const std::string& agent) { return roster_.find(agent)->is_own(); };
  return is_own(attempt_.members[attempt_.arrangement.store_host]) &&
         std::ranges::all_of(attempt_.members, [&](const std::string& agent) {
           return is_own(agent) || !roster_.find(agent)->join.prepares;
         });
}

// At which the others reach a member.
rendezvous::StoreAddress Coordinator::address_of(std::size_t part) const {
  const Node& host = *roster_.find(attempt_.members[part]);
  rendezvous::StoreAddress found;
  found.agent = host.join.agent;
  found.host = host.join.host;
  found.port = host.join.store_port;
  const std::string& seen = host.is_own() ? root_address_ : host.address;
  if (!seen.empty()) found.addresses.push_back(seen);
  for (const std::string& address : host.join.addresses) {
    if (std::ranges::find(found.addresses, address) == found.addresses.end()) {
      found.addresses.push_back(address);
    }
  }
  return found;
}

rendezvous::StoreAddress Coordinator::store_address() const {
  const std::size_t part = attempt_.arrangement.store_host;
  const Node& host = *roster_.find(attempt_.members[part]);
  rendezvous::StoreAddress store = address_of(part);
  const bool is_first = attempt_.arrangement.parts[part].group_rank == 0;
  const bool is_named = host.join.node_rank == 0 || settings_.on_one_host;
  if (settings_.master_addr && is_first && is_named) store.exact = *settings_.master_addr;
  return store;
}

void Coordinator::on_report_while_preparing(Node& node, const ToRoot& message) {
  const bool of_this_attempt = message.attempt == course_now().number;
  if (std::holds_alternative<Ready>(message.what)) {
    if (!of_this_attempt || node.state != NodeState::preparing) return;
    node.state = NodeState::ready;
    if (--attempt_.late == 0) start();
  } else if (const auto* staged = std::get_if<rendezvous::Staged>(&message.what)) {
    if (of_this_attempt && node.state == NodeState::preparing) on_staged(node, *staged);
  } else if (const auto* failed = std::get_if<Failed>(&message.what)) {
    if (failed->doing == Failing::taking_part) return end_or_go_on_without(node, *failed);
    if (!of_this_attempt) return;
    Verdict verdict = early(CauseKind::launcher, with_host(failed->error, node.join.host));
    if (failed->doing != Failing::finding_store || !settings_.size.repairable) {
      return end_attempt(std::move(verdict));
    }
    if (attempt_.store_unreachable) return;
    attempt_.store_unreachable = std::move(verdict);
    deadline_ = std::min(deadline_, now_.steady + settings_.silence_limit);
  } else if (const auto* signalled = std::get_if<Signalled>(&message.what)) {
    end_attempt(signalled_early(signalled->signal));
  } else if (const auto* leaving = std::get_if<Leaving>(&message.what)) {
    node.leaves_by = leaving->signal;
    Conductor conductor({node.join.host}, {1}, {});
    conductor.leaving(0, leaving->signal);
    end_attempt(conductor.verdict());
  } else if (const auto* orphaned = std::get_if<Orphaned>(&message.what)) {
    if (node.is_own()) return end_attempt(root_lost_early(node.join.host, *orphaned));
    roster_.unseat(node, NodeState::lost);
    end_attempt(lost_early(node.join.host, {rendezvous::Loss::Kind::closed, orphaned->reason}));
  }
}

// Handles a node that is unfit for the job: an elastic job continues without it.
void Coordinator::end_or_go_on_without(Node& node, const Failed& failed) {
  Verdict verdict = early(CauseKind::launcher, with_host(failed.error, node.join.host));
  const bool is_between = stage_ == Stage::gathering || stage_ == Stage::pausing;
  if (!settings_.elastic || node.is_own()) {
    return is_between ? end_early(std::move(verdict)) : end_attempt(std::move(verdict));
  }
  tell_user(verdict.message + "; the job goes on without it");
  const std::string host = node.join.host;
  dismiss(node, {verdict.exit_code, {}});
  if (!is_between) end_attempt(lost_early(host, {rendezvous::Loss::Kind::closed, "it is unfit"}));
}

Verdict Coordinator::nobody_is_ready() const {
  std::vector<std::string> hosts;
  for (const std::string& agent : attempt_.members) {
    const Node* const node = roster_.find(agent);
    if (node->state == NodeState::preparing) hosts.push_back(node->join.host);
  }
  return early(CauseKind::launcher, Error{"no word from " + hosts::compress_hostlist(hosts),
                                          "after " + duration_text(settings_.prepare_limit),
                                          "look at the agents there", exit_failure});
}

void Coordinator::start() {
  tell_staging();
  std::vector<int> ranks;
  for (std::size_t i = 0; i < attempt_.members.size(); ++i) {
    Node& node = *roster_.find(attempt_.members[i]);
    ranks.push_back(node.join.slots);
    if (std::exchange(node.state, NodeState::running) == NodeState::ready) {
      send(node, rendezvous::Start{});
    } else {
      send(node, std::move(attempt_.held[i]));
    }
  }
  attempt_.held = {};
  attempt_.conductor.emplace(attempt_.hosts, std::move(ranks), settings_.grace,
                             settings_.ended_well, settings_.grow);
  attempt_.start_sent = now_.steady;
  attempt_.started_at.resize(attempt_.members.size());
  attempt_.pids.resize(attempt_.members.size());
  attempt_.still.resize(attempt_.members.size());
  stage_ = Stage::running;
  count_newcomers();  // newcomers that arrived while this attempt was prepared
}

void Coordinator::on_report_while_running(Node& node, ToRoot& message) {
  Conductor& conductor = *attempt_.conductor;
  const std::size_t part = *node.part;
  const bool of_this_attempt = message.attempt == course_now().number;
  if (auto* output = std::get_if<OutputLines>(&message.what)) {
    actions_.emplace_back(Show{node.join.agent, node.join.host, std::move(*output)});
  } else if (const auto* signalled = std::get_if<Signalled>(&message.what)) {
    conductor.signalled(part, signalled->signal);
  } else if (const auto* leaving = std::get_if<Leaving>(&message.what)) {
    node.leaves_by = leaving->signal;
    conductor.leaving(part, leaving->signal);
  } else if (const auto* notice = std::get_if<Notice>(&message.what)) {
    send_members(*notice);
  } else if (const auto* orphaned = std::get_if<Orphaned>(&message.what)) {
    if (node.is_own()) return conductor.root_lost(part, orphaned->reason);
    roster_.unseat(node, NodeState::lost);
    conductor.lost(part, false, orphaned->reason);
  } else if (!of_this_attempt) {
    return;  // a message from an attempt that is over
  } else if (const auto* started = std::get_if<Started>(&message.what)) {
    on_started(node, *started);
  } else if (const auto* prefetched = std::get_if<Prefetched>(&message.what)) {
    attempt_.prefetched.push_back({prefetched->took, std::nullopt, attempt_.hosts[part]});
  } else if (const auto* arrivals = std::get_if<Arrivals>(&message.what)) {
    if (part == attempt_.arrangement.store_host) arrived(*arrivals, now_.steady);
  } else if (const auto* exit = std::get_if<Shared<agent::WorkerExit>>(&message.what)) {
    exited(part, *exit);
  } else if (const auto* was_last = std::get_if<Gone>(&message.what)) {
    gone(node, *was_last);
  } else if (const auto* failed = std::get_if<Failed>(&message.what)) {
    Error error = with_host(failed->error, node.join.host);
    if (failed->doing == Failing::running) return conductor.refused(part, std::move(error));
    conductor.failed(part, std::move(error));
  } else if (std::holds_alternative<AskedToGrow>(message.what)) {
    asked_to_grow(node.is_own());
  } else if (const auto* still = std::get_if<RanksStill>(&message.what)) {
    stillness_changed(part, hang::Still{now_.steady - still->age, still->some_communicate});
  } else if (std::holds_alternative<RanksMove>(message.what)) {
    stillness_changed(part, std::nullopt);
  } else if (const auto* alarm = std::get_if<hang::Alarm>(&message.what)) {
    alarmed(part, *alarm);
  } else if (auto* ranks = std::get_if<RanksSeen>(&message.what)) {
    seen(part, *ranks);
  } else if (auto* recorders = std::get_if<RanksTold>(&message.what)) {
    told(part, *recorders);
  }
}

// Compares the workers' actual ranks with the plan: a job with its ranks on other nodes would be
// slow, or wrong, without any message.
void Coordinator::on_started(Node& node, const Started& started) {
  const rendezvous::Assignment& plan = attempt_.arrangement.parts[*node.part];
  if (started.first_rank && *started.first_rank != plan.first_rank) {
    return attempt_.conductor->failed(
        *node.part, {fmt::format("{} started at rank {}", node.join.host, *started.first_rank),
                     fmt::format("the plan says rank {}", plan.first_rank),
                     "this is a defect of toprun: please report it", exit_failure});
  }
  AttemptCourse& course = course_now();
  const auto place = static_cast<std::size_t>(plan.group_rank);
  if (place < course.nodes.size()) course.nodes[place].logs = started.logs;
  attempt_.started_at[*node.part] = now_.steady;
  attempt_.pids[*node.part] = started.pids;
  if (started.warmed) {
    attempt_.warmed.push_back({*started.warmed, std::nullopt, attempt_.hosts[*node.part]});
  }
  if (++attempt_.started == attempt_.members.size()) all_started();
}

void Coordinator::all_started() {
  AttemptCourse& course = course_now();
  course.phases.spawned = now_.steady;
  course.spreads.spawn = time_to_start();
  course.spreads.warm = view::spread_of(attempt_.warmed);
  course.order->verified = true;
  actions_.emplace_back(KeepRecord{});
  if (settings_.tells_orders && attempt_.members.size() > 1) {
    tell_user(
        fmt::format("all {} nodes' ranks are where the order puts them", course.nodes.size()));
  }
  tell_phase(
      "all ranks were started", now_.steady,
      {.join = course.spreads.join, .warm = course.spreads.warm, .spawn = course.spreads.spawn});
  if (const auto held = std::exchange(attempt_.arrivals, std::nullopt)) {
    arrived(held->first, held->second);
  }
}

void Coordinator::exited(std::size_t part, agent::WorkerExit exit) {
  attempt_.progress = now_.steady;
  if (exit.failed() && !exit.ours && !attempt_.first_failure) attempt_.first_failure = exit.ended;
  attempt_.conductor->exited(part, std::move(exit), now_.steady);
}

void Coordinator::gone(Node& node, const Gone& gone) {
  Phases& phases = course_now().phases;
  if (gone.first_connect_age) phases.first_connect = now_.steady - *gone.first_connect_age;
  if (gone.network) course_now().networks.emplace_back(node.join.host, *gone.network);
  node.state = NodeState::gone;
  attempt_.conductor->gone(*node.part);
}

void Coordinator::count_newcomers() {
  const int newcomers = roster_.newcomers();
  const bool all = roster_.seated() + newcomers == roster_.size().most;
  attempt_.conductor->newcomers(newcomers, all, now_.steady);
  if (newcomers > 0 && settings_.grow == Grow::on_signal) {
    tell_user(fmt::format("the job can grow by {}: {}", newcomers, settings_.how_to_grow));
  }
}

// Slurm sends the signal to all agents at once; only one of them answers.
void Coordinator::asked_to_grow(bool by_own_agent) {
  if (attempt_.conductor->asked_to_grow() || !by_own_agent) return;
  if (settings_.grow != Grow::on_signal) {
    tell_user("asked to take in more nodes: that takes --grow on-signal");
  } else if (roster_.newcomers() == 0) {
    tell_user("asked to take in more nodes: none waits");
  }
}

void Coordinator::carry_out_orders() {
  for (const Conductor::Order& order : attempt_.conductor->take_orders()) {
    const bool interrupt = order.kind == Conductor::Order::Kind::interrupt;
    interruption_.reset();
    // For ranks in place only the engine knows which still run.
    if (interrupt && order.signal == SIGINT && !settings_.ranks_in_place) {
      interruption_ = {now_.steady + order.grace, now_.steady + ctrl_c_reminder_delay};
    }
    if (interrupt) {
      send_members(rendezvous::Interrupt{order.signal, order.grace, order.reason});
    } else {
      send_members(rendezvous::Stop{order.grace, order.reason});
    }
  }
  if (attempt_.conductor->over()) end_attempt(std::move(*attempt_.conductor).verdict());
}

void Coordinator::remind() {
  if (!interruption_ || !interruption_->remind_at || now_.steady < *interruption_->remind_at)
    return;
  interruption_->remind_at.reset();
  int all = 0;
  for (const rendezvous::Assignment& part : attempt_.arrangement.parts) all += part.nproc;
  const int running = all - static_cast<int>(attempt_.conductor->ended_ranks());
  const auto left = std::chrono::ceil<std::chrono::seconds>(interruption_->killed_at - now_.steady);
  if (running <= 0 || left.count() <= 0) return;
  tell_user(
      fmt::format("{} of {} ranks still run after SIGINT, for {} s at most: Ctrl-C again to kill",
                  running, all, left.count()));
}

// The workers' run time until the first failure; unset if they never started.
std::optional<milliseconds> Coordinator::lifetime() const {
  const auto& spawned = course_.attempts.back().phases.spawned;
  if (!spawned || !attempt_.first_failure) return std::nullopt;
  return std::chrono::duration_cast<milliseconds>(*attempt_.first_failure - *spawned);
}

}  // namespace toprun::run
