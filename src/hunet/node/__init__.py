"""The live node: the protocols of the simulator on real devices, which find, authenticate and feed each other.

From the wire upwards: ``discovery`` sights devices, ``session`` encrypts and authenticates one connection,
``neighbourhood`` keeps one session with everybody in reach and turns them into links, ``publication`` is what
travels end to end, and ``identity`` and ``trust`` say who is who. ``driver`` shows all this to a protocol, as the
simulator's engine does with made-up links; ``store`` is its memory, and ``node`` is the whole device (``hunet.Node``).
"""
