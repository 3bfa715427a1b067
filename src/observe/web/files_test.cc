#include "observe/web/files.h"

#include <gtest/gtest.h>

namespace toprun::web {
namespace {

TEST(Files, ThePagesOwn) {
  ASSERT_NE(find_file("/"), nullptr);
  EXPECT_TRUE(find_file("/")->text.starts_with("<!DOCTYPE html>"));
  EXPECT_TRUE(find_file("/")->text.ends_with("</html>\n"));
  EXPECT_NE(find_file("/page.css")->text.find(":root {"), std::string::npos);
  EXPECT_NE(find_file("/page.js")->text.find("'use strict';"), std::string::npos);
  for (const std::string_view path : {"", "/page", "/page.js/", "/../page.js", "page.js"}) {
    EXPECT_EQ(find_file(path), nullptr) << path;
  }
}

// The policy allows neither inline code nor other hosts: nothing in the files may need them.
TEST(Files, NeedNothingElse) {
  for (const std::string_view path : {"/", "/page.css", "/page.js"}) {
    const std::string& text = find_file(path)->text;
    for (const std::string_view words :
         {"http:", "https:", "//cdn", "innerHTML", "insertAdjacent", "document.write", "eval(",
          "style=\"", "onclick=", "@import", "url("}) {
      EXPECT_EQ(text.find(words), std::string::npos) << path << ": " << words;
    }
  }
}

TEST(Files, AReportIsOneFile) {
  const std::string page =
      report_page(R"({"job": "</script><script>alert(1)</script><!--", "attempts": []})");
  EXPECT_EQ(page.find("page.css"), std::string::npos);
  EXPECT_EQ(page.find("src=\"page.js\""), std::string::npos);
  EXPECT_NE(page.find("style-src 'sha256-"), std::string::npos);
  EXPECT_NE(page.find("<style>:root {"), std::string::npos);
  EXPECT_EQ(page.find("alert(1)</script"), std::string::npos);
  EXPECT_NE(page.find(R"({"job": "\u003c/script>\u003cscript>alert(1)\u003c/script>\u003c!--")"),
            std::string::npos);
  // Two scripts end: the report and the page's own.
  std::size_t ends = 0;
  for (auto at = page.find("</script"); at != page.npos; at = page.find("</script", at + 1)) ++ends;
  EXPECT_EQ(ends, 2u);
}

}  // namespace
}  // namespace toprun::web
