#include <gtest/gtest.h>

#include "machine/container/container.h"

namespace toprun::container {
namespace {

TEST(Binds, Parse) {
  struct Case {
    const char* text;
    Bind bind;
  };
  const Case cases[] = {
      {"/data", {"/data", "/data", false}},
      {"/data/", {"/data", "/data", false}},
      {"data", {"data", "data", false}},
      {"./a/../b:/b", {"b", "/b", false}},
      {"/data:/mnt/data", {"/data", "/mnt/data", false}},
      {"/data:/mnt:ro", {"/data", "/mnt", true}},
      {"/data:/mnt/:rw", {"/data", "/mnt", false}},
      {"/a b:/c d", {"/a b", "/c d", false}},
      {"/:/host", {"/", "/host", false}},
  };
  for (const Case& test : cases) {
    const auto bind = parse_bind(test.text);
    ASSERT_TRUE(bind) << test.text << ": " << bind.error().line();
    EXPECT_EQ(*bind, test.bind) << test.text;
  }
}

TEST(Binds, Errors) {
  struct Case {
    const char* text;
    const char* error;
  };
  const Case cases[] = {
      {"", "--bind : the folder to bind is missing; the form is SRC[:DST[:ro|rw]]"},
      {":/data", "--bind :/data: the folder to bind is missing; the form is SRC[:DST[:ro|rw]]"},
      {"/a:b", "--bind /a:b: the path inside must be absolute; the form is SRC[:DST[:ro|rw]]"},
      {"/a:", "--bind /a:: the path inside must be absolute; the form is SRC[:DST[:ro|rw]]"},
      {"/a:/", "--bind /a:/: the folder would hide the whole image; the form is SRC[:DST[:ro|rw]]"},
      {"/a:/b:rx", "--bind /a:/b:rx: rx is neither ro nor rw; the form is SRC[:DST[:ro|rw]]"},
      {"/a:/b:ro:z",
       "--bind /a:/b:ro:z: a path with ':' in it cannot be bound; the form is SRC[:DST[:ro|rw]]"},
      {"~/a", "--bind ~/a: the shell has not replaced the '~'; write the path as $HOME/..."},
      {"/a\n", "--bind /a\\n: control characters are not allowed; the form is SRC[:DST[:ro|rw]]"},
  };
  for (const Case& test : cases) {
    const auto bind = parse_bind(test.text);
    ASSERT_FALSE(bind) << test.text;
    EXPECT_EQ(bind.error().line(), test.error);
    EXPECT_EQ(bind.error()->exit_code, exit_usage);
  }
}

TEST(Binds, MadeAbsoluteBelowAFolder) {
  struct Case {
    const char* image;
    const char* absolute;
  };
  const Case cases[] = {
      {"a/b.sif", "/home/ada/a/b.sif"},
      {"./root/", "/home/ada/root"},
      {"/a.sqsh", "/a.sqsh"},
      {"oci:layout", "oci:/home/ada/layout"},
      {"python:3.12", "python:3.12"},
      {"docker://a/b", "docker://a/b"},
      {"saved.tar", "/home/ada/saved.tar"},
      {"", ""},
  };
  for (const Case& test : cases) {
    Request request{.image = test.image};
    request.binds = {{"data", "data"}, {"../b", "/b"}};
    make_absolute(request, "/home/ada");
    EXPECT_EQ(request.image, test.absolute);
    EXPECT_EQ(request.binds,
              (std::vector<Bind>{{"/home/ada/data", "/home/ada/data"}, {"/home/b", "/b"}}));
  }
}

TEST(Binds, Default) {
  EXPECT_EQ(default_binds("/home/ada/project/"),
            (std::vector<Bind>{{"/home/ada/project", "/home/ada/project", false}}));
  for (const char* folder : {"/", "/usr", "/etc", "/dev"}) {
    EXPECT_TRUE(default_binds(folder).empty()) << folder;
  }
}

TEST(Binds, OuterBeforeInnerAndTheLastOfOneTarget) {
  const std::vector<Bind> given{{"/a", "/x/y"}, {"/b", "/x"}, {"/c", "/x/y"}, {"/d", "/w"}};
  EXPECT_EQ(in_order(given), (std::vector<Bind>{{"/b", "/x"}, {"/d", "/w"}, {"/c", "/x/y"}}));
}

}  // namespace
}  // namespace toprun::container
