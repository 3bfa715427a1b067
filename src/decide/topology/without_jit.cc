// PCRE2's compiler of machine code, 240 KB of it, is left out of the program: no pattern of ours
// asks for it. The library's other parts call these four functions when a pattern was compiled so;
// defined here, they keep the linker from taking the compiler out of a static library. A name that
// a later PCRE2 adds fails the link, not a run.
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

extern "C" {

void _pcre2_jit_free_8(void*, void*) {}

size_t _pcre2_jit_get_size_8(void*) {
  return 0;
}

int _pcre2_jit_check_exec_8(void) {
  return 0;
}

int pcre2_jit_match_8(const pcre2_code_8*, PCRE2_SPTR8, PCRE2_SIZE, PCRE2_SIZE, uint32_t,
                      pcre2_match_data_8*, pcre2_match_context_8*) {
  return PCRE2_ERROR_JIT_BADOPTION;
}
}
