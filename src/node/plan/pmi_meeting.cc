#include "base/net/address.h"
#include "base/text/text.h"
#include "engines/mpi/world.h"
#include "node/plan/named_hosts.h"

namespace toprun::plan {
namespace {

constexpr std::chrono::seconds meeting_limit{120};
constexpr std::size_t max_addresses = 8;

std::string own_addresses() {
  std::vector<std::string> texts;
  const auto own = hosts::local_addresses();
  if (!own) return hosts::host_name();
  for (const hosts::LocalAddress& local : *own) {
    const bool useful = !local.address.is_loopback() && !local.address.is_link_local();
    if (useful && texts.size() < max_addresses) texts.push_back(local.address.text());
  }
  return texts.empty() ? hosts::host_name() : join(texts, ",");
}

}  // namespace

Result<std::optional<engines::PmiMeeting>> meet(const Environment& environment) {
  const auto fd = parse_int(environment.get(engines::pmi_fd_variable).value_or(""));
  const auto world = engines::mpi_world(environment);
  if (!fd || !world || !*world || (*world)->size == 1) return std::nullopt;
  const int rank = (*world)->rank;
  const engines::PmiRank me{static_cast<int>(*fd), rank, (*world)->size, (*world)->local_rank};
  auto meeting = TRY(engines::meet_by_pmi(me, rank == 0 ? own_addresses() : "",
                                          std::chrono::steady_clock::now() + meeting_limit));
  return std::move(meeting);
}

}  // namespace toprun::plan
