#include "engines/mpi/world.h"

#include <algorithm>
#include <array>

#include "base/text/text.h"
#include "engines/slurm/variables.h"

namespace toprun::engines {
namespace {

constexpr std::int64_t max_ranks = 1 << 24;

struct Names {
  const char* launcher;
  const char* rank;
  const char* size;
  const char* local_rank;
  const char* local_size;
};
constexpr Names open_mpi{"Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                         "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"};
constexpr Names hydra{"MPICH's mpiexec", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID",
                      "MPI_LOCALNRANKS"};

Result<int> number(const Environment& environment, const Names& names, const char* name,
                   std::int64_t least, std::int64_t most) {
  const auto text = environment.non_empty(name);
  const auto value = text ? parse_int(*text) : std::nullopt;
  if (value && *value >= least && *value <= most) return static_cast<int>(*value);
  return fail(text ? fmt::format("{}=\"{}\"", name, *text) : fmt::format("{} is not set", name),
              fmt::format("{} sets it to a number from {} to {} together with its other variables",
                          names.launcher, least, most),
              "pass on all of its variables or none");
}

Result<MpiWorld> read(const Environment& environment, const Names& names) {
  MpiWorld world;
  world.launcher = names.launcher;
  const auto size = TRY(number(environment, names, names.size, 1, max_ranks));
  const auto rank = TRY(number(environment, names, names.rank, 0, size - 1));
  const auto local_size = TRY(number(environment, names, names.local_size, 1, size));
  const auto local_rank = TRY(number(environment, names, names.local_rank, 0, local_size - 1));
  world.rank = rank;
  world.size = size;
  world.local_rank = local_rank;
  world.local_size = local_size;
  if (world.local_size == world.size) world.nodes = 1;
  return world;
}

// A range of numbers "3-7" or one number, both at most 9 digits.
std::optional<std::pair<int, int>> range_in(std::string_view text) {
  constexpr std::size_t max_digits = 9;
  const std::size_t dash = text.find('-');
  const std::string_view first = text.substr(0, dash);
  const std::string_view last = dash == std::string_view::npos ? first : text.substr(dash + 1);
  if (first.size() > max_digits || last.size() > max_digits) return std::nullopt;
  const auto from = parse_int(first);
  const auto to = parse_int(last);
  if (!from || !to || *from < 0 || *to < *from) return std::nullopt;
  return std::pair(static_cast<int>(*from), static_cast<int>(*to));
}

// "n[1:0-1,3]-ib" or a plain name. False: another form.
bool add_names(std::string_view item, std::vector<std::string>& names) {
  constexpr std::int64_t max_width = 9;
  const std::size_t open = item.find('[');
  if (open == std::string_view::npos) {
    if (item.empty()) return false;
    names.emplace_back(item);
    return true;
  }
  const std::size_t close = item.find(']', open);
  const std::size_t colon = item.find(':', open);
  if (close == std::string_view::npos || colon == std::string_view::npos || colon > close) {
    return false;
  }
  const auto width = parse_int(item.substr(open + 1, colon - open - 1));
  if (!width || *width < 0 || *width > max_width) return false;
  for (const std::string_view part : split(item.substr(colon + 1, close - colon - 1), ',')) {
    const auto range = range_in(part);
    if (!range) return false;
    for (int i = range->first; i <= range->second && names.size() < max_root_candidates; ++i) {
      names.push_back(
          fmt::format("{}{:0{}}{}", item.substr(0, open), i, *width, item.substr(close + 1)));
    }
  }
  return true;
}

// Pieces between commas that stand outside of brackets.
std::vector<std::string_view> items_of(std::string_view text) {
  std::vector<std::string_view> items;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '[') inside = true;
    if (text[i] == ']') inside = false;
    if (text[i] != ',' || inside) continue;
    items.push_back(text.substr(begin, i - begin));
    begin = i + 1;
  }
  items.push_back(text.substr(begin));
  return items;
}

// PRRTE names its job "prterun-HOST-PID@1" after the host on which mpirun runs.
std::optional<std::string> host_of_prrte(std::string_view name) {
  constexpr std::string_view prefix = "prterun-";
  const std::size_t at = name.rfind('@');
  const std::size_t dash = name.rfind('-', at);
  if (!name.starts_with(prefix) || dash == std::string_view::npos || dash <= prefix.size()) {
    return std::nullopt;
  }
  return std::string(name.substr(prefix.size(), dash - prefix.size()));
}

// The hosts on which rank 0 may be: mpirun's hosts, those of the job around it, or the host of
// mpirun itself, as mostly in batch scripts.
std::vector<std::string> candidates(const Environment& environment, const MpiWorld& world) {
  std::vector<std::string> hosts;
  const auto add = [&](const std::vector<std::string>& more) {
    for (const std::string& host : more) {
      if (hosts.size() >= max_root_candidates) return;
      if (std::ranges::find(hosts, host) == hosts.end()) hosts.push_back(host);
    }
  };
  if (world.nodes == 1) return {"127.0.0.1"};
  add(orte_hosts(environment.get("OMPI_MCA_orte_node_regex").value_or("")));
  if (environment.has("SLURM_JOB_NODELIST")) {
    add(slurm::job_nodes(environment).value_or(std::vector<std::string>()));
  }
  add(orte_addresses(environment.get("OMPI_MCA_orte_hnp_uri").value_or("")));
  if (const auto host = host_of_prrte(world.job)) add({*host});
  return hosts;
}

Result<MpiWorld> open_mpi_world(const Environment& environment) {
  auto world = read(environment, open_mpi);
  if (!world) return world;
  if (environment.has("OMPI_MCA_orte_num_nodes")) {
    world->nodes = TRY(number(environment, open_mpi, "OMPI_MCA_orte_num_nodes", 1, world->size));
  }
  world->job = environment.get("PMIX_NAMESPACE").value_or("");
  world->key = environment.get("OMPI_MCA_orte_precondition_transports").value_or("");
  world->bound = environment.get("OMPI_MCA_orte_bound_at_launch") == "1";
  return world;
}

Result<void> check_one_launcher(const Environment& environment) {
  for (const auto& [ours, theirs] :
       {std::pair(open_mpi.size, hydra.size), std::pair(open_mpi.rank, hydra.rank)}) {
    const auto one = environment.non_empty(ours);
    const auto other = environment.non_empty(theirs);
    if (!one || !other || *one == *other) continue;
    return fail(fmt::format("{}={} but {}={}", ours, *one, theirs, *other),
                fmt::format("the variables of {} and those of {} are set, but only one of them can "
                            "have started this process",
                            open_mpi.launcher, hydra.launcher),
                "start toprun with one of them, and remove the variables of the other (env -u)");
  }
  return {};
}

}  // namespace

std::vector<std::string> orte_hosts(std::string_view regex) {
  std::vector<std::string> names;
  for (const std::string_view item : items_of(regex.substr(0, regex.find('@')))) {
    if (!add_names(item, names)) return {};
  }
  return names;
}

std::vector<std::string> orte_addresses(std::string_view uri) {
  std::vector<std::string> addresses;
  for (const std::string_view part : split(uri, ';')) {
    const std::size_t scheme = part.find("://");
    if (scheme == std::string_view::npos || !part.starts_with("tcp")) continue;
    std::string_view list = part.substr(scheme + 3);
    list = list.substr(0, list.rfind(':'));
    if (list.starts_with('[') && list.ends_with(']')) list = list.substr(1, list.size() - 2);
    for (const std::string_view address : split(list, ',')) {
      if (!address.empty()) addresses.emplace_back(address);
    }
  }
  return addresses;
}

std::vector<std::string> mpi_variables(const Environment& environment) {
  constexpr std::array exact = {
      "PMI_RANK",        "PMI_SIZE",        "PMI_FD",          "PMI_PORT",  "PMI_ID",
      "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "HYDI_CONTROL_FD", "OMPI_ARGV", "OMPI_COMMAND"};
  constexpr std::array prefixes = {"OMPI_COMM_WORLD_",   "OMPI_WORLD_",   "OMPI_MCA_orte_",
                                   "OMPI_MCA_ess",       "OMPI_MCA_pmix", "PMIX_",
                                   "OMPI_FILE_LOCATION", "PRTE_LAUNCHED"};
  std::vector<std::string> names;
  for (const auto& [name, value] : environment.variables()) {
    const bool known =
        std::ranges::find(exact, name) != exact.end() ||
        std::ranges::any_of(prefixes, [&](const char* p) { return name.starts_with(p); });
    if (known) names.push_back(name);
  }
  return names;
}

Result<std::optional<MpiWorld>> mpi_world(const Environment& environment) {
  const bool open = environment.has(open_mpi.size);
  const bool other = environment.has(hydra.size) && environment.has(hydra.local_size);
  if (!open && !other) return std::nullopt;
  if (open && other) {
    TRY(check_one_launcher(environment));
  }
  auto world = TRY(open ? open_mpi_world(environment) : read(environment, hydra));
  world.hosts = candidates(environment, world);
  return std::move(world);
}

}  // namespace toprun::engines
