#pragma once

#include <string_view>

namespace toprun::engines {

// Shows what one of Slurm's programs wrote to stderr beside a good answer: a site's news, an option
// that is going to vanish. Each line once in the life of this process. For any thread.
void pass_on_warnings(std::string_view err);

}  // namespace toprun::engines
