#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text/error.h"
#include "engines/login/login.h"
#include "node/launch/login_step.h"
#include "node/plan/job.h"
#include "node/plan/login_orders.h"

namespace toprun::launch {

// A host on which an agent waits for its instructions (LoginOrders).
struct Answered {
  engines::Node node;
  bool here = false;    // this is the launcher's own host
  std::string client;   // the source address of the login, as the host sees it; may be empty
  std::string server;   // the destination address of the login; may be empty
  std::string machine;  // identifies the host's machine (engines::login_up()); empty: unknown
};

// Returns the index of the host for the root agent. This is the launcher's own host if it is in
// `answered`, because an agent there needs no connection that can break; else the first host.
int root_among(const std::vector<Answered>& answered);

// Returns the instructions for the agent on each host. They contain the root's address: an address
// at which the root's host or the launcher was just reached, or a name if no such address is known.
std::vector<plan::LoginOrders> orders_for(const plan::Job& job,
                                          const std::vector<Answered>& answered);

// Returns the refusal of a list that names one machine twice by different names, as n0 and its
// address. Each name would become a node of its own, and both would use the same GPUs; a verb would
// compare the machine with itself. `source`: the option with the list.
std::optional<Error> machine_named_twice(const std::vector<Answered>& answered,
                                         std::string_view source, StepOf what);

// Whether the node is this host: its name is this host's own name, localhost, or a literal address
// of one of this host's interfaces. False for USER@HOST, because this may be another user.
bool is_this_host(const engines::Node& node);

// Returns the count with its noun: "1 host", "3 pods".
std::string count_text(engines::EngineKind engine, std::size_t count);

}  // namespace toprun::launch
