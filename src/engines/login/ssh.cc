#include "engines/login/ssh.h"

#include <fmt/format.h>

#include "base/text/text.h"

namespace toprun::engines {

std::vector<std::string> ssh_command(const Environment& environment, const std::string& login,
                                     const std::string& line) {
  std::vector<std::string> argv;
  const std::string program = environment.non_empty(ssh_program_variable).value_or("ssh");
  for (const std::string_view word : words(program)) argv.emplace_back(word);
  for (const std::string& option :
       {std::string("BatchMode=yes"), fmt::format("ConnectTimeout={}", ssh_connect_limit_s),
        std::string("ServerAliveInterval=5"), std::string("ServerAliveCountMax=3")}) {
    argv.insert(argv.end(), {"-o", option});
  }
  argv.insert(argv.end(), {"-T", "--", login, line});
  return argv;
}

std::string ssh_line(std::span<const Binary> binaries) {
  return fmt::format("exec sh -c '{}'", login_script(binaries));
}

}  // namespace toprun::engines
