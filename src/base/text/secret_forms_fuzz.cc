#include <cstdint>
#include <cstdlib>

#include "base/text/secret_forms.h"
#include "base/text/secrets.h"

// Parts lie in the text in order, none is empty, and what is between them stays as it is.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace toprun;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::size_t at = 0;
  std::string expected;
  for (const TextPart& part : secret_forms_in(text)) {
    if (part.begin < at || part.end <= part.begin || part.end > size) std::abort();
    expected += text.substr(at, part.begin - at);
    expected += hidden_secret;
    at = part.end;
  }
  expected += text.substr(at);
  if (without_secrets(text) != expected) std::abort();
  (void)looks_random(text);
  (void)is_secret_name(text);
  const std::vector<std::string> words = {std::string(text.substr(0, size / 2)),
                                          std::string(text.substr(size / 2))};
  if (without_secrets(words).size() != words.size()) std::abort();
  return 0;
}
