"""Where a text may be cut: extended grapheme cluster boundaries (UAX #29, Unicode 17.0) in plain Python.

A code point's class follows from its general category, which :mod:`unicodedata` knows; the table below names only the
code points of which that is not so, among them those that are newer than the Unicode version of Python 3.11. A lone
surrogate is treated as U+FFFD is.
"""

from __future__ import annotations

import functools
import unicodedata

__all__ = ["ceil", "floor", "is_boundary"]

# The classes of Grapheme_Cluster_Break, and those that rules GB9c and GB11 add to them.
_OTHER = "Other"
_CR = "CR"
_LF = "LF"
_CONTROL = "Control"
_EXTEND = "Extend"
_ZWNJ = "ZWNJ"  # an Extend that a conjunct does not reach across
_LINKER = "Linker"  # an Extend that binds two consonants to a conjunct
_CONSONANT = "Consonant"
_ZWJ = "ZWJ"
_REGIONAL_INDICATOR = "Regional_Indicator"
_PREPEND = "Prepend"
_SPACING_MARK = "SpacingMark"
_PICTOGRAPHIC = "Extended_Pictographic"
_L, _V, _T, _LV, _LVT = "L", "V", "T", "LV", "LVT"

_BY_CATEGORY = {
    "Mn": _EXTEND,
    "Me": _EXTEND,
    "Mc": _SPACING_MARK,
    "Cc": _CONTROL,
    "Cf": _CONTROL,
    "Zl": _CONTROL,
    "Zp": _CONTROL,
}

_EXTENDING = (_EXTEND, _ZWNJ, _LINKER)
_BREAKING = (_CR, _LF, _CONTROL)

# Code points (hexadecimal, ranges with both ends) whose class does not follow from their category.
_TABLE = {
    _CR: "D",
    _LF: "A",
    _ZWNJ: "200C",
    _ZWJ: "200D",
    _REGIONAL_INDICATOR: "1F1E6-1F1FF",
    _L: "1100-115F A960-A97C",
    _V: "1160-11A7 D7B0-D7C6 16D63 16D67-16D6A",
    _T: "11A8-11FF D7CB-D7FB",
    # Marks that advance, and so begin no cluster of their own but are seen as letters.
    _OTHER: """
        102B-102C 1038 1062-1064 1067-106D 1083 1087-108C 108F 109A-109C 1A61 1A63-1A64 AA7B AA7D 11720-11721
    """,
    _PREPEND: """
        600-605 6DD 70F 890-891 8E2 D4E 110BD 110CD 111C2-111C3 113D1 1193F 11941 11A84-11A89 11D46 11F02
    """,
    _CONTROL: """
        2065 FFF0-FFF8 13439-1343F E0000 E0002-E001F E0080-E00FF E01F0-E0FFF
    """,
    _EXTEND: """
        897 9BE 9D7 B3E B57 BBE BD7 CC0 CC2 CC7-CC8 CCA-CCB CD5-CD6 D3E D57 DCF DDF ECE 1715 1734 1ACF-1ADD 1AE0-1AEB 1B35 1B3B 1B3D
        1B43 1BAA 1BF2-1BF3 302E-302F A953 FF9E-FF9F 10D69-10D6D 10EFA-10EFF 111C0 11235 11241 1133E 1134D 11357 113B8 113BB-113C0 113C2
        113C5 113C7-113C9 113CE-113CF 113D2 113E1-113E2 114B0 114BD 115AF 116B6 11930 1193D 11B60 11B62-11B64 11B66 11F00-11F01
        11F36-11F3A 11F40-11F41 11F5A 13440 13447-13455 1611E-16129 1612D-1612F 16FF0-16FF1 1D165-1D166 1D16D-1D172 1E08F 1E4EC-1E4EF
        1E5EE-1E5EF 1E6E3 1E6E6 1E6EE-1E6EF 1E6F5 1F3FB-1F3FF E0020-E007F
    """,
    _SPACING_MARK: """
        CF3 E33 EB3 113B9-113BA 113CA 113CC-113CD 1171E 11B61 11B65 11B67 11F03 11F34-11F35 11F3E-11F3F 1612A-1612C
    """,
    _LINKER: """
        94D 9CD ACD B4D C4D D4D 1039 17D2 1A60 1B44 1BAB A9C0 AAF6 10A3F 11133 113D0 1193E 11A47 11A99 11F42
    """,
    _CONSONANT: """
        915-939 958-95F 978-97F 995-9A8 9AA-9B0 9B2 9B6-9B9 9DC-9DD 9DF 9F0-9F1 A95-AA8 AAA-AB0 AB2-AB3 AB5-AB9 AF9 B15-B28 B2A-B30
        B32-B33 B35-B39 B5C-B5D B5F B71 C15-C28 C2A-C39 C58-C5A D15-D3A 1000-102A 103F 1050-1055 105A-105D 1061 1065-1066 106E-1070
        1075-1081 108E 1780-17B3 1A20-1A54 1B0B-1B0C 1B13-1B33 1B45-1B4C 1B83-1BA0 1BAE-1BAF 1BBB-1BBD A989-A98B A98F-A9B2 A9E0-A9E4
        A9E7-A9EF A9FA-A9FE AA60-AA6F AA71-AA73 AA7A AA7E-AA7F AAE0-AAEA ABC0-ABDA 10A00 10A10-10A13 10A15-10A17 10A19-10A35 11103-11126
        11144 11147 11380-11389 1138B 1138E 11390-113B5 11900-11906 11909 1190C-11913 11915-11916 11918-1192F 11A00 11A0B-11A32 11A50
        11A5C-11A83 11F04-11F10 11F12-11F33
    """,
    _PICTOGRAPHIC: """
        A9 AE 203C 2049 2122 2139 2194-2199 21A9-21AA 231A-231B 2328 23CF 23E9-23F3 23F8-23FA 24C2 25AA-25AB 25B6 25C0 25FB-25FE
        2600-2604 260E 2611 2614-2615 2618 261D 2620 2622-2623 2626 262A 262E-262F 2638-263A 2640 2642 2648-2653 265F-2660 2663
        2665-2666 2668 267B 267E-267F 2692-2697 2699 269B-269C 26A0-26A1 26A7 26AA-26AB 26B0-26B1 26BD-26BE 26C4-26C5 26C8 26CE-26CF
        26D1 26D3-26D4 26E9-26EA 26F0-26F5 26F7-26FA 26FD 2702 2705 2708-270D 270F 2712 2714 2716 271D 2721 2728 2733-2734 2744 2747
        274C 274E 2753-2755 2757 2763-2764 2795-2797 27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D 3297 3299 1F004
        1F02C-1F02F 1F094-1F09F 1F0AF-1F0B0 1F0C0 1F0CF-1F0D0 1F0F6-1F0FF 1F170-1F171 1F17E-1F17F 1F18E 1F191-1F19A 1F1AE-1F1E5
        1F201-1F20F 1F21A 1F22F 1F232-1F23A 1F23C-1F23F 1F249-1F25F 1F266-1F321 1F324-1F393 1F396-1F397 1F399-1F39B 1F39E-1F3F0
        1F3F3-1F3F5 1F3F7-1F3FA 1F400-1F4FD 1F4FF-1F53D 1F549-1F54E 1F550-1F567 1F56F-1F570 1F573-1F57A 1F587 1F58A-1F58D 1F590
        1F595-1F596 1F5A4-1F5A5 1F5A8 1F5B1-1F5B2 1F5BC 1F5C2-1F5C4 1F5D1-1F5D3 1F5DC-1F5DE 1F5E1 1F5E3 1F5E8 1F5EF 1F5F3 1F5FA-1F64F
        1F680-1F6C5 1F6CB-1F6D2 1F6D5-1F6E5 1F6E9 1F6EB-1F6F0 1F6F3-1F6FF 1F7DA-1F7FF 1F80C-1F80F 1F848-1F84F 1F85A-1F85F 1F888-1F88F
        1F8AE-1F8AF 1F8BC-1F8BF 1F8C2-1F8CF 1F8D9-1F8FF 1F90C-1F93A 1F93C-1F945 1F947-1F9FF 1FA58-1FA5F 1FA6E-1FAFF 1FC00-1FFFD
    """,
}


@functools.cache
def _exceptions() -> dict[int, str]:
    """The table, by code point."""
    found = {}
    for kind, ranges in _TABLE.items():
        for entry in ranges.split():
            first, _, last = entry.partition("-")
            for code in range(int(first, 16), int(last or first, 16) + 1):
                found[code] = kind
    return found


@functools.lru_cache(maxsize=4096)
def _kind(char: str) -> str:
    """The class of a code point."""
    code = ord(char)
    if 0xAC00 <= code <= 0xD7A3:  # a Hangul syllable; every 28th has no final consonant
        return _LVT if (code - 0xAC00) % 28 else _LV
    return _exceptions().get(code) or _BY_CATEGORY.get(unicodedata.category(char), _OTHER)


def is_boundary(text: str, at: int) -> bool:
    """Whether a cluster ends in front of code point ``at``: the rules GB1 to GB999 in their order."""
    if at <= 0 or at >= len(text):
        return True
    before, after = _kind(text[at - 1]), _kind(text[at])
    if before == _CR and after == _LF:  # GB3
        return False
    if before in _BREAKING or after in _BREAKING:  # GB4, GB5
        return True
    if before == _L and after in (_L, _V, _LV, _LVT):  # GB6
        return False
    if before in (_LV, _V) and after in (_V, _T):  # GB7
        return False
    if before in (_LVT, _T) and after == _T:  # GB8
        return False
    if after in _EXTENDING or after in (_ZWJ, _SPACING_MARK) or before == _PREPEND:  # GB9, GB9a, GB9b
        return False
    if after == _CONSONANT:  # GB9c
        return not _ends_in_linked_consonant(text, at)
    if before == _ZWJ and after == _PICTOGRAPHIC:  # GB11
        return not _ends_in_pictograph(text, at - 1)
    if before == after == _REGIONAL_INDICATOR:  # GB12, GB13: they go in pairs
        return _indicators_before(text, at) % 2 == 0
    return True  # GB999


def _ends_in_linked_consonant(text: str, end: int) -> bool:
    """Whether ``text[:end]`` ends in a consonant and marks behind it, at least one of them a linker."""
    linked = False
    for at in range(end - 1, -1, -1):
        kind = _kind(text[at])
        if kind == _LINKER:
            linked = True
        elif kind not in (_EXTEND, _ZWJ):
            return linked and kind == _CONSONANT
    return False


def _ends_in_pictograph(text: str, end: int) -> bool:
    """Whether ``text[:end]`` ends in a pictograph and any marks behind it."""
    for at in range(end - 1, -1, -1):
        kind = _kind(text[at])
        if kind not in _EXTENDING:
            return kind == _PICTOGRAPHIC
    return False


def _indicators_before(text: str, end: int) -> int:
    """How many regional indicators ``text[:end]`` ends in."""
    start = end
    while start > 0 and _kind(text[start - 1]) == _REGIONAL_INDICATOR:
        start -= 1
    return end - start


def floor(text: str, at: int) -> int:
    """The last boundary at or in front of ``at``."""
    while not is_boundary(text, at):
        at -= 1
    return at


def ceil(text: str, at: int) -> int:
    """The first boundary at or behind ``at``."""
    while not is_boundary(text, at):
        at += 1
    return at
