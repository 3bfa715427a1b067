#include "engines/programs.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <mutex>
#include <set>
#include <string>

#include "base/os/console.h"
#include "base/process/child.h"
#include "base/process/command.h"
#include "base/text/shown_line.h"
#include "base/text/text.h"

namespace toprun::engines {

Error refusal(std::string_view command, std::string_view stderr_text,
              std::span<const Advice> advices) {
  const auto said = complaint(stderr_text, most_refusal_lines);
  Error error{std::string(command), said.empty() ? "it gave no reason" : join(said, "; "), "",
              exit_failure};
  for (const Advice& advice : advices) {
    if (stderr_text.find(advice.words) == std::string_view::npos) continue;
    error->fix = advice.fix;
    break;
  }
  return error;
}

void pass_on_warnings(std::string_view err) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> reported;
  const std::scoped_lock lock(mutex);
  for (const std::string_view line : split(err, '\n')) {
    const std::string_view text = trim(line);
    if (!text.empty() && reported.emplace(text).second) say_block(printable(text) + '\n');
  }
}

namespace {

constexpr std::size_t most_held_bytes = 64 * 1024;

void take_line(Ended& ended, std::string_view line, std::string_view grant) {
  if (!ended.granted && line.find(grant) != std::string_view::npos) ended.granted = true;
  const bool held = !ended.granted && line.find("error:") != std::string_view::npos;
  if (!held) return say_block(line);
  if (ended.errors.size() < most_held_bytes) ended.errors += line;
}

}  // namespace

Result<Ended> run_on_terminal(const std::vector<std::string>& argv, const Environment& environment,
                              std::string_view grant) {
  const auto program = process::find_program(argv.front(), environment);
  if (!program)
    return fail("cannot run " + argv.front(), fmt::format("no {} in PATH", argv.front()));
  auto pipe = TRY(process::make_pipe());
  const auto pid = process::start(
      *program, argv, environment,
      {.err = pipe.write.get(), .signals = process::Start::Signals::terminals_default});
  pipe.write.reset();
  if (!pid) return std::unexpected(pid.error());
  for (const int signal : process::terminal_signals()) ::signal(signal, SIG_IGN);
  Ended ended;
  ended.granted = grant.empty();
  process::read_lines(pipe.read.get(), most_held_bytes, [&](std::string_view line) {
    take_line(ended, std::string(line) + '\n', grant);
  });
  ended.code = process::exit_code(process::await_end(*pid));
  return ended;
}

std::string user_name(const Environment& environment, std::chrono::milliseconds limit) {
  for (const char* variable : {"USER", "LOGNAME"}) {
    if (auto name = environment.non_empty(variable)) return *std::move(name);
  }
  const auto reported = process::output_of({"id", "-un"}, environment, limit);
  const std::string name(reported ? trim(*reported) : std::string_view());
  return name.empty() ? fmt::format("uid-{}", ::getuid()) : name;
}

}  // namespace toprun::engines
