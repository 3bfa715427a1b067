#include <cstdint>
#include <cstdlib>

#include "engines/slurm/patterns.h"
#include "engines/slurm/slurm_jobs.h"

// Whatever is taken for a job has an id, and its exit code is one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun::engines;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const auto& jobs :
       {slurm::parse_squeue(text), slurm::parse_show_job(text), slurm::parse_sacct(text)}) {
    for (const Job& job : jobs) {
      const auto code = exit_code_of(job);
      if (code && (*code < 0 || *code > 255)) std::abort();
      if (slurm::expand(job.out, job).size() > slurm::max_file_name_bytes) std::abort();
    }
  }
  (void)slurm::config_value(text, "MinJobAge");
  return 0;
}
