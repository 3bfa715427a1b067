#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "base/os/environment.h"
#include "base/text/error.h"

namespace toprun::plan {

inline constexpr std::size_t max_login_orders_bytes = 4u << 20;

// Variables of options that are valid for a single node only.
inline constexpr std::array variables_of_one_node = {"PET_NODE_RANK", "PET_MASTER_ADDR",
                                                     "PET_RDZV_ENDPOINT", "PET_STANDALONE"};

// The input of an agent that a login started, before the job's secret: everything that another
// engine passes by command line, working directory and environment.
struct LoginOrders {
  std::vector<std::string> argv;                 // toprun's, as the user gave it
  std::string directory;                         // working directory; empty: stay in the login's
  std::map<std::string, std::string> variables;  // to set
  bool in_pod = false;  // the operator's variables there tell of the pod's own job, not of this run
  std::string kept_as = {};  // the run's name if the agent is to outlive its login (kept_run.h)
};

// "orders BYTES\n", then BYTES bytes of JSON.
std::string text_of(const LoginOrders& orders);
Result<LoginOrders> parse_login_orders(std::string_view json);

// Reports on stdout that the agent is running, and in a pod its address, and reads its orders from
// stdin, but no bytes after them; blocks at most `orders_timeout`. Errors name this host.
Result<LoginOrders> receive_login_orders(const Environment& environment);

// Changes to the directory and returns the environment with the variables set.
Result<Environment> obey(const LoginOrders& orders, Environment environment);

// Where the agents run: on machines like the launcher's own, or in an image of whatever kind.
enum class Likeness { same_site, own_image };

// The launcher's variables for every agent: those that toprun itself reads, those that choose the
// Python and proxies on machines of the same site, and the settings of PyTorch and its libraries.
// Another host's PATH or LD_LIBRARY_PATH would be wrong. `names`: further variables, of the options
// and the user's own.
std::map<std::string, std::string> passed_variables(const Environment& environment,
                                                    const std::vector<std::string>& names,
                                                    Likeness likeness = Likeness::same_site);

}  // namespace toprun::plan
