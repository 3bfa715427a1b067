#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engines/slurm/facts.h"
#include "engines/slurm/submit.h"

// What Slurm's programs print: nothing in it may hurt.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::engines;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  node_kinds_in(text);
  topology_plugin_in(text);
  leaf_nodes_in(text);
  block_nodes_in(text);
  slurm_seconds(text);
  choices_in(text);
  job_id_in(text);
  refusal(text, {}, {node_kinds_in(text), "tree", {}, 0}, choices_in(text));
  return 0;
}
