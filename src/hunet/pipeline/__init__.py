"""The data pipeline on Apache Spark: raw logs to contacts, contacts to the social graph, studies to results.

Each stage is a function from DataFrame to DataFrame, in a module of its own, and a command:

==========================  ==================================================================================
``importing``, ``formats``  stage 1: raw logs in (``hunet trace import``)
``contacts``                stage 2: sightings to contacts; every record has a fate
``pairs``                   stage 3: what can be said of each two people (``hunet trace pairs``)
``social_graph``            stage 4: the weighted contact graph and its measures (``hunet trace graph``)
``studies``                 stage 5: many runs, one Spark task each (``hunet study``)
==========================  ==================================================================================

Spark itself is imported only by the functions that use it.
"""
