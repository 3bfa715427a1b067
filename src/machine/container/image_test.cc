#include "machine/container/image.h"

#include <gtest/gtest.h>

namespace toprun::container {
namespace {

const std::string digest = "sha256:" + std::string(64, 'a');

std::string shown(const Image& image) {
  return fmt::format("{}|{}|{}|{}|{}|{}|{}", kind_name(image.kind), image.transport, image.user,
                     image.registry, image.name, image.tag, image.digest);
}

TEST(Image, References) {
  struct Case {
    std::string text;
    std::string parts;
    std::string complete;
  };
  const Case cases[] = {
      {"python", "reference||||python||", "python"},
      {"python:3.12", "reference||||python|3.12|", "python:3.12"},
      {"localhost/small:latest", "reference|||localhost|small|latest|", "localhost/small:latest"},
      {"localhost:5000/a/b", "reference|||localhost:5000|a/b||", "localhost:5000/a/b"},
      {"docker://python", "reference|docker|||python||", "docker.io/library/python"},
      {"docker://pytorch/pytorch:2.4", "reference|docker|||pytorch/pytorch|2.4|",
       "docker.io/pytorch/pytorch:2.4"},
      {"nvcr.io/nvidia/pytorch:24.06-py3", "reference|||nvcr.io|nvidia/pytorch|24.06-py3|",
       "nvcr.io/nvidia/pytorch:24.06-py3"},
      {"nvcr.io#nvidia/pytorch:24.06-py3", "reference|||nvcr.io|nvidia/pytorch|24.06-py3|",
       "nvcr.io/nvidia/pytorch:24.06-py3"},
      {"docker://$oauthtoken@nvcr.io#nvidia/pytorch",
       "reference|docker|$oauthtoken|nvcr.io|nvidia/pytorch||", "nvcr.io/nvidia/pytorch"},
      {"a/b@" + digest, "reference||||a/b||" + digest, "a/b@" + digest},
      {"a/b:1@" + digest, "reference||||a/b|1|" + digest, "a/b:1@" + digest},
      {"oras://ghcr.io/a/b:1", "reference|oras||ghcr.io|a/b|1|", "ghcr.io/a/b:1"},
      {"docker-daemon:a:1", "reference|docker-daemon|||a|1|", "a:1"},
      {"a__b/c-d.e", "reference||||a__b/c-d.e||", "a__b/c-d.e"},
  };
  for (const Case& test : cases) {
    const auto image = parse_image(test.text);
    ASSERT_TRUE(image) << test.text << ": " << image.error().line();
    EXPECT_EQ(shown(*image), test.parts) << test.text;
    EXPECT_EQ(registry_reference(*image), test.complete) << test.text;
  }
}

TEST(Image, Paths) {
  struct Case {
    const char* text;
    ImageKind kind;
    const char* path;
  };
  const Case cases[] = {
      {"torch.sif", ImageKind::sif, "torch.sif"},
      {"images/torch.SIF.sif", ImageKind::sif, "images/torch.SIF.sif"},
      {"/a/nvidia+pytorch+24.06-py3.sqsh", ImageKind::squashfs, "/a/nvidia+pytorch+24.06-py3.sqsh"},
      {"./sandbox", ImageKind::folder, "./sandbox"},
      {"/srv/root fs", ImageKind::folder, "/srv/root fs"},
      {"saved.tar", ImageKind::archive, "saved.tar"},
      {"docker-archive:/a/saved.tar", ImageKind::archive, "/a/saved.tar"},
      {"docker-archive://saved.tar", ImageKind::archive, "saved.tar"},
      {"oci:layout", ImageKind::archive, "layout"},
  };
  for (const Case& test : cases) {
    const auto image = parse_image(test.text);
    ASSERT_TRUE(image) << test.text << ": " << image.error().line();
    EXPECT_EQ(image->kind, test.kind) << test.text;
    EXPECT_EQ(image->path, test.path) << test.text;
  }
}

TEST(Image, Errors) {
  struct Case {
    std::string text;
    std::string why;
  };
  const Case cases[] = {
      {"", "container image '': must not be empty"},
      {"-rm", "an image does not begin with '-'"},
      {"Python", "names have only lower-case letters, and Python does not"},
      {"docker://", "a name must follow"},
      {"docker:/python", "docker: has no port between 1 and 65535"},
      {"http://a/b", "http:// is not known; known are docker, oras"},
      {"python:", "the tag after ':' is empty"},
      {"python:3 12", "' ' is not allowed in a tag"},
      {"python:.1", "a tag does not begin with '.'"},
      {"python:" + std::string(129, 'a'), "a tag has at most 128 bytes"},
      {std::string(256, 'a'), "a name has at most 255 bytes"},
      {"a//b", "a part between slashes is empty; for a folder write ./a//b"},
      {"a_-b", "a_-b must have letters or digits around each separator"},
      {"a/b@sha256:12", "is not a digest, such as sha256: and 64 hexadecimal digits"},
      {"nvcr.io:x/a", "nvcr.io:x has no port between 1 and 65535"},
      {"~/a.d", "the shell has not replaced the '~'; write the path as $HOME/..."},
      {"py\nthon", "container image py\\nthon: control characters are not allowed"},
      {"images/My Folder",
       "lower-case letters, and My Folder does not; for a folder write ./images/My Folder"},
      {"docker-archive:", "a path must follow"},
  };
  for (const Case& test : cases) {
    const auto image = parse_image(test.text);
    ASSERT_FALSE(image) << test.text << ": " << shown(*image);
    EXPECT_TRUE(image.error().line().contains(test.why)) << image.error().line();
    EXPECT_EQ(image.error()->exit_code, exit_usage);
  }
}

}  // namespace
}  // namespace toprun::container
