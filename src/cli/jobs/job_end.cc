#include "cli/jobs/job_end.h"

#include <fmt/format.h>

#include "base/text/text.h"
#include "cli/jobs/job_summary.h"
#include "node/plan/setup/setup_record.h"

namespace toprun::jobs {
namespace {

using engines::Job;
using engines::Queue;

std::string why_not_built(const std::string& job, const Setups& setups) {
  const auto built = setups.find(job);
  if (built == setups.end()) return {};
  const auto record = setup::read_record(built->second);
  return record && *record ? (*record)->why : std::string();
}

std::string words_of_predecessor(const Queue& queue, const std::string& text,
                                 const Setups& setups) {
  const auto id = engines::parse_job_id(text);
  const auto jobs = id ? queue.find(*id) : Result<std::vector<Job>>();
  std::string words = "did not end as required";
  for (const Job& job : jobs.value_or(std::vector<Job>())) {
    if (exit_code_of(job).value_or(0) != 0) words = ending_of(queue, job, setups).words;
  }
  const std::string why = why_not_built(text, setups);
  return fmt::format("job {} {}{}{}", printable(text), words, why.empty() ? "" : ": ", why);
}

}  // namespace

std::vector<std::string> failed_predecessors(const Queue& queue, const Job& job,
                                             const Setups& setups) {
  std::vector<std::string> whys;
  for (const std::string& id : failed_dependencies(job.dependency)) {
    whys.push_back(words_of_predecessor(queue, id, setups));
  }
  if (whys.empty()) whys.emplace_back("a job on which it depends did not end as required");
  return whys;
}

std::vector<std::string> failed_dependencies(std::string_view text) {
  std::vector<std::string> ids;
  for (const std::string_view item : split(text, text.contains('?') ? '?' : ',')) {
    const std::size_t colon = item.find(':');
    const std::size_t mark = item.find("(failed)");
    if (colon == std::string_view::npos || mark == std::string_view::npos || mark < colon) continue;
    // "12_*" is every task of an array.
    const std::string_view id = item.substr(colon + 1, mark - colon - 1);
    ids.emplace_back(id.ends_with("_*") ? id.substr(0, id.size() - 2) : id);
  }
  return ids;
}

JobEnding ending_of(const Queue& queue, const Job& job, const Setups& setups) {
  KnownJob known = known_job(queue, job, setups);
  if (has_ended(job.state)) {
    return {exit_code_of(job).value_or(exit_failure), summary_of(known).words};
  }
  known.job.reset();
  const JobSummary what = summary_of(known);
  return {
      what.exit_code.value_or(exit_failure),
      fmt::format("{} (from its files; {} has forgotten it)", what.words, queue.engine_in_words())};
}

std::string end_line(const std::string& id, const JobEnding& ending, const Style& style) {
  const std::string text = "toprun: " + printable(fmt::format("job {}: {}", id, ending.words));
  return coloured(text, ending.exit_code == 0 ? Colour::good : Colour::bad, style) + '\n';
}

}  // namespace toprun::jobs
