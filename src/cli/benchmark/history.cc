#include "bench/tables/history.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "base/os/console.h"
#include "base/os/fd.h"
#include "base/os/files.h"
#include "cli/benchmark/files.h"
#include "cli/benchmark/plot.h"
#include "cli/benchmark/request.h"
#include "observe/picture/picture_file.h"

namespace toprun::benchmark {
namespace {

namespace fs = std::filesystem;
using options::Call;
using options::FlagId;

constexpr std::size_t most_bytes = std::size_t{64} << 20;
constexpr int most_shown = 1000;

Result<fs::path> own_file(const Environment& environment) {
  const auto state = environment.non_empty("XDG_STATE_HOME");
  const auto home = environment.non_empty("HOME");
  if (!state && !home)
    return fail("cannot find the history file", "neither HOME nor XDG_STATE_HOME is set");
  return (state ? fs::path(*state) : fs::path(*home) / ".local/state") / "toprun/bench.jsonl";
}

}  // namespace

Result<std::string> add_to_history(const bench::Report& report, const Environment& environment) {
  const auto file = TRY(own_file(environment));
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  if (error) return fail("cannot make " + file.parent_path().string(), error.message());
  const Fd out(::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644));
  if (!out) return fail_errno("cannot write " + file.string());
  // One write, so that lines of two jobs do not mix.
  const std::string line = bench::history_line(report);
  const ssize_t written = ::write(out.get(), line.data(), line.size());
  if (written < 0) return fail_errno("cannot write " + file.string());
  if (static_cast<std::size_t>(written) < line.size()) {
    return fail("cannot write " + file.string(), "only a part of the line could be written",
                "free some space on that file system");
  }
  return file.string();
}

Result<int> run_bench_history(const Call& call) {
  std::size_t shown = 10;
  TRY(OptionReader(call).number(FlagId::last, shown, 1, most_shown).done());
  std::string file = call.operand(0);
  if (file.empty()) {
    file = TRY(own_file(call.environment));
  }
  const auto text = read_file(file, most_bytes);
  if (!text) {
    return usage(text.error()->what, text.error()->why,
                 "toprun bench COLLECTIVE --history creates the history file");
  }
  const bench::History history = bench::read_history(*text, file);
  for (const std::string& line : history.unreadable) say(file + ", " + line);
  const auto kinds = bench::kinds_of(history.reports);
  if (kinds.empty()) return usage(file, "the file contains no measurement");
  if (const auto plot = call.text(FlagId::plot)) {
    const auto svg = TRY(drawn(kinds));
    TRY(picture::write_picture(*plot, svg, call.environment));
  }
  return print_bytes(bench::history_text(kinds, shown));
}

}  // namespace toprun::benchmark
