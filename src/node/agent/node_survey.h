#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>

#include "base/os/pool.h"
#include "machine/fabric/settings.h"
#include "node/plan/job.h"
#include "run/model/messages.h"

namespace toprun::agent {

// The facts about this node that are read from its files. The agent sends these facts to the root.
struct NodeFacts {
  std::optional<model::KubeNode> kube;
  std::optional<std::string> ports;
  std::optional<model::Evidence> evidence;
  // Null: the network is not read, because the job has one node or --fabric is off.
  std::shared_ptr<const fabric::NodeFabric> network;
};

// Reads the facts about this node from its files, on the pool's threads. The reading begins before
// the agents find each other, so that it does not delay the start of the ranks. The network is read
// in parallel with the other facts.
//
//   reading --all facts read, or time limit--> over --seen() is called after stale_after--> reading
class NodeSurvey {
 public:
  // `fit`: whether the node can take part in the run. The pool must outlive this object.
  NodeSurvey(Pool& pool, std::shared_ptr<const plan::Job> job, bool fit);

  // Waits until the reading is over and returns the facts. If a file server hangs, prints a message
  // and leaves out the facts that depend on this server.
  boost::asio::awaitable<NodeFacts> seen();

 private:
  struct State;
  void begin();
  template <class T>
  void ask(std::function<T()> survey, std::optional<T> State::*answer);

  Pool& pool_;
  std::shared_ptr<const plan::Job> job_;
  const bool fit_;
  std::shared_ptr<State> state_;
};

}  // namespace toprun::agent
