"""Wheels made by hand, so that pip installs without a network."""

import base64
import hashlib
import zipfile

# What keeps pip from any index but a folder, whatever this machine's configuration says.
NO_INDEX = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null", "PIP_EXTRA_INDEX_URL": ""}


def digest_of(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def make_wheel(folder, name, version, modules, requires=()):
    """A wheel with these modules ({file name: text}); its path."""
    info = f"{name}-{version}.dist-info"
    metadata = [f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"]
    metadata += [f"Requires-Dist: {word}\n" for word in requires]
    files = {**modules, f"{info}/METADATA": "".join(metadata),
             f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"}
    record = [f"{path},sha256={digest_of(text.encode())},{len(text.encode())}"
              for path, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*record, f"{info}/RECORD,,", ""])
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in files.items():
            wheel.writestr(name, text)
    return path
