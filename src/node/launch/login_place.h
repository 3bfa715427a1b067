#pragma once

#include <string>
#include <vector>

#include "engines/login/login.h"
#include "node/plan/job.h"
#include "node/plan/login_orders.h"

namespace toprun::launch {

// A host on which an agent waits for its instructions (LoginOrders).
struct Answered {
  engines::Node node;
  bool here = false;   // this is the launcher's own host
  std::string client;  // the source address of the login, as the host sees it; may be empty
  std::string server;  // the destination address of the login; may be empty
};

// The index of the host that runs the root agent. If this host is in `answered`, the result is this
// host, because an agent on this host needs no connection that can break. Otherwise the result is
// the first host.
int root_among(const std::vector<Answered>& answered);

// The instructions for each host. The instructions contain an address for the root: an address at
// which the root's host or the launcher was just reached. If no such address is known, the
// instructions contain a name.
std::vector<plan::LoginOrders> orders_for(const plan::Job& job,
                                          const std::vector<Answered>& answered);

// Whether the name is this host's own name, localhost, or a literal address of one of its
// interfaces. False if a user's name comes before the host's name, because this may be another
// user.
bool is_this_host(const engines::Node& node);

// "1 host", "3 pods".
std::string count_text(engines::EngineKind engine, std::size_t count);

}  // namespace toprun::launch
