#include "run/conductor/roster.h"

#include <fmt/format.h>

#include <set>

namespace toprun::run {

using model::Join;
using model::Refusal;
using model::Refused;

std::optional<Roster::Slot> Roster::slot_of(const Join& join) const {
  const bool fixed = join.node_rank && !size_.ranks_are_hints;
  const auto node = fixed ? join.node_rank : join.node_index;
  if (!node && join.task) return Slot(*join.task, std::nullopt);
  if (!node) return std::nullopt;
  return Slot(*node, join.local_rank);
}

std::optional<Refused> Roster::admit(const Join& join) {
  if (auto refused = conflict(join)) return refused;
  Node& node = *nodes_.emplace(join.agent, std::make_unique<Node>()).first->second;
  node.join = join;
  node.arrival = ++arrivals_;
  if (!open_ || !seat(node)) spares_[node.arrival] = &node;
  return std::nullopt;
}

std::optional<Refused> Roster::conflict(const Join& join) const {
  if (const Node* const same = find(join.agent)) {
    return Refused{Refusal::rank_taken,
                   fmt::format("an agent on {} has the same id", same->join.host)};
  }
  const Join* const first = seats_.empty() ? nullptr : &seats_.begin()->second->join;
  if (first != nullptr && join.nnodes != 0 && first->nnodes != 0 && join.nnodes != first->nnodes) {
    return Refused{
        Refusal::job,
        fmt::format("this agent was started for {} nodes, but the root agent on {} for {}",
                    join.nnodes, first->host, first->nnodes)};
  }
  if (first != nullptr && join.local_rank.has_value() != first->local_rank.has_value()) {
    const Join& alone = join.local_rank ? *first : join;
    return Refused{Refusal::job,
                   fmt::format("{} has one process and treats it as its node's agent, but other "
                               "nodes have several processes: add --ranks-in-place",
                               alone.host)};
  }
  if (const Join* const other = begun_ ? nullptr : with_other_max_restarts(join)) {
    return Refused{Refusal::job,
                   fmt::format("{} was started with --max-restarts {}, but the root agent on {} "
                               "with {}: give all nodes the same value",
                               join.host, *join.max_restarts, other->host, *other->max_restarts)};
  }
  if (size_.repairable) return std::nullopt;
  if (const Node* const holder = holder_of_slot(join)) {
    return Refused{Refusal::rank_taken,
                   fmt::format("node rank {} is taken by {} (pid {})", slot_of(join)->first,
                               holder->join.host, holder->join.pid)};
  }
  if (seated() == size_.most) {
    return Refused{Refusal::full,
                   fmt::format("all {} nodes of the job have joined already", size_.most)};
  }
  return std::nullopt;
}

const Join* Roster::with_other_max_restarts(const Join& join) const {
  if (seats_.empty() || !join.max_restarts) return nullptr;
  const Join& first = seats_.begin()->second->join;
  return first.max_restarts && first.max_restarts != join.max_restarts ? &first : nullptr;
}

const Node* Roster::holder_of_slot(const Join& join) const {
  const auto slot = slot_of(join);
  if (!slot) return nullptr;
  const auto holder = slots_.find(*slot);
  return holder == slots_.end() ? nullptr : holder->second;
}

bool Roster::seat(Node& node) {
  if (seated() == size_.most || holder_of_slot(node.join) != nullptr) return false;
  seats_[node.arrival] = &node;
  if (const auto slot = slot_of(node.join)) slots_[*slot] = &node;
  node.has_seat = true;
  if (node.is_linked()) ++present_;
  return true;
}

void Roster::leave_seat(Node& node) {
  spares_.erase(node.arrival);
  if (!node.has_seat) return;
  node.has_seat = false;
  seats_.erase(node.arrival);
  if (node.is_linked()) --present_;
  const auto slot = slot_of(node.join);
  const auto holder = slot ? slots_.find(*slot) : slots_.end();
  if (holder != slots_.end() && holder->second == &node) slots_.erase(holder);
}

void Roster::arrived(Node& node, std::string address) {
  node.address = std::move(address);
  node.state = node.has_seat ? NodeState::waiting : NodeState::spare;
  if (node.has_seat) ++present_;
}

void Roster::unseat(Node& node, NodeState state) {
  leave_seat(node);
  node.state = state;
}

void Roster::forget(const std::string& agent) {
  Node* const node = find(agent);
  if (node == nullptr) return;
  leave_seat(*node);
  nodes_.erase(agent);
}

void Roster::forget_the_lost() {
  erase_if(nodes_, [](const auto& entry) { return entry.second->state == NodeState::lost; });
}

void Roster::open() {
  open_ = true;
  for (const auto& [arrival, node] : seats_) {
    if (node->is_linked()) node->state = NodeState::waiting;
    node->part.reset();
  }
  for (auto spare = spares_.begin(); spare != spares_.end() && seated() < size_.most;) {
    Node& node = *spare->second;
    if (!seat(node)) {
      ++spare;
      continue;
    }
    if (node.is_linked()) node.state = NodeState::waiting;
    spare = spares_.erase(spare);
  }
}

void Roster::close() {
  open_ = false;
  begun_ = true;
  std::vector<Node*> unlinked;
  for (const auto& [arrival, node] : seats_) {
    if (!node->is_linked()) unlinked.push_back(node);
  }
  for (Node* const node : unlinked) {
    leave_seat(*node);
    spares_[node->arrival] = node;
  }
}

Node* Roster::find(const std::string& agent) {
  const auto found = nodes_.find(agent);
  return found == nodes_.end() ? nullptr : found->second.get();
}

const Node* Roster::find(const std::string& agent) const {
  const auto found = nodes_.find(agent);
  return found == nodes_.end() ? nullptr : found->second.get();
}

std::vector<std::string> Roster::members() const {
  std::vector<std::string> agents;
  agents.reserve(seats_.size());
  for (const auto& [arrival, node] : seats_) agents.push_back(node->join.agent);
  return agents;
}

std::vector<Node*> Roster::candidates(std::size_t most) const {
  std::set<Slot> taken;
  std::vector<Node*> nodes;
  for (const auto& [arrival, node] : spares_) {
    if (nodes.size() == most) break;
    if (!node->is_linked() || holder_of_slot(node->join) != nullptr) continue;
    const auto slot = slot_of(node->join);
    if (!slot || taken.insert(*slot).second) nodes.push_back(node);
  }
  return nodes;
}

int Roster::able_without(const std::function<bool(const Node&)>& leaves) const {
  std::set<Slot> taken;
  int able = 0;
  for (const auto* nodes : {&seats_, &spares_}) {
    for (const auto& [arrival, node] : *nodes) {
      if (!node->is_linked() || node->leaves_by || leaves(*node)) continue;
      const auto slot = slot_of(node->join);
      if (!slot || taken.insert(*slot).second) ++able;
    }
  }
  return able;
}

int Roster::newcomers() const {
  return static_cast<int>(candidates(static_cast<std::size_t>(size_.most - seated())).size());
}

void Roster::exchange(const std::vector<Node*>& out, const std::vector<Node*>& in) {
  for (Node* const node : out) {
    leave_seat(*node);
    spares_[node->arrival] = node;
    node->state = NodeState::spare;
    node->waits = false;
    node->part.reset();
  }
  for (Node* const node : in) {
    spares_.erase(node->arrival);
    seat(*node);
    node->state = NodeState::waiting;
  }
}

std::vector<std::string> Roster::missing(const std::vector<std::string>& all) const {
  std::set<std::string_view> here;
  for (const auto& [arrival, node] : seats_) here.insert(node->join.host);
  for (const auto& [arrival, node] : spares_) here.insert(node->join.host);
  std::vector<std::string> names;
  for (const std::string& name : all) {
    if (!here.contains(name)) names.push_back(name);
  }
  return names;
}

}  // namespace toprun::run
