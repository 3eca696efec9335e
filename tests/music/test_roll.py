import xml.etree.ElementTree as ET

from seqloom.music import DRUMS, Note, Piece
from seqloom.music.roll import piano_roll

SVG = "{http://www.w3.org/2000/svg}"


def test_a_rectangle_a_note_and_what_was_given_is_paler() -> None:
    piece = Piece((Note(0, 1, 60), Note(2, 3, 72, part=1), Note(2, 3, 36, program=DRUMS)))
    root = ET.fromstring(piano_roll(piece, given=0.75, title="a < b"))
    notes = [rect for rect in root.iter(f"{SVG}rect") if rect.find(f"{SVG}title") is not None]
    titles = [rect.findtext(f"{SVG}title") for rect in notes]
    assert titles == ["C4, 0.00 s", "C5, 1.00 s", "drum 36, 1.00 s"]
    assert [rect.get("opacity") for rect in notes] == ["0.35", None, None]
    assert len({rect.get("fill") for rect in notes}) == 3
    tops = [float(rect.get("y", 0)) for rect in notes]
    assert tops[1] < tops[0] < tops[2]
    assert "a < b" in [text.text for text in root.iter(f"{SVG}text")]


def test_an_empty_piece_is_a_picture_too() -> None:
    ET.fromstring(piano_roll(Piece(())))
