#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "container/runtime.h"

namespace toprun::container {

inline constexpr std::chrono::minutes creation_limit{60};  // an image of 20 GB over a slow line

// Makes what the runtime needs before its container starts (Runtime::product), if it is not there
// yet. Of several processes and nodes that share its folder one makes it and the others wait, by a
// lock beside it. Blocks; `say` gets a line when it begins to make or to wait.
//
// Beside what is kept a file says which image it was made from. Errors: it was made from another
// image, or from a file that has changed since; the folder cannot be made; a command failed, with
// its own last words or what they mean.
Result<void> prepare(const Runtime& runtime, const Run& run, const Node& node,
                     const Environment& environment,
                     const std::function<void(const std::string&)>& say);

// What tells that an image's file is still the same one: "SIZE MTIME_NS"; empty for a reference.
std::string fingerprint(std::string_view image);

// The last line that is no blank one, without colours, of what a program wrote.
std::string last_words(std::string_view text);

}  // namespace toprun::container
