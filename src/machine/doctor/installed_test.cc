#include "machine/doctor/installed.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/os/os_testing.h"

namespace toprun::doctor {
namespace {

namespace fs = std::filesystem;

// A root directory with the files of installed Pythons.
class Root {
 public:
  const fs::path& path() const { return path_; }

  Root& file(const std::string& name, const std::string& text = "") {
    fs::create_directories((path_ / name).parent_path());
    std::ofstream(path_ / name) << text;
    return *this;
  }
  Root& link(const std::string& name, const std::string& target) {
    fs::create_directories((path_ / name).parent_path());
    fs::create_symlink(target, path_ / name);
    return *this;
  }
  Root& torch(const std::string& site, const std::string& version) {
    return file(site + "/torch/version.py",
                fmt::format("from typing import Optional\n\n__all__ = ['__version__']\n"
                            "__version__ = '{}'\ndebug = False\n",
                            version));
  }

 private:
  const TemporaryFolder folder_;
  const fs::path path_ = folder_.path();
};

std::string found(const Root& root, const std::string& python,
                  const Environment& environment = {}) {
  const Installed installed = look_at_python(python, environment, root.path());
  return fmt::format("{} {}", installed.python.empty() ? "?" : installed.python,
                     installed.torch.empty() ? "?" : installed.torch);
}

TEST(LookAtPython, AVirtualEnvironment) {
  Root root;
  root.file("usr/bin/python3.11").link("venv/bin/python", "../../usr/bin/python3.11");
  root.file("venv/pyvenv.cfg",
            "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3.11.2\n");
  root.torch("usr/lib/python3/dist-packages", "1.13.1");
  EXPECT_EQ(found(root, "/venv/bin/python"), "3.11 ?") << "the system's is not visible in it";
  root.torch("venv/lib/python3.11/site-packages", "2.13.0+cpu");
  EXPECT_EQ(found(root, "/venv/bin/python"), "3.11 2.13.0+cpu");
  fs::remove_all(root.path() / "venv/lib");
  root.file("venv/pyvenv.cfg",
            "home=/usr/bin\ninclude-system-site-packages=true\nversion_info=3.11.2.final.0\n");
  EXPECT_EQ(found(root, "/venv/bin/python"), "3.11 1.13.1");
}

TEST(LookAtPython, TheSystems) {
  Root root;
  root.file("usr/bin/python3.11").link("usr/bin/python3", "python3.11");
  EXPECT_EQ(found(root, "/usr/bin/python3"), "3.11 ?");
  root.torch("usr/lib/python3/dist-packages", "1.13.1");
  EXPECT_EQ(found(root, "/usr/bin/python3"), "3.11 1.13.1");
  root.torch("usr/local/lib/python3.11/dist-packages", "2.5.0");
  EXPECT_EQ(found(root, "/usr/bin/python3"), "3.11 2.5.0");
  root.torch("home/ann/.local/lib/python3.11/site-packages", "2.6.0");
  EXPECT_EQ(found(root, "/usr/bin/python3", {{"HOME", "/home/ann"}}), "3.11 2.6.0");
  EXPECT_EQ(found(root, "/usr/bin/python3", {{"HOME", "/home/ann"}, {"PYTHONNOUSERSITE", "1"}}),
            "3.11 2.5.0");
  root.torch("src", "2.7.0a0+git12");
  EXPECT_EQ(found(root, "/usr/bin/python3", {{"PYTHONPATH", "/nowhere:/src"}}),
            "3.11 2.7.0a0+git12");
}

TEST(LookAtPython, CondasHasItsVersionInTheFolder) {
  Root root;
  root.file("opt/conda/bin/python").torch("opt/conda/lib/python3.12/site-packages", "2.4.0");
  EXPECT_EQ(found(root, "/opt/conda/bin/python"), "3.12 2.4.0");
}

TEST(LookAtPython, NcclIsTheWheelsOrTheSystems) {
  const auto nccl = [](const Root& root) {
    return look_at_python("/usr/bin/python3", {}, root.path()).nccl;
  };
  Root image;
  image.file("usr/bin/python3.12").link("usr/bin/python3", "python3.12");
  image.torch("usr/local/lib/python3.12/dist-packages", "2.8.0a0+34c6371d24.nv25.8");
  EXPECT_EQ(nccl(image), "");
  image.file("usr/lib/x86_64-linux-gnu/libnccl.so.2.27.7");
  image.link("usr/lib/x86_64-linux-gnu/libnccl.so.2", "libnccl.so.2.27.7");
  EXPECT_EQ(nccl(image), "2.27.7");
  const std::string site = "usr/local/lib/python3.12/dist-packages/";
  image.file(site + "nvidia/nccl/lib/libnccl.so.2");
  image.file(site + "nvidia_nccl_cu12-2.26.2.dist-info");
  EXPECT_EQ(nccl(image), "2.26.2");
  Root cpu;
  cpu.file("usr/bin/python3.12").link("usr/bin/python3", "python3.12");
  cpu.torch("usr/local/lib/python3.12/dist-packages", "2.8.0+cpu");
  cpu.link("usr/lib64/libnccl.so.2", "libnccl.so.2.21.5");
  EXPECT_EQ(nccl(cpu), "");
}

TEST(LookAtPython, NothingIsGuessed) {
  Root root;
  root.file("shims/bin/python", "#!/bin/sh\n");
  EXPECT_EQ(found(root, "/shims/bin/python"), "? ?");
  EXPECT_EQ(found(root, "/no/bin/python"), "? ?");
  root.file("two/bin/python").file("two/lib/python3.11/os.py").file("two/lib/python3.12/os.py");
  EXPECT_EQ(found(root, "/two/bin/python"), "? ?");
  root.file("usr/bin/python3.11");
  EXPECT_EQ(found(root, "/usr/bin/python3.11", {{"PYTHONHOME", "/opt"}}), "? ?");
  root.file("usr/lib/python3/dist-packages/torch/version.py", "__version__ = make()\n");
  EXPECT_EQ(found(root, "/usr/bin/python3.11"), "3.11 ?");
}

}  // namespace
}  // namespace toprun::doctor
