"""Connection strings from keyword arguments."""

from __future__ import annotations

from urllib.parse import quote

from ._exceptions import ConfigError

#: Keyword argument to the keyword of connection strings.
KEYWORDS = {
    "server": "Server",
    "port": "Port",
    "instance": "Instance",
    "database": "Database",
    "user": "User ID",
    "password": "Password",
    "password_file": "Password File",
    "password_command": "Password Command",
    "password_keyring": "Password Keyring",
    "access_token": "Access Token",
    "authentication": "Authentication",
    "tenant_id": "Tenant ID",
    "client_id": "Client ID",
    "client_certificate": "Client Certificate",
    "federated_token_file": "Federated Token File",
    "authority": "Authority",
    "resource": "Resource",
    "trusted_connection": "Integrated Security",
    "server_spn": "ServerSPN",
    "encrypt": "Encrypt",
    "trust_server_certificate": "TrustServerCertificate",
    "server_certificate": "ServerCertificate",
    "host_name_in_certificate": "HostNameInCertificate",
    "application_name": "Application Name",
    "application_intent": "ApplicationIntent",
    "workstation_id": "Workstation ID",
    "language": "Language",
    "multi_subnet_failover": "MultiSubnetFailover",
    "packet_size_bytes": "Packet Size",
    "connect_timeout_seconds": "Connect Timeout",
    "command_timeout_seconds": "Command Timeout",
}


def connection_string(text: str | None, keywords: dict[str, object]) -> str:
    """Add keyword arguments to a URL or keyword string, or make a keyword string of them alone."""
    settings = []
    for name, value in keywords.items():
        if name not in KEYWORDS:
            raise ConfigError(f"unknown keyword argument {name!r}; there are {', '.join(KEYWORDS)}")
        if value is not None:
            settings.append((KEYWORDS[name], _text(value)))
    if text is None:
        return ";".join(f"{keyword}={_quoted(value)}" for keyword, value in settings)
    if not settings:
        return text
    if "://" in text:
        separator = "&" if "?" in text else "?"
        return text + separator + "&".join(f"{quote(keyword)}={quote(value, safe='')}" for keyword, value in settings)
    return text.rstrip("; ") + "".join(f";{keyword}={_quoted(value)}" for keyword, value in settings)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _quoted(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'
