#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/net/hostlist.h"
#include "base/os/signals.h"
#include "run/conductor/coordinator.h"
#include "run/model/exit.h"

namespace toprun::run {

using model::Arrivals;
using model::AskedToGrow;
using model::CauseKind;
using model::Failed;
using model::Failing;
using model::Gone;
using model::Leaving;
using model::Notice;
using model::Orphaned;
using model::Prefetched;
using model::RanksMove;
using model::RanksReported;
using model::RanksSeen;
using model::RanksStill;
using model::Ready;
using model::Signalled;
using model::Started;
using model::ToRoot;
using std::chrono::milliseconds;

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
  if (!names_host(error.line(), host)) error->what = host + ": " + error->what;
  return error;
}

}  // namespace

Verdict signalled_early(int signal) {
  Verdict verdict;
  verdict.exit_code = 128 + signal;
  verdict.kind = CauseKind::interrupted;
  verdict.message = fmt::format("ended by {} before the workers were started", signal_name(signal));
  verdict.ordered_to_end = true;
  return verdict;
}

Verdict root_lost_early(const std::string& host, const Orphaned& orphaned) {
  Conductor conductor({host}, {1}, {});
  conductor.root_lost(0, orphaned.reason, {});
  return conductor.verdict();
}

void Coordinator::arrange() {
  roster_.close();
  course_now().phases.joined = now_.steady;
  const int first_look = attempt_.watch ? attempt_.watch->next_look() : attempt_.first_look;
  attempt_ = {};
  attempt_.first_look = first_look;
  Arrange request{.attempt = course_now().number};
  for (const std::string& agent : candidates(request)) {
    Node& node = *roster_.find(agent);
    node.part = attempt_.parts.size();
    attempt_.parts.push_back({agent, node.join.host, {}, {}, {}});
    request.members.push_back(node.join);
  }
  if (course_.attempts.size() > 1) {
    for (const model::NodeRecord& node : (course_.attempts.end() - 2)->nodes) {
      request.before.push_back(node.name.raw());
    }
  }
  course_now().spreads.join = time_to_join();
  stage_ = Stage::arranging;
  deadline_ = now_.steady + settings_.arrange_limit;
  next_report_ = now_.steady + order_patience;
  actions_.emplace_back(std::move(request));
}

// The agents that may take part, those first that must: what has had a part keeps it. A node rank
// that the user gave is a choice too.
std::vector<std::string> Coordinator::candidates(Arrange& request) {
  std::vector<std::string> agents = roster_.members();
  request.seats = request.staying = agents.size();
  const auto has_rank = [&](const Node* node) { return node->join.node_rank.has_value(); };
  std::vector<Node*> spares;
  if (roster_.seated() == roster_.size().most) spares = roster_.candidates();
  const auto node_of = [&](const std::string& agent) { return roster_.find(agent); };
  if (spares.empty() || std::ranges::any_of(spares, has_rank) ||
      std::ranges::any_of(agents, has_rank, node_of)) {
    return agents;
  }
  const auto others = std::ranges::stable_partition(agents, [&](const std::string& agent) {
    const Node& node = *node_of(agent);
    return node.has_taken_part || node.is_own();
  });
  request.staying = agents.size() - others.size();
  for (const Node* const node : spares) agents.push_back(node->join.agent);
  return agents;
}

// The host of one of the chosen that has left while the order was computed; else all are seated.
std::optional<std::string> Coordinator::seat_the_chosen(const std::vector<std::size_t>& spares) {
  std::vector<Node*> out;
  std::vector<Node*> in;
  std::vector<Part> chosen;
  for (std::size_t i = 0; i < attempt_.parts.size(); ++i) {
    Part& part = attempt_.parts[i];
    Node* const node = roster_.find(part.agent);
    const bool is_spare = std::ranges::binary_search(spares, i);
    if (!is_spare) {
      if (node == nullptr || !node->is_linked()) return part.host;
      if (!node->has_seat) in.push_back(node);
      node->part = chosen.size();
      chosen.push_back(std::move(part));
    } else if (node != nullptr) {
      node->part.reset();
      if (node->has_seat) out.push_back(node);
    }
  }
  attempt_.parts = std::move(chosen);
  roster_.exchange(out, in);
  return std::nullopt;
}

void Coordinator::happened(Arranged& arranged) {
  if (stage_ != Stage::arranging || arranged.attempt != course_now().number) return;
  if (!arranged.arrangement) {
    return end_attempt(early(CauseKind::launcher, arranged.arrangement.error()));
  }
  if (const auto gone = seat_the_chosen(arranged.spares)) {
    return end_attempt(
        lost_early(*gone, {model::Loss::Kind::closed, "it left before its ranks were started"}));
  }
  tell_spares();
  Arrangement& arrangement = *arranged.arrangement;
  for (std::size_t i = 0; i < attempt_.parts.size(); ++i) {
    attempt_.parts[i].plan = std::move(arrangement.parts[i]);
  }
  attempt_.store_host = arrangement.store_host;
  attempt_.is_arranged = true;
  AttemptCourse& course = course_now();
  course.phases.ordered = now_.steady;
  for (const std::size_t i : arrangement.nodes) {
    const auto& [agent, host, plan, started, pids] = attempt_.parts[i];
    course.nodes.push_back(
        {host, plan.group_rank, plan.first_rank, plan.local_world_size, plan.location});
  }
  course.order = std::move(arrangement.order);
  for (const std::string& warning : course.order->warnings) tell_user(warning);
  for (const std::string& warning : arranged.warnings) tell_user(warning);
  if (settings_.tells_orders) {
    for (const std::string& line : model::order_table(*course.order, course.nodes)) tell_user(line);
  }
  actions_.emplace_back(KeepRecord{});
  assign();
}

// Spares that take a lost node's turn, nodes that came back, newcomers.
void Coordinator::tell_of_arrivals() {
  if (course_now().number == 0) return;
  std::vector<std::string> arrivals;
  for (const Part& part : attempt_.parts) {
    if (!roster_.find(part.agent)->has_taken_part) arrivals.push_back(part.host);
  }
  if (arrivals.empty()) return;
  tell_user(fmt::format("{} {} part now", hosts::compress_hostlist(arrivals),
                        arrivals.size() == 1 ? "takes" : "take"));
}

void Coordinator::assign() {
  const Shared<model::StoreAddress> store = store_address();
  if (settings_.tells_orders && settings_.several_processes) {
    tell_user(fmt::format("the store is on {}, port {}", store->host, store->port));
  }
  if (!settings_.stage_key.empty()) plan_staging();
  tell_of_arrivals();
  const bool others_start_at_once = others_need_no_preparation();
  for (Part& part : attempt_.parts) {
    model::Assignment& plan = part.plan;
    plan.attempt = course_now().number;
    plan.restarts = restarts_.count();
    plan.store = store;
    plan.colours = settings_.colours;
    plan.run_id = settings_.run_id;
    Node& node = *roster_.find(part.agent);
    node.has_taken_part = true;
    plan.start = others_start_at_once && !node.is_own();
    if (plan.start) continue;  // until the root's own node, with the store, is ready
    node.state = NodeState::preparing;
    ++attempt_.late;
    send(node, plan);
  }
  stage_ = Stage::preparing;
  deadline_ = now_.steady + settings_.prepare_limit;
  next_report_ = now_.steady + report_missing_every;
}

// With the store on the root's node, which they have reached already.
bool Coordinator::others_need_no_preparation() const {
  const auto node_of = [this](const Part& part) -> const Node& {
    return *roster_.find(part.agent);
  };
  return node_of(attempt_.parts[attempt_.store_host]).is_own() &&
         std::ranges::all_of(attempt_.parts, [&](const Part& part) {
           return node_of(part).is_own() || !node_of(part).join.prepares;
         });
}

// At which the others reach a member.
model::StoreAddress Coordinator::address_of(std::size_t part) const {
  const Node& host = *roster_.find(attempt_.parts[part].agent);
  model::StoreAddress found;
  found.agent = host.join.agent;
  found.host = host.join.host;
  found.port = host.join.store_port;
  const auto add = [&](const std::string& address) {
    const bool is_known = std::ranges::find(found.addresses, address) != found.addresses.end();
    if (!address.empty() && !is_known) found.addresses.push_back(address);
  };
  const std::vector<std::string>& reported = host.join.addresses;
  if (host.join.address_is_named && !reported.empty()) add(reported.front());
  add(host.is_own() ? root_address_ : host.address);
  for (const std::string& address : reported) add(address);
  return found;
}

model::StoreAddress Coordinator::store_address() const {
  const std::size_t part = attempt_.store_host;
  const Node& host = *roster_.find(attempt_.parts[part].agent);
  model::StoreAddress store = address_of(part);
  const bool is_first = attempt_.parts[part].plan.group_rank == 0;
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
  } else if (const auto* staged = std::get_if<model::Staged>(&message.what)) {
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
    conductor.leaving(0, leaving->signal, now_.steady);
    end_attempt(conductor.verdict());
  } else if (const auto* orphaned = std::get_if<Orphaned>(&message.what)) {
    if (node.is_own()) return end_attempt(root_lost_early(node.join.host, *orphaned));
    roster_.unseat(node, NodeState::lost);
    end_attempt(lost_early(node.join.host, {model::Loss::Kind::closed, orphaned->reason}));
  }
}

// Handles a node that is unfit for the job: an elastic job, or one with a spare, continues without
// it.
void Coordinator::end_or_go_on_without(Node& node, const Failed& failed) {
  Verdict verdict = early(CauseKind::launcher, with_host(failed.error, node.join.host));
  const bool is_between = stage_ == Stage::gathering || stage_ == Stage::pausing;
  const auto is_it = [&node](const Node& one) { return &one == &node; };
  const bool is_needed = !settings_.elastic && roster_.able_without(is_it) < settings_.size.least &&
                         !(is_between && has_spare());
  if (is_needed || node.is_own()) {
    return is_between ? end_early(std::move(verdict)) : end_attempt(std::move(verdict));
  }
  tell_user(verdict.message + "; the job goes on without it");
  const std::string host = node.join.host;
  bar(host, verdict.message);
  left_early_ = {host, verdict.message};
  dismiss(node, {verdict.exit_code, {}, verdict.message});
  if (!is_between) end_attempt(lost_early(host, {model::Loss::Kind::closed, verdict.message}));
}

// Of arranging, preparing and running: what these wait for, and for how long.
std::string Coordinator::awaited_words() const {
  const auto words = [](const std::string& what, milliseconds limit) {
    return fmt::format("waits for {}, for {} at most", what, duration_text(limit));
  };
  if (stage_ == Stage::arranging) return words(order_sources(), settings_.arrange_limit);
  const std::string hosts = hosts::compress_hostlist(awaited_members());
  if (stage_ == Stage::preparing) return words(hosts + " to get ready", settings_.prepare_limit);
  const SteadyTime began = attempt_.conductor->grace_ends().value_or(attempt_.start_sent);
  const auto limit = std::chrono::duration_cast<milliseconds>(*last_word_due() - began);
  const bool is_stopping = attempt_.conductor->is_stopping();
  return words(hosts + (is_stopping ? " to report that its ranks are gone" : " to start its ranks"),
               limit);
}

// What Arrange asks, as its messages name it.
std::string Coordinator::order_sources() const {
  return settings_.order_sources.empty() ? "the source of the nodes' places"
                                         : settings_.order_sources;
}

Verdict Coordinator::nobody_is_ready() const {
  std::vector<std::string> hosts;
  for (const Part& part : attempt_.parts) {
    const Node* const node = roster_.find(part.agent);
    if (node->state == NodeState::preparing) hosts.push_back(part.host);
  }
  return early(CauseKind::launcher, Error{"no message from " + hosts::compress_hostlist(hosts),
                                          "after " + duration_text(settings_.prepare_limit),
                                          "check the agents on those hosts", exit_failure});
}

Verdict Coordinator::no_order_in_time() const {
  return early(
      CauseKind::launcher,
      Error{"cannot compute the ranks' order",
            fmt::format("{} did not answer within {}", order_sources(),
                        duration_text(settings_.arrange_limit)),
            "find the command or file system that hangs, or start without this order (--order)",
            exit_failure});
}

// Until when members have to say that their ranks run or, once these are stopped, that none is
// left. Between the two, ranks work.
std::optional<SteadyTime> Coordinator::last_word_due() const {
  if (const auto grace_ends = attempt_.conductor->grace_ends()) {
    return *grace_ends + settings_.silence_limit + winding_up_limit;
  }
  if (attempt_.started < attempt_.parts.size()) return deadline_;
  return std::nullopt;
}

// Members that beat, but do not say what the others wait for.
void Coordinator::lose_the_late() {
  const auto due = last_word_due();
  if (!due || now_.steady < *due) return;
  const bool is_stopping = attempt_.conductor->is_stopping();
  for (std::size_t part = 0; part < attempt_.parts.size(); ++part) {
    if (attempt_.conductor->has_gone(part)) continue;
    if (is_stopping) {
      lose(part, fmt::format(
                     "it sends heartbeats, but has not reported within {} that its ranks are gone",
                     duration_text(*due - *attempt_.conductor->stopped_at())));
    } else if (!attempt_.parts[part].started) {
      lose(part,
           fmt::format("it sends heartbeats, but has not reported within {} that its ranks run",
                       duration_text(*due - attempt_.start_sent)));
    }
  }
}

void Coordinator::lose(std::size_t part, std::string words) {
  Node& node = *roster_.find(attempt_.parts[part].agent);
  tell_user(fmt::format("{} counts as lost: {}", node.join.host, words));
  if (node.is_own()) return attempt_.conductor->root_lost(part, std::move(words), now_.steady);
  actions_.emplace_back(Close{node.join.agent});
  roster_.unseat(node, NodeState::lost);
  attempt_.conductor->lost(part, false, std::move(words), now_.steady);
}

void Coordinator::start() {
  tell_staging();
  std::vector<int> ranks;
  std::vector<std::string> hosts;
  for (const Part& part : attempt_.parts) {
    Node& node = *roster_.find(part.agent);
    ranks.push_back(node.join.slots);
    hosts.push_back(part.host);
    if (std::exchange(node.state, NodeState::running) == NodeState::ready) {
      send(node, model::Start{});
    } else {
      send(node, part.plan);
    }
  }
  attempt_.conductor.emplace(std::move(hosts), std::move(ranks), settings_.grace,
                             settings_.ended_well, settings_.grow);
  attempt_.watch.emplace(new_watch());
  attempt_.start_sent = now_.steady;
  deadline_ = now_.steady + settings_.prepare_limit + settings_.silence_limit;
  next_report_ = now_.steady + report_missing_every;
  stage_ = Stage::running;
  count_newcomers();  // newcomers that arrived while this attempt was prepared
}

void Coordinator::on_report_while_running(Node& node, ToRoot& message) {
  Conductor& conductor = *attempt_.conductor;
  const std::size_t part = *node.part;
  const bool of_this_attempt = message.attempt == course_now().number;
  if (const auto* signalled = std::get_if<Signalled>(&message.what)) {
    conductor.signalled(part, signalled->signal, now_.steady);
  } else if (const auto* leaving = std::get_if<Leaving>(&message.what)) {
    node.leaves_by = leaving->signal;
    conductor.leaving(part, leaving->signal, now_.steady);
  } else if (const auto* notice = std::get_if<Notice>(&message.what)) {
    send_members(*notice);
  } else if (const auto* orphaned = std::get_if<Orphaned>(&message.what)) {
    if (node.is_own()) return conductor.root_lost(part, orphaned->reason, now_.steady);
    lost_member(node, false, orphaned->reason);
  } else if (!of_this_attempt) {
    return;  // a message from an attempt that is over
  } else if (const auto* started = std::get_if<Started>(&message.what)) {
    on_started(node, *started);
  } else if (const auto* prefetched = std::get_if<Prefetched>(&message.what)) {
    attempt_.prefetched.push_back({prefetched->took, std::nullopt, node.join.host});
  } else if (const auto* arrivals = std::get_if<Arrivals>(&message.what)) {
    if (part == attempt_.store_host) arrived(*arrivals, now_.steady);
  } else if (const auto* exit = std::get_if<Shared<model::WorkerExit>>(&message.what)) {
    exited(part, *exit);
  } else if (const auto* was_last = std::get_if<Gone>(&message.what)) {
    gone(node, *was_last);
  } else if (const auto* failed = std::get_if<Failed>(&message.what)) {
    Error error = with_host(failed->error, node.join.host);
    if (failed->doing == Failing::running) {
      return conductor.refused(part, std::move(error), now_.steady);
    }
    conductor.failed(part, std::move(error), now_.steady);
  } else if (std::holds_alternative<AskedToGrow>(message.what)) {
    asked_to_grow();
  } else if (const auto* still = std::get_if<RanksStill>(&message.what)) {
    attempt_.watch->changed(part, hang::Still{now_.steady - still->age, still->some_communicate},
                            now_.steady, conductor);
  } else if (std::holds_alternative<RanksMove>(message.what)) {
    attempt_.watch->changed(part, std::nullopt, now_.steady, conductor);
  } else if (const auto* alarm = std::get_if<hang::Alarm>(&message.what)) {
    alarmed(part, *alarm);
  } else if (auto* ranks = std::get_if<RanksSeen>(&message.what)) {
    attempt_.watch->seen(part, *ranks, now_.steady, conductor);
  } else if (auto* recorders = std::get_if<RanksReported>(&message.what)) {
    attempt_.watch->reported(part, *recorders, now_.steady, conductor);
  }
}

void Coordinator::lost_member(Node& node, bool silent, std::string why) {
  roster_.unseat(node, NodeState::lost);
  std::vector<model::LostNode>& lost = course_now().lost_nodes;
  if (lost.size() < model::most_lost_nodes) lost.push_back({node.join.host, now_.wall, why});
  attempt_.conductor->lost(*node.part, silent, std::move(why), now_.steady);
}

// Compares the workers' actual ranks with the plan: a job with its ranks on other nodes would be
// slow, or wrong, without any message.
void Coordinator::on_started(Node& node, const Started& started) {
  Part& part = attempt_.parts[*node.part];
  const model::Assignment& plan = part.plan;
  if (started.first_rank && *started.first_rank != plan.first_rank) {
    return attempt_.conductor->failed(
        *node.part,
        {fmt::format("{} started at rank {}", node.join.host, *started.first_rank),
         fmt::format("the plan assigns rank {}", plan.first_rank),
         "this is a defect of toprun: please report it", exit_failure},
        now_.steady);
  }
  if (part.started) return;
  AttemptCourse& course = course_now();
  const auto place = static_cast<std::size_t>(plan.group_rank);
  if (place < course.nodes.size()) course.nodes[place].logs = started.logs;
  part.started = now_.steady;
  part.pids = started.pids;
  if (started.warmed) attempt_.warmed.push_back({*started.warmed, std::nullopt, part.host});
  if (++attempt_.started == attempt_.parts.size()) all_started();
}

void Coordinator::all_started() {
  AttemptCourse& course = course_now();
  course.phases.spawned = now_.steady;
  course.spreads.spawn = time_to_start();
  course.spreads.warm = model::spread_of(attempt_.warmed);
  course.order->verified = true;
  actions_.emplace_back(KeepRecord{});
  if (settings_.tells_orders && attempt_.parts.size() > 1) {
    tell_user(fmt::format("the ranks of all {} nodes are placed according to the order",
                          course.nodes.size()));
  }
  tell_phase(
      "all ranks were started", now_.steady,
      {.join = course.spreads.join, .warm = course.spreads.warm, .spawn = course.spreads.spawn});
  if (const auto held = std::exchange(attempt_.arrivals, std::nullopt)) {
    arrived(held->first, held->second);
  }
}

void Coordinator::exited(std::size_t part, model::WorkerExit exit) {
  const auto& [agent, host, plan, started, pids] = attempt_.parts[part];
  if (exit.rank < plan.first_rank || exit.rank >= plan.first_rank + plan.nproc) {
    return attempt_.conductor->failed(
        part,
        {fmt::format("{} says that rank {} has ended", host, exit.rank),
         fmt::format("it has the ranks {} to {}", plan.first_rank,
                     plan.first_rank + plan.nproc - 1),
         "this is a defect of toprun: please report it", exit_failure},
        now_.steady);
  }
  attempt_.watch->progressed(now_.steady);
  const bool is_failure = exit.failed() && !exit.ours && !model::is_finding(exit);
  if (is_failure && !attempt_.stopped) attempt_.stopped = exit.ended;
  attempt_.conductor->exited(part, std::move(exit), now_.steady);
}

void Coordinator::gone(Node& node, const Gone& gone) {
  Phases& phases = course_now().phases;
  // A message later than arrived() tells the same moment by some milliseconds later.
  if (gone.first_connect_age && !phases.first_connect) {
    phases.first_connect = now_.steady - *gone.first_connect_age;
  }
  if (gone.network) course_now().networks.emplace_back(node.join.host, *gone.network);
  node.state = NodeState::gone;
  attempt_.conductor->gone(*node.part);
}

void Coordinator::count_newcomers() {
  const int newcomers = roster_.newcomers();
  const bool all = roster_.seated() + newcomers == roster_.size().most;
  attempt_.conductor->newcomers(newcomers, all, now_.steady);
  if (newcomers > 0 && settings_.grow == Grow::on_signal) {
    tell_of_visitor(fmt::format("the job can grow by {}: {}", newcomers, settings_.how_to_grow));
  }
}

// Slurm sends the signal to all agents at once, and one answer is enough.
void Coordinator::asked_to_grow() {
  if (attempt_.conductor->asked_to_grow(now_.steady)) return;
  if (now_.steady - growth_answered_ < growth_answers_apart) return;
  if (settings_.grow != Grow::on_signal) {
    tell_user("the job was asked to take in more nodes, but this requires --grow on-signal");
  } else if (roster_.newcomers() == 0) {
    tell_user("the job was asked to take in more nodes, but no node waits");
  } else {
    return;
  }
  growth_answered_ = now_.steady;
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
      // Here, because the engine may kill this process before the grace is over.
      course_now().interrupted = {order.signal, now_.wall, order.grace};
      actions_.emplace_back(KeepRecord{});
      send_members(model::Interrupt{order.signal, order.grace});
    } else {
      send_members(model::Stop{order.grace});
    }
    if (!attempt_.stopped) attempt_.stopped = now_.steady;
  }
  if (attempt_.conductor->over()) end_attempt(std::move(*attempt_.conductor).verdict());
}

void Coordinator::remind() {
  if (!interruption_ || !interruption_->remind_at || now_.steady < *interruption_->remind_at)
    return;
  interruption_->remind_at.reset();
  int all = 0;
  for (const Part& part : attempt_.parts) all += part.plan.nproc;
  const int running = all - static_cast<int>(attempt_.conductor->ended_ranks());
  const auto left = std::chrono::ceil<std::chrono::seconds>(interruption_->killed_at - now_.steady);
  if (running <= 0 || left.count() <= 0) return;
  tell_user(fmt::format(
      "{} of {} ranks still run after SIGINT, for {} s at most: press Ctrl-C again to kill them",
      running, all, left.count()));
}

// The workers' run time until the first failure or order to end; unset if they never started.
std::optional<milliseconds> Coordinator::lifetime() const {
  const auto& spawned = course_.attempts.back().phases.spawned;
  if (!spawned || !attempt_.stopped) return std::nullopt;
  return std::chrono::duration_cast<milliseconds>(*attempt_.stopped - *spawned);
}

}  // namespace toprun::run
