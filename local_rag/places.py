"""Whether the store lies where it is not safe: in a folder that is synced, or on a network.

A program that syncs copies files one by one while they change, and locks don't reach across
machines: either can leave another machine, or this one, with half of a snapshot.
"""

from __future__ import annotations

import re
from pathlib import Path

# iCloud Drive is "Mobile Documents" on a Mac, where the others are in "CloudStorage" nowadays.
SYNCED = re.compile(
    r"dropbox\b.*|onedrive\b.*|google ?drive\b.*|my drive|icloud ?drive|mobile documents"
    r"|cloudstorage|nextcloud|box sync|syncthing",
    re.IGNORECASE,
)
NETWORK = re.compile(r"nfs\d?|cifs|smb\d?|smbfs|fuse\.sshfs|fuse\.rclone|9p|afs|ceph|glusterfs")
MOUNTS = Path("/proc/self/mounts")


def warnings_about(store: Path) -> list[str]:
    """What to know about where the store lies; nothing for an ordinary local folder."""
    found = []
    if synced := next((part for part in store.parts if SYNCED.fullmatch(part)), None):
        found.append(f"The store lies in '{synced}', which seems to be synced.")
    if (kind := file_system(store)) and NETWORK.fullmatch(kind):
        found.append(f"The store lies on a network file system ({kind}).")
    return [f"{what} It may be damaged there: set RAG_STORE_DIR elsewhere." for what in found]


def file_system(path: Path) -> str:
    """The kind of file system on which `path` lies, where the system tells (Linux)."""
    try:
        lines = MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    kinds = {Path(line.split()[1].replace("\\040", " ")): line.split()[2] for line in lines}
    return next((kinds[folder] for folder in (path, *path.parents) if folder in kinds), "")
