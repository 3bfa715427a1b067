#include "base/process/watched.h"

#include <fcntl.h>

#include "base/os/fd.h"
#include "base/process/child.h"
#include "base/process/program.h"

namespace toprun::process {
namespace {

constexpr std::size_t longest_line_bytes = 64 * 1024;

}  // namespace

Result<int> watch(const std::vector<std::string>& argv, const Environment& environment,
                  const std::function<void(std::string_view line)>& on_line) {
  const auto program = find_program(argv.front(), environment);
  if (!program) return fail("cannot run " + argv.front(), "no such program in PATH");
  auto pipe = TRY(make_pipe());
  const Fd nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int output = pipe.write.get();
  const auto pid = start(*program, argv, environment, {nothing.get(), output, output});
  pipe.write.reset();
  if (!pid) return std::unexpected(pid.error());
  read_lines(pipe.read.get(), longest_line_bytes, on_line);
  return exit_code(await_end(*pid));
}

}  // namespace toprun::process
