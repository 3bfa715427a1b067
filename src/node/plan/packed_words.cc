#include "node/plan/packed_words.h"

#include <fmt/format.h>
#include <sodium/utils.h>

#include "base/text/text.h"

namespace toprun::plan {
namespace {

constexpr int variant = sodium_base64_VARIANT_URLSAFE_NO_PADDING;

}  // namespace

Result<std::vector<std::string>> pack_words(const std::vector<std::string>& argv) {
  std::string bytes;
  for (const std::string& word : argv) bytes += word + '\0';
  if (bytes.size() > max_packed_bytes) {
    return usage(fmt::format("the command line is {} bytes long", bytes.size()),
                 fmt::format("at most {} bytes can be sent", max_packed_bytes),
                 "pass long arguments in a file");
  }
  std::string text(sodium_base64_encoded_len(bytes.size(), variant), '\0');
  sodium_bin2base64(text.data(), text.size(), reinterpret_cast<const unsigned char*>(bytes.data()),
                    bytes.size(), variant);
  text.pop_back();  // libsodium's final zero
  return std::vector<std::string>{argv.front(), std::string(packed_word), std::move(text)};
}

Result<std::vector<std::string>> unpack_words(std::string_view packed) {
  std::string bytes(packed.size(), '\0');
  std::size_t size = 0;
  const int failed =
      sodium_base642bin(reinterpret_cast<unsigned char*>(bytes.data()), bytes.size(), packed.data(),
                        packed.size(), nullptr, &size, nullptr, variant);
  bytes.resize(failed == 0 ? size : 0);
  if (!bytes.ends_with('\0')) {
    return usage(std::string(packed_word),
                 "the argument of this verb is not a command line that `toprun submit` wrote",
                 "do not use this word by hand: toprun submit writes it");
  }
  bytes.pop_back();
  std::vector<std::string> argv;
  for (const std::string_view word : split(bytes, '\0')) argv.emplace_back(word);
  return argv;
}

Result<std::vector<std::string>> words_unpacked(std::vector<std::string> argv) {
  if (argv.size() != 3 || argv[1] != packed_word) return argv;
  return unpack_words(argv[2]);
}

}  // namespace toprun::plan
