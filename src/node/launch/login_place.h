#pragma once

#include <string>
#include <vector>

#include "engines/login/login.h"
#include "node/plan/job.h"
#include "node/plan/login_orders.h"

namespace toprun::launch {

// A host whose agent waits for its orders.
struct Answered {
  engines::Node node;
  bool here = false;   // this very host
  std::string client;  // where the login came from, as the host sees it; may be empty
  std::string server;  // … and went to
};

// Which of them holds the root agent: this host if it is among them, because no connection of its
// own can break, else the first. Index from 0.
int root_among(const std::vector<Answered>& answered);

// The orders for each host. The root's address is one at which that host or the launcher was just
// reached; a name only if there is no such address.
std::vector<plan::LoginOrders> orders_for(const plan::Job& job,
                                          const std::vector<Answered>& answered);

// Whether the name is this host's: its own, localhost, or a literal address of one of its
// interfaces. With a user's name before it, it is not: that may be another user.
bool is_this_host(const engines::Node& node);

// The file that this process runs.
std::string own_path();

// "1 host", "3 pods".
std::string count_text(engines::EngineKind engine, std::size_t count);

}  // namespace toprun::launch
