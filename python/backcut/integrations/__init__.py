"""Windows where requests pass by: in servers and gateways. Nothing here is imported by ``backcut`` itself, and nothing needs a package.

``backcut.integrations.asgi`` is middleware for ASGI applications.
"""
