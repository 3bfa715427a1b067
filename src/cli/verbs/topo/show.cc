#include "base/os/console.h"
#include "cli/verbs/run_verbs.h"
#include "cli/verbs/topo/job.h"
#include "observe/report/outline.h"

namespace toprun::cli {

using options::FlagId;

Result<int> run_topo_show(const options::Call& call) {
  auto job = TRY(find_job(call));
  const auto placed = TRY(placement::place(job.hosts, std::move(job.map)));
  if (call.has(FlagId::json)) return print_bytes(report::outline_json(placed));
  const int code = print(report::outline_text(placed, !call.has(FlagId::all)));
  say_what_is_unknown(placed.source, placed.warnings);
  return code;
}

}  // namespace toprun::cli
