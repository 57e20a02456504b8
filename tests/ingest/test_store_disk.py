from __future__ import annotations

from pathlib import Path

import pytest

from local_rag.ingest.store_disk import file_system, store_warnings


@pytest.mark.parametrize(
    ("folder", "synced"),
    [
        ("/home/a/Dropbox/store", "Dropbox"),
        ("/home/a/Dropbox (Work)/store", "Dropbox (Work)"),
        ("/c/Users/a/OneDrive - Firm/store", "OneDrive - Firm"),
        ("/Users/a/Library/Mobile Documents/com~apple~CloudDocs/store", "Mobile Documents"),
        ("/Users/a/Library/CloudStorage/GoogleDrive-a@example.com/store", "CloudStorage"),
        ("/home/a/Google Drive/store", "Google Drive"),
        ("/home/a/iCloudDrive/store", "iCloudDrive"),
    ],
)
def test_a_store_in_a_synced_folder_is_warned_about(folder: str, synced: str) -> None:
    assert store_warnings(Path(folder)) == [
        f"The store lies in '{synced}', which seems to be synced. It may be damaged there: set "
        "RAG_STORE_DIR elsewhere."
    ]


@pytest.mark.parametrize("folder", ["/home/a/.local-rag-mcp/store", "/home/a/dropboxes/store"])
def test_an_ordinary_folder_is_not(folder: str) -> None:
    assert store_warnings(Path(folder)) == []


def test_a_store_on_a_network_is_warned_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"/dev/a / ext4 rw 0 0\nhost:/x {tmp_path}/my\\040home nfs4 rw 0 0\n")
    monkeypatch.setattr("local_rag.ingest.store_disk.MOUNTS", mounts)
    (warning,) = store_warnings(tmp_path / "my home" / "store")
    assert "network file system (nfs4)" in warning
    assert file_system(tmp_path / "store") == "ext4"
