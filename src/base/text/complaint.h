#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace toprun {

// What a program that failed wrote to stderr for people, `most` lines of it, each once: without
// labels ("error: ", "Error from server ") and without lines for its developers, which kubectl and
// others write in klog's form (`E1124 22:53:22.909201 25386 memcache.go:265] "Unhandled Error"
// err="…"`). Where there are no other lines, the errors that those tell. Harmless to a terminal.
std::vector<std::string> complaint(std::string_view stderr_text, std::size_t most);

}  // namespace toprun
