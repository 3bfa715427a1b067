#include <gtest/gtest.h>

#include "base/text/text.h"
#include "node/plan/setup/build.h"

namespace toprun::setup {
namespace {

std::string words_of(std::string_view output) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(output, '\n')) lines.emplace_back(line);
  return pips_words(lines);
}

// pip 23.2 and venv printed this output.
TEST(PipsWords, AreItsErrors) {
  struct Case {
    std::string_view output;
    std::string_view words;
  };
  const Case cases[] = {
      {"", ""},
      {"Processing ./demo-1.2.whl\nSuccessfully installed demo-1.2\n", ""},
      {"Looking in links: w\n"
       "ERROR: Could not find a version that satisfies the requirement nosuch==2 (from versions: "
       "none)\nERROR: No matching distribution found for nosuch==2\n",
       "Could not find a version that satisfies the requirement nosuch==2 (from versions: none); "
       "No matching distribution found for nosuch==2"},
      {"ERROR: THESE PACKAGES DO NOT MATCH THE HASHES.\n    demo==1.2 (line 1):\n"
       "        Expected sha256 07\n             Got        de\n\nnot this\n    nor this\n",
       "THESE PACKAGES DO NOT MATCH THE HASHES. demo==1.2 (line 1): Expected sha256 07 Got        "
       "de"},
      {"  error: subprocess-exited-with-error\n  \n"
       "  × Preparing metadata (pyproject.toml) did not run successfully.\n  │ exit code: 1\n"
       "  ╰─> [18 lines of output]\n      ModuleNotFoundError: No module named 'nosuch'\n"
       "      [end of output]\n  \n  note: This error originates from a subprocess.\n"
       "error: metadata-generation-failed\n\n"
       "× Encountered error while generating package metadata.\n╰─> See above for output.\n",
       "Preparing metadata (pyproject.toml) did not run successfully. exit code: 1 [18 lines of "
       "output] ModuleNotFoundError: No module named 'nosuch'"},
      {"  note: a\n      /x/adapter.h:19:10: fatal error: torch/extension.h: No such file\n"
       "      b.cc:2: error: that is a consequence\nerror: legacy-install-failure\n\n"
       "× Encountered error while trying to install package.\n╰─> horovod\n",
       "horovod; /x/adapter.h:19:10: fatal error: torch/extension.h: No such file"},
      {"      CMake Error in /x/CMakeLists.txt:\n\n        Imported target \"MPI\" includes a "
       "path\n"
       "        that is not there\n",
       "CMake Error in /x/CMakeLists.txt: Imported target \"MPI\" includes a path"},
      {"Error: [Errno 13] Permission denied: '/x/env'\n", "[Errno 13] Permission denied: '/x/env'"},
      {"ERROR: a\x1b[31m\n", "a\\x1b[31m"},
  };
  for (const Case& each : cases) EXPECT_EQ(words_of(each.output), each.words) << each.output;
}

// pip 23.0 (WARNING …) and pip 26 (host='…') printed this output without a network.
TEST(PipsWords, NameTheHostThatCouldNotBeReached) {
  const std::string warning =
      "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by "
      "'NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at "
      "0x7feac52bfe10>: Failed to establish a new connection: [Errno -3] Temporary failure in name "
      "resolution')': /simple/demo/\n";
  const std::string none =
      "ERROR: Could not find a version that satisfies the requirement demo (from versions: none)\n"
      "ERROR: No matching distribution found for demo\n";
  const std::string resolution = "Temporary failure in name resolution";
  const std::pair<std::string, std::string> rows[] = {
      {warning + none, "no connection to pypi.org: " + resolution},
      {"Looking in indexes: https://me:pw@mirror.site:8443/simple, file:///opt/simple\n" + warning +
           none,
       "no connection to mirror.site: " + resolution},
      {"WARNING: Retrying (Retry(total=0)) after connection broken by 'ConnectTimeoutError(<X "
       "object "
       "at 0x7f>, 'Connection to pypi.org timed out. (connect timeout=15)')': /simple/demo/\n" +
           none,
       "no connection to pypi.org: it timed out"},
      {"ERROR: Could not install packages due to an OSError: "
       "HTTPSConnectionPool(host='files.site', "
       "port=443): Max retries exceeded with url: /x.tar.gz (Caused by NewConnectionError('<X "
       "object "
       "at 0x7f>: Failed to establish a new connection: [Errno 111] Connection refused'))\n",
       "no connection to files.site: Connection refused"},
      {"WARNING: Retrying (Retry(total=0)) after connection broken by 'E(odd)': /simple/demo/\n" +
           none,
       "no connection to pypi.org: E(odd)"},
      {none, ""},
      {warning + "ERROR: Could not find a version that satisfies the requirement demo==9 (from "
                 "versions: 1, 2)\n",
       ""},
      {warning, ""},
  };
  for (const auto& [output, words] : rows) {
    std::vector<std::string> lines;
    for (const std::string_view line : split(output, '\n')) lines.emplace_back(line);
    EXPECT_EQ(missing_connection(lines), words) << output;
  }
}

TEST(PipsWords, KeepTheBeginningAndTheEndOfALongComplaint) {
  std::string output = "ERROR: it began\n";
  for (int i = 0; i < 200; ++i) output += "    frame of a traceback\n";
  const std::string words = words_of(output + "    TheReason: here\n");
  EXPECT_TRUE(words.starts_with("it began frame")) << words;
  EXPECT_TRUE(words.ends_with("TheReason: here")) << words;
  EXPECT_LT(words.size(), 700u);
}

}  // namespace
}  // namespace toprun::setup
