"""What to do about a finding: the second half of the sentence that the original leaves to its reader."""

from __future__ import annotations

from typing import Final

_HINTS: Final = (
    ("invalid version. Supported", "set ignition.version to one of the supported versions, as 3.5.0"),
    ("unknown version. Supported", "set ignition.version to one of the supported versions, as 3.5.0"),
    ("duplicate entry defined", "keep one of the entries with this name"),
    ("path not absolute", "start the path with a slash"),
    ("path not specified", "set the path"),
    ("path is not fully simplified", "write the path without .., . and doubled slashes"),
    ("contains ..", "write the final name"),
    ("contains a slash", "use the plain name; its folder is fixed"),
    ("which is a file", "rename one of the two"),
    ("includes link in config", "write the path without the link"),
    ("belongs to", "manage it with a unit, a udev rule or tmpfiles.d instead"),
    ("contains a line break", "write one entry per line of the list"),
    ("contains a carriage return", "save the text with Unix line ends"),
    ("contains a NUL", "remove the character"),
    ("contains a colon", "remove the colon: it separates the fields of the account file"),
    ("unused key", "check the spelling; the key has no effect"),
    ("illegal file mode", "modes are decimal in JSON and octal with a leading 0 in YAML: 420 or 0644"),
    ("invalid systemd unit extension", "end the name in .service, .socket, .timer or another unit type"),
    ("invalid systemd drop-in extension", "end the name in .conf"),
    ("no installation section", "add an [Install] section, or remove enabled"),
    ("overwrite must be false if source is unspecified", "set contents.source, or overwrite: false"),
    ("only data URLs are supported", "put the content into the object as a data: URL"),
    ("append is not supported", "write the whole file, or a drop-in file beside it"),
    ("invalid compression method", "use gzip, or none"),
    ("longer than", "ship large data in an image or fetch it with a unit"),
    ("decompress", "compress the content again with gzip"),
    ("unable to parse url", "check the URL; percent-encode what is not a letter or digit"),
    ("invalid url scheme", "use a data: URL"),
    ("kernel argument is empty", "remove the entry"),
)


def hint(message: str) -> str:
    """Advice for a message of the Ignition rules or of `lint`; empty where there is none."""
    return next((text for words, text in _HINTS if words in message), "")
