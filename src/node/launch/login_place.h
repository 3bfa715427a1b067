#pragma once

#include <string>
#include <vector>

#include "engines/login/login.h"
#include "node/plan/job.h"
#include "node/plan/login_orders.h"

namespace toprun::launch {

// A host on which an agent waits for its orders.
struct Answered {
  engines::Node node;
  bool here = false;   // it is the launcher's own host
  std::string client;  // the source address of the login, as the host sees it; may be empty
  std::string server;  // the destination address of the login; may be empty
};

// Which of the hosts runs the root agent: this host if it is among them, because its agent needs no
// connection that can break. Otherwise the first host. Index from 0.
int root_among(const std::vector<Answered>& answered);

// The orders for each host. The root's address is an address at which the root's host or the
// launcher was just reached. The address is a name only if no such address is known.
std::vector<plan::LoginOrders> orders_for(const plan::Job& job,
                                          const std::vector<Answered>& answered);

// Whether the name is this host's own name, localhost, or a literal address of one of its
// interfaces. False if a user's name comes before it, because that may be a different user.
bool is_this_host(const engines::Node& node);

// "1 host", "3 pods".
std::string count_text(engines::EngineKind engine, std::size_t count);

}  // namespace toprun::launch
