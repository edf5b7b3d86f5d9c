"""What is not shown: contents that look secret, by their path or by what stands in them.

A preview is pasted into tickets and kept in the logs of pipelines. So the rules err on the side of silence,
and a secret anywhere in a file hides the whole file: no line of a diff, no size and no digest of it is shown.
"""

from __future__ import annotations

import re
from typing import Final

MASK: Final = "***"

_PATH: Final = re.compile(
    r"""
      /var/lib/kubelet/config\.json$
    | /\.docker/config\.json$
    | /(?:g?shadow|opasswd|\.dockercfg|\.netrc|\.pgpass|\.?htpasswd|auth\.json|(?:chap|pap)-secrets)-?$
    | /(?:id|ssh_host)_[a-z0-9_]+(?<!\.pub)$
    | \.(?:key|p12|pfx|jks|keystore|keytab|kdbx|psk|nmconnection|ovpn|ppk)$
    | (?:^|[-_./])key\.(?:pem|json|ya?ml|txt)$
    | /(?:secrets?|private|credentials?|wireguard)/
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NAME: Final = re.compile(
    r"secret|passw(?:or)?d|passphrase|token|kubeconfig|private[-_.]?key|credentials?(?!-provider)",
    re.IGNORECASE,
)

_KEYS: Final = rb"""(?:password|passwd|passphrase|pwd|secret|token|psk|credentials?
    |(?:api|access|private|client|account|encryption|shared)[_-]?key(?:-?data)?)s?"""

_CONTENTS: Final = re.compile(
    rb"""
      -----BEGIN\ [A-Z0-9\ ]*PRIVATE\ KEY
    | LS0tLS1CRUdJT                                     # a PEM block in base64
    | AGE-SECRET-KEY-1
    | "auths"\s*:
    | ["']auth["']\s*:\s*["']
    | \beyJ[\w-]{6,}\.eyJ[\w-]{6,}\.                     # JSON web tokens
    | \$(?:1|2[abxy]?|5|6|7|y|gy|argon2[id]{1,2}|scrypt)\$[./\w$=,+-]{8,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \b(?:gh[pousr]_|github_pat_|glpat-|xox[abeprs]-|sha256~|sk-)[\w-]{16,}
    | \b[a-z0-9]{6}\.[a-z0-9]{16}\b                      # bootstrap tokens
    | ://[^/\s:@]*:[^/\s@]+@
    | (?i:\b(?:bearer|basic)\s+[\w+/=.~-]{8,})
    | (?i:"""
    + _KEYS
    + rb"""["']?\s*[:=]\s*["']?[^\s"'{\[])
    """,
    re.VERBOSE,
)


def in_path(path: str) -> bool:
    """Whether what stands in a file of this path is a secret, whatever it looks like."""
    return bool(_PATH.search(path) or _NAME.search(path.rpartition("/")[2]))


def in_contents(data: bytes) -> bool:
    return _CONTENTS.search(data) is not None


_GARBAGE: Final = re.compile(r'(?<=found garbage after section name : ")(?:[^"\\]|\\.)*')


def masked_reason(text: str) -> str:
    """A verdict as it may be shown: only one quotes contents, what follows a unit's section."""
    return _GARBAGE.sub(lambda found: masked(found[0]), text)


def masked(word: str) -> str:
    """A kernel argument or a URL as it may be shown: of a secret one what stands before its `=`."""
    if not in_contents(word.encode(errors="surrogatepass")):
        return word
    name, equals, _ = word.partition("=")
    return f"{name}={MASK}" if equals and not in_contents(name.encode(errors="surrogatepass")) else MASK
