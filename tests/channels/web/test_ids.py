import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.contract import ConversationKey
from channels.web.ids import is_id, make_key, new_id, parse_key

ids = st.text(alphabet="0123456789abcdef", min_size=32, max_size=32)


@given(ids, ids)
def test_a_key_is_read_back_as_it_was_made_also_through_its_text(person: str, conversation: str) -> None:
    key = make_key(person, conversation)
    assert parse_key(ConversationKey.parse(str(key))) == (person, conversation)


def test_new_ids_have_the_form_of_ids_and_differ() -> None:
    assert is_id(new_id())
    assert new_id() != new_id()


@pytest.mark.parametrize("text", ["", "abc", "G" * 32, "a" * 33, "A" * 32, "a" * 32 + "\n", "../" + "a" * 29])
def test_other_texts_are_no_ids(text: str) -> None:
    assert not is_id(text)


@pytest.mark.parametrize(
    "key",
    [
        ConversationKey("telegram", "a" * 32, "b" * 32),
        ConversationKey("web", "a" * 32, "b" * 32, topic="1"),
        ConversationKey("web", "somebody", "b" * 32),
    ],
)
def test_a_key_of_another_channel_or_form_is_refused(key: ConversationKey) -> None:
    with pytest.raises(ValueError, match="not a conversation of the page"):
        parse_key(key)
