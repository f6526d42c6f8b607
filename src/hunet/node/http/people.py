"""The part of the HTTP API that is about people and groups: conversations, safety numbers, invitations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hunet.node.http import records
from hunet.node.http.guard import Refusal
from hunet.node.http.routes import Asked, Query, Route, decoded
from hunet.node.publication import Group
from hunet.node.qr import qr_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    from hunet.node.conversations import Letter
    from hunet.node.node import Node


class PeopleApi:
    """Requests about people and groups, and how they are answered."""

    def __init__(self, node: Node, devices: Callable[[list[str]], list[records.Device]]) -> None:
        self._node, self._devices = node, devices

    def routes(self) -> list[Route]:
        """The table of these requests."""
        few = Query("limit", "At most so many.", 200, 1, 1000)
        talk = "/conversations/{device}"
        member = "/groups/{group}/members/{device}"
        return [
            Route("GET", "/conversations", "With whom one writes.", self._conversations, records.Conversations),
            Route("GET", talk, "Messages in order.", self._conversation, records.DirectMessages, queries=(few,)),
            Route(
                "POST",
                talk,
                "Write to somebody; the answer comes when it is on the disk.",
                self._send,
                records.DirectMessage,
                records.NewDirectMessage,
                status=201,
            ),
            Route("DELETE", talk, "Delete a conversation.", self._forget, records.Conversations),
            Route("POST", f"{talk}/read", "It has been read.", self._read, records.Conversations),
            Route("GET", "/contact", "This device's key, for others.", self._contact, records.Contact),
            Route("GET", "/safety/{device}", "What to compare.", self._safety, records.Safety),
            Route("PUT", "/verified/{device}", "It was compared, and is the same.", self._verify, records.Safety),
            Route("DELETE", "/verified/{device}", "Take that back.", self._doubt, records.Safety),
            Route("GET", "/groups", "The groups of this device.", self._groups, records.Groups),
            Route("POST", "/groups", "Make or join a group.", self._join, records.Groups, records.NewGroup, status=201),
            Route("GET", "/groups/{group}/invitation", "For new members.", self._invitation, records.Invitation),
            Route("DELETE", member, "Take a new key, without somebody.", self._remove, records.Rekeyed),
            Route("DELETE", "/groups/{group}", "Leave a group.", self._leave, records.Groups),
        ]

    async def _conversations(self, _: Asked) -> Any:
        found = self._node.conversations()
        people = self._devices([letter.device for letter, _ in found])
        known = self._node.book.entries()
        return records.Conversations(
            conversations=[
                records.Conversation(
                    with_=person,
                    verified=person.device in known and known[person.device].verified,
                    unread=unread,
                    last=self._plain(letter),
                )
                for (letter, unread), person in zip(found, people, strict=True)
            ]
        )

    async def _conversation(self, asked: Asked) -> Any:
        found = self._node.conversation(asked.word("device"), asked.whole("limit"))
        return records.DirectMessages(messages=[self._plain(letter) for letter in found])

    async def _send(self, asked: Asked) -> Any:
        wanted: records.NewDirectMessage = asked.body
        if (wanted.text is None) == (wanted.base64 is None):
            raise Refusal(400, "give text or base64")
        content: str | bytes = (wanted.text or "") if wanted.base64 is None else decoded(wanted.base64)
        kind = wanted.content_type
        return self._plain(await self._node.send(asked.word("device"), content, ttl=wanted.ttl, content_type=kind))

    async def _forget(self, asked: Asked) -> Any:
        self._node.forget(asked.word("device"))
        return await self._conversations(asked)

    async def _read(self, asked: Asked) -> Any:
        self._node.read(asked.word("device"))
        return await self._conversations(asked)

    async def _contact(self, _: Asked) -> Any:
        uri = f"hunet:{self._node.device}"
        return records.Contact(uri=uri, qr=qr_rows(uri))

    async def _safety(self, asked: Asked) -> Any:
        device, number = self._node.safety_number(asked.word("device"))
        known = self._node.book.entries().get(device)
        return records.Safety(
            device=self._devices([device])[0],
            number=number,
            qr=qr_rows(number),
            verified=known is not None and known.verified,
        )

    async def _verify(self, asked: Asked) -> Any:
        self._node.verify(asked.word("device"))
        return await self._safety(asked)

    async def _doubt(self, asked: Asked) -> Any:
        self._node.verify(asked.word("device"), same=False)
        return await self._safety(asked)

    async def _groups(self, _: Asked) -> Any:
        found = self._node.groups().items()
        return records.Groups(groups=[records.Group(name=name, members=self._devices(each)) for name, each in found])

    async def _join(self, asked: Asked) -> Any:
        wanted: records.NewGroup = asked.body
        if wanted.invitation is not None:
            group = Group.from_invitation(wanted.invitation)
            group = Group(wanted.name, group.key) if wanted.name else group
        elif wanted.name:
            group = Group.new(wanted.name)
            if wanted.name in self._node.groups():
                raise Refusal(409, f"there is a group '{wanted.name}' already; leave it first, or take another name")
        else:
            raise Refusal(400, "give a name, or an invitation")
        self._node.join(group)
        return await self._groups(asked)

    async def _invitation(self, asked: Asked) -> Any:
        invitation = self._node.group(asked.word("group")).invitation
        return records.Invitation(invitation=invitation, qr=qr_rows(invitation))

    async def _remove(self, asked: Asked) -> Any:
        return records.Rekeyed(members=self._node.remove_member(asked.word("group"), asked.word("device")))

    async def _leave(self, asked: Asked) -> Any:
        self._node.leave(asked.word("group"))
        return await self._groups(asked)

    def _plain(self, letter: Letter) -> records.DirectMessage:
        text, base64 = records.text_or_base64(letter.content, letter.content_type)
        return records.DirectMessage(
            number=letter.number,
            device=letter.device,
            name=self._node.book.call(letter.device),
            own=letter.own,
            sent=letter.sent,
            at=letter.at,
            state=letter.state,
            carriers=letter.carriers,
            read=letter.read,
            content_type=letter.content_type,
            text=text,
            base64=base64,
        )
