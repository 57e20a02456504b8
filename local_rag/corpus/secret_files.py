"""Files whose names say that they hold secrets."""

from __future__ import annotations

import re

SECRET_NAMES = frozenset({
    "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "id_ecdsa_sk", "id_ed25519_sk",
    ".netrc", "_netrc", ".git-credentials", ".npmrc", ".pypirc", ".pgpass", ".my.cnf",
    ".htpasswd", ".dockercfg", ".vault-token", ".boto", ".s3cfg", ".terraformrc", ".envrc",
    "credentials", "credentials.json", ".credentials.json", "application_default_credentials.json",
    "secrets.json", "secrets.toml", "secrets.yaml", "secrets.yml", "kubeconfig",
    "wallet.dat", "key3.db", "key4.db", "logins.json", "login data",
    ".bash_history", ".zsh_history", ".psql_history", ".mysql_history", ".python_history",
})  # fmt: skip
SECRET_SUFFIXES = (
    ".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".kdb", ".kdbx", ".ppk", ".ovpn",
    ".env", ".tfstate", ".tfvars", ".tfvars.json", ".agekey",
)  # fmt: skip
SECRET_SHAPES = re.compile(
    r"\.env(\.(?!example$|sample$|template$|dist$)|-|$).*"
    r"|(client_secret|service[-_]account).*\.json"
)
SECRET_PLACES = (".aws/credentials", ".docker/config.json", ".kube/config", ".config/gh/hosts.yml")
SECRET_FOLDERS = ("/.ssh/", "/.gnupg/")


def is_secret_name(path: str) -> bool:
    """Whether the file at `path` (relative to its root, with `/`) is made to hold secrets."""
    low = path.lower()
    name = low.rpartition("/")[2]
    if name in SECRET_NAMES or name.endswith(SECRET_SUFFIXES):
        return True
    if name.startswith((".env", "client_secret", "service")) and SECRET_SHAPES.fullmatch(name):
        return True
    if "." not in low[: -len(name)]:  # no folder name has a dot: most files end here
        return False
    return low.endswith(SECRET_PLACES) or any(folder in f"/{low}" for folder in SECRET_FOLDERS)
