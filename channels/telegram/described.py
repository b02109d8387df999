"""What people send that is neither text nor a file, in a line the agent can read."""

from telegram import Contact, Location, Message, Poll, Sticker, Venue


def described(message: Message) -> str:
    """The line, or nothing for a message that says what it says in its text and files."""
    if message.venue is not None:  # it has a location as well
        return _venue(message.venue)
    if message.location is not None:
        return _location(message.location)
    if message.contact is not None:
        return _contact(message.contact)
    if message.sticker is not None:
        return _sticker(message.sticker)
    if message.poll is not None:
        return _poll(message.poll)
    return f"[Dice {message.dice.emoji}: {message.dice.value}]" if message.dice is not None else ""


def _location(location: Location) -> str:
    return f"[Location: latitude {location.latitude}, longitude {location.longitude}]"


def _venue(venue: Venue) -> str:
    where = venue.location
    return f"[Place: {venue.title}, {venue.address} (latitude {where.latitude}, longitude {where.longitude})]"


def _contact(contact: Contact) -> str:
    name = " ".join(filter(None, (contact.first_name, contact.last_name)))
    return f"[Contact: {name}, {contact.phone_number}]"


def _sticker(sticker: Sticker) -> str:
    return f"[Sticker: {' '.join(filter(None, (sticker.emoji, sticker.set_name))) or 'without a name'}]"


def _poll(poll: Poll) -> str:
    return f"[Poll: {poll.question} {' / '.join(option.text for option in poll.options)}]"
