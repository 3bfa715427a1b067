#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/verbs/help/help.h"

namespace toprun::cli {
namespace {

TEST(Libraries, HaveTheirUpstreamsVersion) {
  const struct {
    std::string_view package, upstream;
  } rows[] = {{"1.0.18-1", "1.0.18"}, {"0.7.0+dfsg-8", "0.7.0"}, {"2:3.1~rc1-2", "3.1"}, {"", ""}};
  for (const auto& [package, upstream] : rows) EXPECT_EQ(upstream_version(package), upstream);
}

TEST(Libraries, AreNamedInABillOfMaterials) {
  const std::vector<Library> libraries = {
      {"libx", "1.2", "MIT", "https://x.example", "debian", "x", "1.2+a-1"},
      {"liby", "3", "ISC", "https://y.example", {}}};
  const auto bill = nlohmann::json::parse(sbom(libraries, "0.1.0"));
  EXPECT_EQ(bill["bomFormat"], "CycloneDX");
  EXPECT_EQ(bill["specVersion"], "1.5");
  EXPECT_EQ(bill["metadata"]["component"]["version"], "0.1.0");
  ASSERT_EQ(bill["components"].size(), 2u);
  EXPECT_EQ(bill["components"][0]["purl"], "pkg:deb/debian/x@1.2%2Ba-1?arch=source");
  EXPECT_FALSE(bill["components"][1].contains("purl"));
  EXPECT_EQ(bill["components"][1]["licenses"][0]["expression"], "ISC");
  EXPECT_EQ(bill["dependencies"][0]["dependsOn"], nlohmann::json({"libx", "liby"}));
}

TEST(Libraries, AllHaveAVersionAndALicense) {
  for (const Library& library : linked_libraries()) {
    EXPECT_FALSE(library.license.empty()) << library.name;
    // Without dpkg nothing tells of those whose headers do not.
    if (!library.package.empty()) {
      EXPECT_FALSE(library.version.empty()) << library.name;
    }
  }
}

}  // namespace
}  // namespace toprun::cli
