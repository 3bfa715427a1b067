#include "engines/slurm/warnings.h"

#include <mutex>
#include <set>
#include <string>

#include "base/os/console.h"
#include "base/text/text.h"

namespace toprun::engines {

void pass_on_warnings(std::string_view err) {
  static std::mutex mutex;
  static std::set<std::string, std::less<>> reported;
  const std::scoped_lock lock(mutex);
  for (const std::string_view line : split(err, '\n')) {
    const std::string_view text = trim(line);
    if (!text.empty() && reported.emplace(text).second) say_block(printable(text) + '\n');
  }
}

}  // namespace toprun::engines
