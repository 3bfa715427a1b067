#include "engines/terminal_command.h"

#include <signal.h>

#include "base/os/console.h"
#include "base/process/child.h"
#include "base/process/command.h"

namespace toprun::engines {
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

}  // namespace toprun::engines
