#include "node/prepare/probes/node_check.h"

#include <fmt/format.h>

#include "base/process/command.h"
#include "base/text/shown_line.h"

namespace toprun::probes {
namespace {

constexpr std::size_t longest_reason_bytes = 300;
constexpr std::string_view what = "this node is unfit according to --node-check";

// What the command wrote last. Empty if it wrote nothing, or more than is kept.
std::string last_of(const process::Finished& finished) {
  const std::string& written = finished.err.empty() ? finished.out : finished.err;
  if (written.size() >= process::max_reported_bytes) return {};
  return last_state(written, longest_reason_bytes);
}

}  // namespace

Result<void> check_node(const std::string& command, const Environment& environment) {
  const auto finished =
      process::tell({"sh", "-c", command}, environment, node_check_limit, std::string_view{});
  if (!finished) return fail(what, finished.error()->why);
  if (finished->code == 0) return {};
  const std::string last = last_of(*finished);
  return fail(what, last.empty() ? fmt::format("exit code {}", finished->code)
                                 : fmt::format("{} (exit code {})", last, finished->code));
}

}  // namespace toprun::probes
