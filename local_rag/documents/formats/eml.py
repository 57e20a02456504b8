"""E-mail to text: the headers that people read, the message, and the names of attachments."""

from __future__ import annotations

import email.policy
from email.message import EmailMessage
from email.utils import parsedate_to_datetime

from local_rag.documents.formats.extract import Extract, Unconvertible, tidy
from local_rag.documents.formats.html import parse_html
from local_rag.text.encoding import decode

SHOWN_HEADERS = ("From", "To", "Cc", "Date", "Subject")


def extract(data: bytes) -> Extract:
    """The text of one message."""
    message = email.message_from_bytes(data, policy=email.policy.default)
    if not message.keys():
        raise Unconvertible("not an e-mail")
    headers = {name: _header(message, name) for name in SHOWN_HEADERS}
    lines = [f"{name}: {value}" for name, value in headers.items() if value]
    names = [part.get_filename() or "unnamed" for part in message.iter_attachments()]
    lines += [f"Attachment: {' '.join(name.split())}" for name in names]
    text = tidy("\n".join(lines) + "\n\n" + _body(message)) + "\n"
    found = {"author": headers["From"], "date": _date(headers["Date"])}
    return Extract(text, headers["Subject"], (), {k: v for k, v in found.items() if v})


def _header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message.get(name, "")).split())
    except (ValueError, IndexError, TypeError, AttributeError):  # the parser's own on broken ones
        return ""


def _date(value: str) -> str:
    try:
        return parsedate_to_datetime(value).isoformat()
    except (ValueError, TypeError, IndexError):
        return ""


def _body(message: EmailMessage) -> str:
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):
        return ""
    text = _decoded(payload, part.get_content_charset())
    return parse_html(text).text if part.get_content_type() == "text/html" else text


def _decoded(payload: bytes, charset: str | None) -> str:
    try:
        return payload.decode(charset or "utf-8")
    except (LookupError, ValueError):
        return decode(payload)[0]
