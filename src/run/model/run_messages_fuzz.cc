// Fuzzes messages from an agent of the job, or from any process if there is no secret: reading must
// not crash, and a message that was read must be readable after writing it again.
#include <cstdlib>
#include <string_view>

#include <nlohmann/json.hpp>

#include "run/model/run_messages.h"

namespace model = toprun::model;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto message = nlohmann::json::parse(text, nullptr, false);
  if (message.is_discarded()) return 0;
  if (const auto said = model::to_root_in(message); said && *said) {
    if (!model::to_root_in(model::to_wire(**said))) std::abort();
  }
  if (const auto reported = model::to_node_in(message); reported && *reported) {
    if (!model::to_node_in(model::to_wire(**reported))) std::abort();
  }
  static_cast<void>(model::read<model::Join>(message));
  return 0;
}
