#pragma once

#include <optional>
#include <string_view>

#include "base/text/error.h"
#include "machine/container/runtime.h"

namespace toprun::container {

// Explains a runtime's output on stderr before it failed. Known causes: the image does not exist,
// is not readable or is for another machine; no space; user namespaces are off; a mount target
// cannot be created; limits; the runtime is too old or forbidden by the site. nullopt: another
// cause.
std::optional<Error> explain_words(const Runtime& runtime, std::string_view its_words,
                                   const Run& run, const Node& node);

}  // namespace toprun::container
