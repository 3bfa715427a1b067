#include "cli/verbs/output_file.h"

#include "base/os/named_file.h"
#include "base/os/print.h"

namespace toprun::cli {

using options::FlagId;

std::optional<std::string> output_file(const options::Call& call) {
  auto file = call.text(FlagId::output);
  if (file == "-") file.reset();
  return file;
}

Result<int> put_out(const options::Call& call, std::string_view content) {
  const auto file = output_file(call);
  if (!file) return print_bytes(content);
  const auto written = write_and_say(*file, content);
  return written ? Result<int>(0) : std::unexpected(written.error());
}

}  // namespace toprun::cli
