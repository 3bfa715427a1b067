#include "engines/inherited_world.h"
#include "engines/manual.h"

namespace toprun::engines {

Result<std::optional<Allocation>> LocalEngine::detect(const Environment& environment,
                                                      const Hints& hints) const {
  if (hints.ranks_in_place) {
    auto place = TRY(in_place_by_variables(environment, hints));
    return std::move(place);
  }
  auto note = TRY(check_inherited_world(environment, hints));
  Allocation allocation;
  allocation.engine = kind();
  allocation.node_count_source = hints.standalone ? "--standalone"
                                 : hints.nnodes   ? hints.nnodes_source
                                                  : "default";
  allocation.my_node = 0;
  allocation.node_name = hints.host_name;
  if (note) allocation.notes.push_back(*note);
  if (auto others = other_nodes_of_a_foreign_job(environment, hints)) {
    allocation.notes.push_back(*std::move(others));
  }
  allocation.reasons.push_back("one node: this host, because no engine's variables are set");
  return allocation;
}

}  // namespace toprun::engines
