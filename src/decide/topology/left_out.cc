// Parts of static libraries that the program would contain and never run: PCRE2's compiler of
// machine code (240 KB; no pattern of ours asks for it) and the certificates of mbedTLS's self-test
// (55 KB). The linker takes a part out of a library only for a name that is not defined elsewhere,
// so these definitions keep it out. If a later version of a library adds a name to such a part,
// linking fails.
#include <mbedtls/certs.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

extern "C" {

const char* mbedtls_test_ca_crt = "";
const char* mbedtls_test_cli_crt = "";
const size_t mbedtls_test_ca_crt_len = 1;
const size_t mbedtls_test_cli_crt_len = 1;

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
