"""A certificate authority, and what it signs, by the program openssl."""

import subprocess


def openssl(*words):
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


class Authority:
    def __init__(self, folder, name="kubernetes"):
        self.folder, self.name = folder, name
        self.file, self.key = folder / f"{name}.crt", folder / f"{name}.key"
        openssl("req", "-x509", *self.new_key("ec", self.key), "-out", self.file, "-subj", f"/CN={name}", "-days", "2")

    @staticmethod
    def new_key(kind, path):
        form = ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"] if kind == "ec" else ["rsa:2048"]
        return ["-newkey", *form, "-nodes", "-keyout", path]

    def server(self, names, kind="ec", days=2):
        """(certificate, key) of a server; `names` as in a subjectAltName: "IP:127.0.0.1,DNS:localhost"."""
        base = self.folder / f"server-{len(list(self.folder.iterdir()))}"
        certificate, key, request = (base.with_suffix(end) for end in (".crt", ".key", ".csr"))
        extensions = base.with_suffix(".ext")
        extensions.write_text(f"subjectAltName={names}\n")
        openssl("req", "-new", *self.new_key(kind, key), "-out", request, "-subj", "/CN=kube-apiserver")
        openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.key, "-CAcreateserial",
                "-extfile", extensions, "-out", certificate, "-days", days)
        return certificate, key
