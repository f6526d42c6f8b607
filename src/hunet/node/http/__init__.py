"""The HTTP API of a node, which commands, programs and the web page of the node use.

``api``: what is served, request by request. ``records``: what requests and answers contain, and the OpenAPI document.
``events``: the stream of server-sent events. ``guard``: who is answered.
"""
