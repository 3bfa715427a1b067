#pragma once

// toml++ 3.3 without its assertions: a text such as `[.a]`, which anybody may write, trips one of
// them in a debug build, where the parser would go on to say what is wrong. Included everywhere in
// place of the library's own header, because its functions are inline.
#ifndef NDEBUG
#define TOML_ASSERT(expr) static_cast<void>(0)
#endif

#include <toml++/toml.h>
