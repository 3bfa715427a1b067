#include <cstdint>
#include <span>

#include "decide/topology/files/formats.h"
#include "decide/topology/k8s_labels.h"

// Parses the two injected forms, then a document in the form of a file or of kubectl's output.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto labels = toprun::topology::parse_injected_labels(text);
  if (labels) (void)toprun::topology::map_of_labels({{"n0", *labels, "node labels"}}, "k8s");
  const auto root = toprun::topology::parse_json(text, "fuzz");
  if (root) {
    const std::span documents(&*root, 1);
    (void)toprun::topology::map_of_kubernetes(documents, "fuzz", {});
    (void)toprun::topology::map_of_kubernetes(documents, "fuzz",
                                              {{"n0", "", ""}, {"n1.x", "", ""}});
  }
  return 0;
}
