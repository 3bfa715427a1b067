#pragma once

// toml++ 3.3 without its assertions: a text such as `[.a]`, which anybody may write, trips one of
// them, where the parser would go on to say what is wrong. A debug build would end there, and clang
// take the contrary for granted. Included everywhere in place of the library's own header, because
// its functions are inline.
#include <toml++/impl/preprocessor.h>

#undef TOML_ASSERT
#define TOML_ASSERT(expr) static_assert(true)
#undef TOML_ASSERT_ASSUME
#define TOML_ASSERT_ASSUME(expr) static_assert(true)

#include <toml++/toml.h>
