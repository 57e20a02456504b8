"""Secrets stay out: secret files by name, keys by content, credentials named with their line.

Every secret here is made up at run time, so that no scanner takes this file for a leak.
"""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from local_rag.corpus.scan import FileVersion
from local_rag.corpus.secret_files import is_secret_name
from local_rag.corpus.skipped import SkipKind, SkippedFile
from local_rag.corpus.walk import FoundFile, walk
from local_rag.documents.credentials import Credential, find_credentials, find_private_key
from local_rag.documents.document import Document
from local_rag.index.manifest import Remark
from local_rag.ingest.loader import DocumentLoader
from local_rag.ingest.report import Options, Report
from local_rag.ingest.run import run_ingest
from local_rag.settings import Root, Secrets, Settings

DIGITS = "0123456789"
MIXED = "aB3dE5gH7jK9mN2pQ4sT6vW8yZ" * 8
UPPER = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def joined(*parts: str) -> str:
    return "".join(parts)


@pytest.mark.parametrize(
    "path",
    [
        ".env", ".env.local", ".env.production", "deploy/prod.env", "id_rsa", "sub/id_ed25519",
        ".netrc", "_netrc", "server.pem", "Server.KEY", "store.p12", "vault.kdbx", ".npmrc",
        ".git-credentials", ".aws/credentials", "home/.ssh/config", "home/.docker/config.json",
        "credentials.json", "client_secret_1.json", "service-account-x.json", "secrets.yaml",
        "infra/terraform.tfstate", "infra/prod.tfvars",
    ],
)  # fmt: skip
def test_a_file_made_to_hold_secrets_is_told_by_its_name(path: str) -> None:
    assert is_secret_name(path)


@pytest.mark.parametrize(
    "path",
    [
        ".env.example", ".env.template", "env.md", "environment.md", "id_rsa.pub", "netrc.md",
        "secrets.md", "credentials.md", "docs/ssh/config.md", "keyboard.md", "service-account.md",
        "pem.txt", "how-to-make-a.key.md",
    ],
)  # fmt: skip
def test_a_document_about_secrets_is_no_secret_file(path: str) -> None:
    assert not is_secret_name(path)


def test_secret_files_are_left_out_and_listed_as_such(tmp_path: Path) -> None:
    for name in (".env", "id_rsa", "notes.md", "secrets.yaml"):
        (tmp_path / name).write_text("x\n")
    items = list(walk(Root("r", tmp_path.resolve())))
    assert [i.path for i in items if isinstance(i, FoundFile)] == ["notes.md"]
    assert [i for i in items if isinstance(i, SkippedFile)] == [
        SkippedFile("r", name, SkipKind.SECRET, "secret file by its name")
        for name in (".env", "id_rsa", "secrets.yaml")
    ]


@pytest.mark.parametrize(
    ("credential", "kind"),
    [
        (joined("AK", "IA", "QWERTYUIOPASDFGH"), "AWS access key"),
        (joined("aws_secret_access_key = ", MIXED[:40]), "AWS secret key"),
        (joined("gh", "p_", MIXED[:36]), "GitHub token"),
        (joined("github", "_pat_", MIXED[:82]), "GitHub token"),
        (joined("gl", "pat-", MIXED[:20]), "GitLab token"),
        (joined("xo", "xb-", DIGITS, "-", MIXED[:24]), "Slack token"),
        (
            joined("https://hooks.slack.", "com/services/T", DIGITS, "/B", DIGITS, "/", MIXED[:24]),
            "Slack webhook",
        ),
        (joined("ey", "J", MIXED[:20], ".ey", "J", MIXED[:20], ".", MIXED[:43]), "JSON web token"),
        (joined("AI", "za", MIXED[:35]), "Google API key"),
        (joined("sk", "_live_", MIXED[:24]), "Stripe key"),
        (joined("sk-", "ant-", MIXED[:40]), "Anthropic key"),
        (joined("np", "m_", MIXED[:36]), "npm token"),
        (joined("Account", "Key=", MIXED[:86], "=="), "Azure storage key"),
        (joined("pass", "word = ", '"j7Kd9', '3!mQx2zT"'), "password"),
        (joined("POSTGRES_PASS", "WORD=j7Kd9", "3_mQx2zTv"), "password"),
        (joined("postgres://app:j7Kd9", "3-mQx2zT@db.internal/x"), "password in an address"),
    ],
)
def test_a_credential_is_found_with_its_line(credential: str, kind: str) -> None:
    text = f"# Notes\n\nfirst\n{credential}\nlast\n"
    assert find_credentials(text) == [Credential(4, kind)]


@pytest.mark.parametrize(
    "text",
    [
        joined("AK", "IA", "IOSFODNN7EXAMPLE"),
        'password = "your-password-here"',
        'password = "${DB_PASSWORD}"',
        "password: correct horse battery staple",
        "PASSWORD=postgres",
        "token = get_token_from_vault()",
        "secret: kubernetes.io/service-account",
        "postgres://user:password@localhost/db",
        "https://example.org/path:with-colon-And-1@home",
        "eyJ is how a JSON web token starts",
        "commit 9c9f29c0123456789abcdef0123456789abcdef",
    ],
)
def test_examples_variables_and_words_are_no_credentials(text: str) -> None:
    assert find_credentials(text) == []


def test_each_kind_is_named_once_a_line_and_in_order() -> None:
    github = joined("gh", "p_", MIXED[:36])
    aws = joined("AK", "IA", "QWERTYUIOPASDFGH")
    assert find_credentials(f"{github} {github} {aws}\n\n{aws}\n") == [
        Credential(1, "GitHub token"),
        Credential(1, "AWS access key"),
        Credential(3, "AWS access key"),
    ]


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_a_private_key_is_found_with_its_line(kind: str) -> None:
    key = joined("-----BEGIN ", kind, "PRIVATE KEY-----\n", MIXED[:64], "\n")
    assert find_private_key("text\n\n" + key) == 3


def test_a_private_key_with_headers_or_in_json_is_found() -> None:
    begin = joined("-----BEGIN RSA ", "PRIVATE KEY-----")
    assert find_private_key(f"{begin}\nProc-Type: 4,ENCRYPTED\n\n{MIXED[:64]}\n") == 1
    assert find_private_key(f'{{"private_key": "{begin}\\n{MIXED[:64]}\\n"}}') == 1


def test_a_mention_of_a_private_key_and_a_public_one_are_none() -> None:
    mention = joined("It begins with `-----BEGIN ", "PRIVATE KEY-----` and so on.\n")
    assert find_private_key(mention) is None
    assert find_private_key(f"-----BEGIN PUBLIC KEY-----\n{MIXED[:64]}\n") is None


def test_a_key_that_shares_its_dashes_with_a_mention_is_found() -> None:
    begin = joined("-----BEGIN ", "PRIVATE KEY")
    assert find_private_key(f"{begin}{begin}-----\n{MIXED[:64]}\n") == 1


def test_a_token_behind_a_dash_is_found() -> None:
    token = joined("ey", "J", MIXED[:20], ".ey", "J", MIXED[:20], ".", MIXED[:43])
    assert find_credentials(f"EXAMPLE-{token}") == [Credential(1, "JSON web token")]


@pytest.mark.parametrize(
    "part",
    [
        joined("-----BEGIN ", "PRIVATE KEY-----\nA: "),
        joined("-----BEGIN ", "PRIVATE KEY-----A: "),
        joined("-----BEGIN ", "PRIVATE KEY-----\n"),
        joined("-ey", "Jaaaaaaaaaa"),
        joined("-ey", "Jaaaaaaaaaa.ey", "J"),
    ],
    ids=["headers", "headers on one line", "first lines", "tokens", "parts of tokens"],
)
def test_a_megabyte_that_only_starts_like_credentials_is_read_once(part: str) -> None:
    text = part * (1_000_000 // len(part))  # it took hours when each start read all the rest
    assert (find_private_key(text), find_credentials(text)) == (None, [])


class Silent:
    def notice(self, text: str) -> None:
        pass

    def start(self, files: int) -> None:
        pass

    def advance(self, embedded: int) -> None:
        pass


def ingested(folder: Path, secrets: Secrets) -> Report:
    settings = Settings(
        corpus_dir=(str(folder / "corpus"),),
        store_dir=folder / "store",
        embedder="none",
        secrets=secrets,
    )
    return run_ingest(settings, Options(), Silent())


@pytest.fixture
def leaky(tmp_path: Path) -> Path:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "token.md").write_text(joined("# T\n\nuse gh", "p_", MIXED[:36], "\n"))
    key = joined("-----BEGIN ", "PRIVATE KEY-----\n", MIXED[:64], "\n")
    (corpus / "key.md").write_text(f"# K\n\n{key}")
    (corpus / "plain.md").write_text("# P\n\nnothing to hide\n")
    return tmp_path


KEY = SkippedFile("corpus", "key.md", SkipKind.SECRET, "holds a private key", "line 3")


def test_a_document_with_a_credential_is_indexed_with_a_warning_that_stays(leaky: Path) -> None:
    warning = Remark("corpus", "token.md", "line 3 looks like a secret: GitHub token")
    for _ in range(2):
        report = ingested(leaky, "warn")
        assert (report.files, report.warnings, report.skipped) == (2, [warning], [KEY])
    assert (report.unchanged, report.exit_code) == (2, 0)


def test_with_skip_a_document_with_a_credential_leaves_the_index(leaky: Path) -> None:
    ingested(leaky, "warn")
    report = ingested(leaky, "skip")
    detail = "line 3, GitHub token"
    token = SkippedFile("corpus", "token.md", SkipKind.SECRET, "holds a credential", detail)
    assert report.files == 1
    assert report.skipped == [KEY, token]
    assert report.warnings == []


def test_of_a_file_full_of_credentials_only_some_are_named() -> None:
    token = joined("gh", "p_", MIXED[:36])
    with closing(DocumentLoader(1_000, "warn")) as intake:
        version = FileVersion("r", "a.md", "a.md", "", 0, 0)
        document = intake.read(version, f"{token}\n".encode() * 30)
    assert isinstance(document, Document)
    assert document.warnings[19:] == (
        "line 20 looks like a secret: GitHub token",
        "10 more lines look like secrets",
    )
