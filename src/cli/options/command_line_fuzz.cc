#include <cstddef>
#include <cstdint>

#include "base/text/text.h"
#include "cli/options/run_options.h"

// Splits and parses the words of a command line, separated by NUL. Whatever the words are, the
// result is options or a readable error.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> argv = {"toprun"};
  for (const std::string_view word : split(text, '\0')) argv.emplace_back(word);
  const auto parts = options::split(argv);
  if (!parts) {
    if (parts.error().line().empty() || parts.error()->exit_code != exit_usage) __builtin_trap();
    return 0;
  }
  const auto options = options::run_options(
      *parts, argv, {}, [](const std::string& path) { return path.size() > 3; });
  if (!options && options.error().line().empty()) __builtin_trap();
  return 0;
}
