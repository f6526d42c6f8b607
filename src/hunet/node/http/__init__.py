"""The HTTP API of a node, which the commands, programs and the web page use.

``api``: what is done for which request. ``records``: what requests and answers contain. ``routes``: the table of
requests, and its OpenAPI document. ``events``: the stream of server-sent events. ``server``: the UNIX socket and the
TCP port where all that is served. ``guard``: who is answered at the TCP port. ``client``: the other end of the UNIX
socket.
"""
