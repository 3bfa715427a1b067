#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/environment.h"
#include "base/error.h"

namespace toprun::plan {

inline constexpr std::size_t max_ssh_orders_bytes = 4u << 20;

// Variables of options that are valid for a single node only.
inline constexpr std::array variables_of_one_node = {"PET_NODE_RANK", "PET_MASTER_ADDR",
                                                     "PET_RDZV_ENDPOINT", "PET_STANDALONE"};

// The input of an agent that ssh started, before the job's secret: everything that another engine
// passes by command line, working directory and environment.
struct SshOrders {
  std::vector<std::string> argv;                 // toprun's, as the user gave it
  std::string directory;                         // working directory
  std::map<std::string, std::string> variables;  // to set
};

// "orders BYTES\n", then BYTES bytes of JSON.
std::string text_of(const SshOrders& orders);
Result<SshOrders> parse_ssh_orders(std::string_view json);

// Reports on stdout that the agent is running and reads its orders from stdin, but no bytes after
// them; blocks at most `orders_timeout`. Errors name this host.
Result<SshOrders> receive_ssh_orders();

// Changes to the directory and returns the environment with the variables set.
Result<Environment> obey(const SshOrders& orders, Environment environment);

// The launcher's variables for every agent: those that toprun itself reads, those that choose the
// Python, proxies, and the settings of PyTorch and its libraries. Another host's PATH or
// LD_LIBRARY_PATH would be wrong. `names`: further variables, of the options and the user's own.
std::map<std::string, std::string> passed_variables(const Environment& environment,
                                                    const std::vector<std::string>& names);

}  // namespace toprun::plan
