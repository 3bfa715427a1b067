#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace toprun {

// The error message for people in the stderr of a program that failed: at most `most` lines, each
// once. Labels are removed ("error: ", "Error from server "), as are lines for developers. kubectl
// and others write such lines in klog's form (`E1124 22:53:22.909201 25386 memcache.go:265]
// "Unhandled Error" err="…"`). If stderr has only lines for developers, returns the errors in them.
// Terminal sequences are removed.
std::vector<std::string> complaint(std::string_view stderr_text, std::size_t most);

}  // namespace toprun
