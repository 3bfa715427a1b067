#include "cli/topo/show.h"

#include "base/print.h"
#include "cli/topo/job.h"
#include "view/outline.h"

namespace toprun::cli {

using options::FlagId;

Result<int> run_topo_show(const options::Call& call) {
  auto job = find_job(call);
  if (!job) return std::unexpected(job.error());
  const auto placed = placement::place(job->hosts, std::move(job->map));
  if (!placed) return std::unexpected(placed.error());
  if (call.has(FlagId::json)) return print_bytes(view::outline_json(*placed));
  const int code = print(view::outline_text(*placed, !call.has(FlagId::all)));
  say_what_is_unknown(placed->source, placed->warnings);
  return code;
}

}  // namespace toprun::cli
