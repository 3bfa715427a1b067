#include "node/agent/said.h"

#include <algorithm>

#include "base/text/shown_line.h"
#include "machine/meter/usage.h"

namespace toprun::agent {

using worker::Workers;

std::vector<Said> said_by(const std::vector<Workers::LastOutput>& outputs, int world_size,
                          SteadyTime now) {
  const auto newest = std::ranges::max_element(outputs, {}, &Workers::LastOutput::read);
  std::vector<Said> all;
  for (auto output = outputs.begin(); output != outputs.end(); ++output) {
    Said& said = all.emplace_back();
    if (!output->read) continue;
    said.silence = age(*output->read, now);
    if (world_size > most_ranks_with_lines && output != newest) continue;
    said.last_line = last_state(output->tail, meter::longest_last_line);
    if (world_size > most_ranks_with_several_lines) continue;
    said.last_lines =
        last_public_lines(output->tail, meter::most_last_lines, meter::longest_last_line);
  }
  return all;
}

}  // namespace toprun::agent
