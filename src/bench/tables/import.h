#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/text/error.h"
#include "bench/tables/measurement.h"

namespace toprun::bench {

enum class Format {
  toprun_json,  // report_json()
  nccl_json,    // nccl-tests -J, file version 2
  nccl_text,    // the output of nccl-tests and rccl-tests, including old versions and logs with
                // prefixes
  all_reduce_bench,  // all_reduce_bench.py from ml-engineering: Markdown, or two lines from older
                     // versions
  superbench,  // SuperBench results such as …/allreduce_8388608_busbw:0 = 89.51, or JSON lines
};

// The format of a text, recognised by the first line that occurs in only one format.
std::optional<Format> format_of(std::string_view text);

struct ImportTerms {
  std::string file;                      // the file's name in errors
  std::optional<Collective> collective;  // the collective of tables that do not name their
                                         // collective
};

inline constexpr std::size_t max_import_bytes = std::size_t{64} << 20;

// Reads a report in any format. Errors (exit code 2) name the file and the line. Errors are: an
// unknown format, no rows, a row that does not fit its heading, a table whose collective is
// unknown, and a file that is too large. Values that the file does not contain stay 0 or unset. The
// spread of the iterations is mostly unknown (`samples` is 0).
Result<Report> import_report(std::string_view text, const ImportTerms& terms);

}  // namespace toprun::bench
