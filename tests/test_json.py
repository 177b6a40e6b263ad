"""``trim_json`` and ``plan_json`` by hand: what is written, byte for byte, where the messages are found, and how they are called."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest

import backcut
from backcut import BudgetError, FormatError, JsonError, OptionError, context_window, plan_json, trim_json
from bodies import facts, joined, strict
from support import engine_tokenizer, engine_window, outcome
from test_json_properties import every_engine

NOTICE = 'Cut: é 😀 "so" \\ /\n\x01\x7f.'
AS_IS = 'Cut: é 😀 \\"so\\" \\\\ /\\n\\u0001\x7f.'
IN_ASCII = 'Cut: \\u00e9 \\ud83d\\ude00 \\"so\\" \\\\ /\\n\\u0001\\u007f.'


def trimmed(engine: ModuleType, body: str, key: str | None = None, **options: Any) -> str:
    """The trimmed body, which is new and made of its pieces."""
    window = engine_window(engine, options)
    result = window.trim_json(body.encode(), key).body
    assert type(result) is bytes
    assert joined(body.encode(), window.plan_json(body.encode(), key).pieces) == result
    text = result.decode()
    strict(text)
    return text


# What is written. The numbers are those of the rules in docs/json.md.

USER, SAID = '{"role":"user","content":"one"}', '{"role":"assistant","content":"two"}'
CALL = '{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}'


@every_engine
def test_1_what_stands_around_stays(engine: ModuleType) -> None:
    body = ' {"n" : 1.50e+3,"messages"\n:[ ' + f"{USER} , {SAID},\t{USER}\r,{SAID}" + ' \n] ,"m":"\\u0041\\/"}\n'
    expected = ' {"n" : 1.50e+3,"messages"\n:[ ' + f"{USER}\r,{SAID}" + ' \n] ,"m":"\\u0041\\/"}\n'
    assert trimmed(engine, body, max_turns=2, notice=False) == expected


@every_engine
def test_2_the_joint_in_front_of_a_message_comes_along(engine: ModuleType) -> None:
    head, late = '{"role":"system","content":"S"}', '{"role":"user","content":"late"}'
    body = f"[{head} ,{USER}  ,{SAID}   ,{late}    ,{SAID}]"
    assert trimmed(engine, body, max_turns=2, notice=False) == f"[{head}   ,{late}    ,{SAID}]"
    # The task stays in front of a tail that does not begin with one, and behind the bracket.
    result = '{"role":"tool","tool_call_id":"a","content":"r"}'
    body = f"[{USER} ,{late}  ,{SAID}   ,{SAID}    ,{CALL}     ,{result}]"
    assert trimmed(engine, body, max_turns=3, notice=False) == f"[{late}    ,{CALL}     ,{result}]"


@every_engine
@pytest.mark.parametrize(
    ("first", "notice"),
    [
        ('{"role": "user","content":"one"}', '{"role": "system", "content": "N"}'),
        ('{"role":\n"user","content":"one"}', '{"role": "system", "content": "N"}'),
        ('{"role" :"user", "content": "one"}', '{"role":"system","content":"N"}'),
        ('{"a:b" :"a: b","role": "user", "content": "one"}', '{"role":"system","content":"N"}'),
        ('{"a: b": 1,"role":"user","content":"one"}', '{"role": "system", "content": "N"}'),
    ],
)
def test_3_and_4_a_notice_is_written_as_the_first_message_is(engine: ModuleType, first: str, notice: str) -> None:
    body = f"[{first} ,\n{SAID},{USER},{SAID}]"
    assert trimmed(engine, body, max_turns=2, notice="N") == f"[{notice} ,\n{USER},{SAID}]"


@every_engine
def test_4_a_notice_behind_the_head(engine: ModuleType) -> None:
    head = '{"role":"developer","content":"S"}'
    body = f"[{head} ,{USER}  ,{SAID}   ,{USER}    ,{SAID}]"
    notice = '{"role":"developer","content":"N"}'
    assert trimmed(engine, body, max_turns=2, notice="N") == f"[{head} ,{notice} ,{USER}    ,{SAID}]"


@every_engine
def test_4_a_notice_alone_and_beside_one_message(engine: ModuleType) -> None:
    """What only ThenaJS sends: nothing but a notice, and one for nothing that was cut."""
    result = '{"role":"tool","content":"r"}'
    notice = '{"role":"system","content":"N"}'
    thena = {"compat": "thena", "notice": "N"}
    assert trimmed(engine, f"[ {USER} , {result} ]", max_turns=1, **thena) == f"[ {notice} ]"
    assert trimmed(engine, f"[ {USER} ]", max_turns=0, **thena) == f"[ {notice},{USER} ]"


@every_engine
def test_5_new_text_is_ascii_where_the_body_is(engine: ModuleType) -> None:
    for more, text in ("a", IN_ASCII), ("ä", AS_IS):
        body = f'{{"x":"{more}","messages":[{USER},{SAID},{USER}]}}'
        expected = f'{{"x":"{more}","messages":[{{"role":"system","content":"{text}"}},{USER}]}}'
        assert trimmed(engine, body, max_turns=1, notice=NOTICE) == expected
        assert json.loads(expected)["messages"][0]["content"] == NOTICE


@every_engine
@pytest.mark.parametrize(
    ("keep", "most", "written"),
    [
        ("head", 16, "\\u0061\\n\\n… [truncated]"),
        ("head", 17, "\\u0061\\n\\ud83d\\ude00\\n… [truncated]"),
        ("tail", 19, "… [truncated]\\n😀\\ud83d\\/\\\\\\udc00"),
        ("head_tail", 20, "\\u0061\\n\\ud83d\\ude00\\n… [truncated]\\n\\\\\\udc00"),
        ("head", 3, "\\u0061\\n\\ud83d\\ude00"),
    ],
)
def test_6_a_text_is_cut_between_its_characters_as_they_are_written(engine: ModuleType, keep: str, most: int, written: str) -> None:
    text = "\\u0061\\n\\ud83d\\ude00" + "é" * 40 + "😀\\ud83d\\/\\\\\\udc00"
    result = '{{ "role":"tool", "tool_call_id":"a","content" :"{}" ,"x":"\\u0041"}}'
    body = f"[{USER},{CALL},{result.format(text)}]"
    assert trimmed(engine, body, max_chars_per_tool=most, tool_keep=keep) == f"[{USER},{CALL},{result.format(written)}]"


@every_engine
@pytest.mark.parametrize(("colon", "text"), [(":", "one"), (": ", "one"), (":", "öne")])
def test_7_a_value_is_cut_as_its_compact_json(engine: ModuleType, colon: str, text: str) -> None:
    """Which is new text; half a pair, which UTF-8 does not have, is an escape in any case."""
    user = f'{{"role"{colon}"user","parts":[{{"text":"{text}"}}]}}'
    call = '{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}'
    result = '{"role":"user","parts":[{"functionResponse":{"name":"f","response" : %s }}]}'
    response = '{ "rows" : [1.0, 2e2, "\\u00e9\\ud800"], "big": 1e400, "n": %s }' % ("7" * 99)
    short = '{"rows":[1.0,200.0,"é\ud800"],"big":Infinity,"n":7\n… [truncated]'
    said = json.dumps(short)
    if text != "one":
        said = said.replace("\\u00e9", "é").replace("\\u2026", "…")
    body, expected = (f'{{"contents":[{user},{call},{result % each}]}}' for each in (response, f'{{"output"{colon}{said}}}'))
    assert trimmed(engine, body, format="gemini", max_chars_per_tool=len(short)) == expected


@every_engine
def test_7_keys_mean_the_same_however_they_are_written(engine: ModuleType) -> None:
    call = '{"role":"model","parts":[{"functionCall":{"name":"f","args":{}}}]}'
    result = '{"role":"user","parts":[{"functionResponse":{"name":"f","re\\u0073ponse":%s}}]}'
    body = f'{{"contents":[{{"role":"user","parts":[{{"text":"one"}}]}},{call},{result}]}}'
    written = trimmed(engine, body % '{"a":1,"b":[2 ],"c":3}', format="gemini", max_chars_per_tool=15)
    assert written == body % '{"output":"{\\n\\u2026 [truncated]"}'


@every_engine
@pytest.mark.parametrize(
    ("arguments", "counted"),
    [
        ("[ 1 ]", "[1]"),
        ("[null]", "[null]"),
        ("[ ]", "[]"),
        ("{ }", "{}"),
        ('{"a":[ [ true ] ],"b" : { "c":[0.50] }}', '{"a":[[true]],"b":{"c":[0.5]}}'),
        ("-0.0", "-0.0"),
        ("[-0,1e2,1E400,1e-7]", "[0,100.0,Infinity,1e-07]"),
        ('{"\\u0061\\/":"\\u001F\\u000a\\"\\\\é\\ud83d\\ude00"}', '{"a/":"\\u001f\\n\\"\\\\é😀"}'),
    ],
)
def test_arguments_count_as_their_compact_json(engine: ModuleType, arguments: str, counted: str) -> None:
    call = f'{{"role":"assistant","tool_calls":[{{"id":"a","function":{{"name":"f","arguments":{arguments}}}}}]}}'
    assert json.dumps(json.loads(arguments), separators=(",", ":"), ensure_ascii=False) == counted
    assert engine_window(engine, {}).trim_json(f"[{call}]", None).report.chars_sent == len(counted)


@every_engine
def test_an_integer_counts_by_all_its_digits(engine: ModuleType) -> None:
    """However many they are: more than Python would read, too."""
    digits = "12" * 4_000
    call = '{"role":"model","parts":[{"functionCall":{"name":"f","args":{ "n": [-DIGITS, 1e2] }}}]}'.replace("DIGITS", digits)
    result = '{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"a": DIGITS, "b": "\\u00e9" }}}]}'.replace(
        "DIGITS", digits
    )
    body = f'{{"contents":[{{"role":"user","parts":[{{"text":"one"}}]}},{call},{result}]}}'
    said = f'{{"a":{digits},"b":"é"}}'
    report = engine_window(engine, {"format": "gemini"}).trim_json(body, None).report
    assert report.chars_sent == len("one") + len(f'{{"n":[-{digits},100.0]}}') + len(said)
    written = trimmed(engine, body, format="gemini", max_chars_per_tool=20, tool_keep="tail")
    assert written == body[: body.rindex('{"a"')] + '{"output":"\\u2026 [truncated]\\n\\":\\"\\u00e9\\"}"}}}]}]}'


@every_engine
def test_8_a_dropped_item_takes_the_joint_in_front_of_it_along(engine: ModuleType) -> None:
    def talk(*texts: str, end: str = " ") -> str:
        items = "".join(f'{joint}{{"type":"text", "text":"{text}"}}' for joint, text in zip(("", " ,", "  ,", "   ,"), texts, strict=False))
        call = '{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}'
        result = f'{{"type":"tool_result","tool_use_id":"a","content":[ {items}{end}]}}'
        return f'[{USER},{call},{{"role":"user","content":[{result}]}}]'

    options: dict[str, Any] = {"format": "anthropic", "max_chars_per_tool": 20}
    assert trimmed(engine, talk("x" * 30, "y", "z"), **options) == talk("x" * 6 + "\\n\\u2026 [truncated]")
    assert trimmed(engine, talk("x", "y" * 30, "z"), **options) == talk("x", "y" * 5 + "\\n\\u2026 [truncated]")
    options["tool_keep"] = "tail"
    gone = talk("@", "\\u2026 [truncated]\\n" + "y" * 5, "z").replace('{"type":"text", "text":"@"} ,', "")
    assert trimmed(engine, talk("x", "y" * 30, "z"), **options) == gone


@every_engine
@pytest.mark.parametrize(
    ("form", "array", "turn", "folded"),
    [
        ("openai-chat", "messages", '{"role": "user", "content" :"\\u0061"}', '{"role": "user", "content" :"N\\n\\n\\u0061"}'),
        ("openai-chat", "messages", '{"role":"user","content":""}', '{"role":"user","content":"N\\n\\n"}'),
        (
            "openai-chat",
            "messages",
            '{"role":"user","content":[ {"type":"text","text":"a"} ,\n{"type":"text","text":"b"}]}',
            '{"role":"user","content":[ {"type":"text","text":"N"} ,\n{"type":"text","text":"a"} ,\n{"type":"text","text":"b"}]}',
        ),
        (
            "anthropic",
            "messages",
            '{"role": "user","content":[ {"type":"text","text":"a"}]}',
            '{"role": "user","content":[ {"type": "text", "text": "N"}, {"type":"text","text":"a"}]}',
        ),
        ("openai-chat", "messages", '{"role":"user","content":[ ],"x":1}', '{"role":"user","content":[{"type":"text","text":"N"}],"x":1}'),
        ("openai-chat", "messages", '{"role":"user","content": null }', '{"role":"user","content": "N" }'),
        ("openai-chat", "messages", '{"role":"user" }', '{"role":"user","content":"N" }'),
        ("openai-chat", "messages", '{"role": "user" }', '{"role": "user", "content": "N" }'),
        ("gemini", "contents", '{"role":"user","parts":[{"text":"a"}]}', '{"role":"user","parts":[{"text":"N"},{"text":"a"}]}'),
        ("gemini", "contents", '{"role":"user","parts":null}', '{"role":"user","parts":[{"text":"N"}]}'),
        ("gemini", "contents", '{"role":"user"}', '{"role":"user","parts":[{"text":"N"}]}'),
        ("bedrock", "messages", '{"role":"user","content":[]}', '{"role":"user","content":[{"text":"N"}]}'),
        (
            "openai-responses",
            "input",
            '{"role":"user","content":[{"type":"input_text","text":"a"}]}',
            '{"role":"user","content":[{"type":"input_text","text":"N"},{"type":"input_text","text":"a"}]}',
        ),
        (
            "pi",
            "messages",
            '{"type":"message","message":{"role":"user","content":"a"}}',
            '{"type":"message","message":{"role":"user","content":"N\\n\\na"}}',
        ),
        ("langchain", "messages", '{"type":"human","data":{"x":{}}}', '{"type":"human","data":{"x":{},"content":"N"}}'),
        (
            "pydantic-ai",
            "messages",
            '{"kind":"request","parts":[ {"part_kind":"user-prompt","content":["a"]}]}',
            '{"kind":"request","parts":[ {"part_kind":"user-prompt","content":["N","a"]}]}',
        ),
    ],
)
def test_9_a_notice_that_is_folded_in(engine: ModuleType, form: str, array: str, turn: str, folded: str) -> None:
    body = f'{{"{array}":[{turn},\n{turn}]}}'
    expected = f'{{"{array}":[{folded}]}}'
    assert trimmed(engine, body, format=form, notice="N", notice_role="user", max_turns=1) == expected


@every_engine
def test_thinking_that_goes_takes_its_joint_along(engine: ModuleType) -> None:
    thought = '{"type":"thinking","thinking":"hm","signature":"s"}'
    said = '{{"role":"assistant","content":[{}{{"type":"text","text":"so"}} ]}}'
    body = f'{{"messages":[{USER},{said.format("")},{USER},{said.format(thought + " , ")},{USER}]}}'
    result = trimmed(engine, body, format="anthropic", thinking="strip", max_turns=3, notice=False)
    assert result == f'{{"messages":[{USER},{said.format("")},{USER}]}}'


# Where the messages stand

TALK = f"[{USER},{SAID},{USER},{SAID}]"
LAST = f"[{USER},{SAID}]"


@every_engine
@pytest.mark.parametrize(
    ("body", "key", "expected"),
    [
        (TALK, None, LAST),
        (TALK, "history", LAST),
        ('{"a":%s,"messages":%s}', None, 1),
        ('{"input":%s,"messages":%s}', None, 1),
        ('{"contents":%s,"input":%s}', None, 1),
        ('{"messages":null,"input":%s}', None, 0),
        ('{"input":5,"contents":%s}', None, 0),
        ('{"messages":%s,"history":%s}', "history", 1),
        ('{"\\u006dessages":%s}', None, 0),
    ],
)
def test_the_array(engine: ModuleType, body: str, key: str | None, expected: Any) -> None:
    options: dict[str, Any] = {"max_turns": 2, "notice": False, "format": "openai-chat"}
    if isinstance(expected, int):
        arrays = [TALK] * body.count("%s")
        changed = [LAST if k == expected else TALK for k in range(len(arrays))]
        body, expected = body % tuple(arrays), body % tuple(changed)
    assert trimmed(engine, body, key, **options) == expected


@every_engine
@pytest.mark.parametrize(
    ("body", "key", "path", "found"),
    [
        ("{}", None, "", "an empty object"),
        ('{"model":"m","prompt":"p"}', None, "", "an object with model, prompt"),
        ('{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1}', None, "", "an object with 1, 2, 3, 4, 5, 6, 7, 8, …"),
        ('{"messages":null}', None, "", "an object with messages"),
        ('{"":[]}', None, "", "an object with "),
        ('{"messages":[]}', "history", "history", "an object with messages"),
        ("5", None, "", "a number"),
        ('"text"', None, "", "a string"),
        ("null", None, "", "null"),
        ("true", None, "", "true or false"),
        ('{"messages":"text"}', None, "messages", "a string"),
        ('{"messages":{"role":"user"}}', None, "messages", "an object"),
        ('{"history":"text"}', "history", "history", "a string"),
        ('{"input":"text"}', "input", "input", "a string"),
    ],
)
def test_no_array(engine: ModuleType, body: str, key: str | None, path: str, found: str) -> None:
    kind, error = outcome(lambda: engine_window(engine, {}).trim_json(body, key))
    assert (kind, error["index"], error["path"], error["found"]) == ("FormatError", None, path, found)
    assert error["expected"] == "an array of messages, alone or in an object under messages, input or contents"


PLAIN = '[{"role":"user","content":"a"}]'
PARTS = '[{"role":"user"}]'


@every_engine
@pytest.mark.parametrize(
    ("body", "form"),
    [
        (PLAIN, "openai-chat"),
        (f'{{"messages":{PLAIN}}}', "openai-chat"),
        (f'{{"messages":{PLAIN},"system":"S"}}', "anthropic"),
        (f'{{"messages":{PLAIN},"system":[]}}', "anthropic"),
        (f'{{"messages":{PLAIN},"system":null}}', "openai-chat"),
        (f'{{"messages":{PLAIN},"system":[{{"type":"text","text":"S"}}]}}', "anthropic"),
        (f'{{"anthropic_version":"bedrock-2023-05-31","messages":{PLAIN}}}', "anthropic"),
        (f'{{"messages":{PARTS},"system":[{{"text":"S"}}]}}', "bedrock"),
        (f'{{"messages":{PARTS},"inferenceConfig":{{}}}}', "bedrock"),
        (f'{{"toolConfig":{{"tools":[]}},"messages":{PARTS}}}', "bedrock"),
        (f'{{"input":{PLAIN}}}', "openai-responses"),
        (f'{{"contents":{PARTS}}}', "openai-chat"),
        ('{"input":"a"}', "openai-responses"),
        ('{"contents":"a"}', "gemini"),
        # What the messages show wins.
        ('{"messages":[{"role":"user","parts":[{"text":"a"}]}],"system":"S"}', "gemini"),
        ('{"input":[{"role":"tool","content":"a"}]}', "openai-chat"),
    ],
)
def test_the_envelope_tells_the_format_of_messages_that_do_not(engine: ModuleType, body: str, form: str) -> None:
    assert engine_window(engine, {"format": "auto"}).trim_json(body, None).report.format == form


@every_engine
@pytest.mark.parametrize(
    ("body", "chars"),
    [
        ('{"input":"hello"}', 5),
        ('{"contents":"hello"}', 5),
        ('{"contents":{"text":"hello"}}', 5),
        ('{"contents":["hello",{"text":"hello"}]}', 10),
        ('{"contents":{"role":"user","parts":[{"text":"hello"}]}}', 5),
    ],
)
def test_a_shorthand_stays_and_has_to_fit(engine: ModuleType, body: str, chars: int) -> None:
    found = engine_window(engine, {"format": "auto", "max_chars": chars}).trim_json(body, None)
    assert found.body is body
    assert (found.report.chars_sent, found.report.messages_original) == (chars, 1)
    short = engine_window(engine, {"format": "auto", "max_chars": chars - 1})
    assert outcome(lambda: short.trim_json(body, None))[0] == outcome(lambda: short.plan_json(body, None))[0] == "BudgetError"


@every_engine
def test_what_is_beside_is_counted(engine: ModuleType) -> None:
    tools = '[{"name":"f","input_schema":{"properties":{"a":{"type":"string"}}}}]'
    contents = '[{"role":"user","parts":[{"text":"a"}]}]'
    for array, messages, beside in (
        ("messages", PLAIN, f'"tools":{tools},"system":"S"'),
        ("messages", PLAIN, f'"functions":{tools},"tools":[],"instructions":"S"'),
        ("contents", contents, f'"config":{{"tools":{tools},"system_instruction":"S"}}'),
        ("messages", PLAIN, f'"tools":{{}},"functions":{tools},"system":null,"instructions":"S"'),
        ("messages", PLAIN, f'"tools":"","functions":0,"toolConfig":{{"tools":{tools}}},"system":"S"'),
        ("messages", PLAIN, f'"toolConfig":{{"tools":{tools}}},"system":"S"'),
    ):
        body = f'{{"{array}":{messages},{beside}}}'
        form = "gemini" if array == "contents" else "openai-chat"
        window = engine_window(engine, {"tokenizer": "cheap", "format": form})
        expected = engine.count_messages(json.loads(messages), engine_tokenizer(engine, "cheap"), form, json.loads(tools), "S")
        assert window.trim_json(body, None).report.tokens_sent == expected, body


@every_engine
def test_errors_in_messages_have_their_places(engine: ModuleType) -> None:
    kind, error = outcome(
        lambda: engine_window(engine, {}).trim_json('{"messages":[{"role":"user","content":[{"type":"text","text":5}]}]}', None)
    )
    assert (kind, error["index"], error["path"], error["found"]) == ("FormatError", 0, "content[0].text", "a number")


# Fields and lines


@every_engine
@pytest.mark.parametrize(
    ("body", "found"),
    [
        ('{"model":"m\\u00e9"}', "mé"),
        ('{"x":{"model":"n"},"model":"m"}', "m"),
        ('{"\\u006dodel":"m"}', "m"),
        ('{"model":5}', None),
        ('{"model":null}', None),
        ("{}", None),
        ('["model"]', None),
    ],
)
def test_a_field_of_a_request(engine: ModuleType, body: str, found: str | None) -> None:
    if hasattr(engine, "request_field"):
        assert engine.request_field(body.encode(), "model") == engine.request_field(body, "model") == found
        assert outcome(lambda: engine.request_field(body[:-1].encode(), "model"))[0] == "JsonError"


@every_engine
@pytest.mark.parametrize("on_error", ["raise", "skip", "keep"])
def test_lines(engine: ModuleType, on_error: str) -> None:
    window = engine_window(engine, {"max_turns": 2, "notice": False, "tokenizer": "cheap"})
    lines = [TALK, " \t", LAST, '{"messages":5}', "[tru]", TALK]
    chunk = f"{lines[0]}\r\n{lines[1]}\n{lines[2]}\n{lines[3]}\r\n{lines[4]}\n{lines[5]}".encode()
    found = window.trim_lines(chunk, None, on_error, True)
    front = f"{LAST}\r\n \t\n{LAST}\n"
    bad = {"raise": "", "skip": LAST, "keep": f"{lines[3]}\r\n{lines[4]}\n{LAST}"}[on_error]
    assert found.output.decode() == front + bad
    all_of_it = on_error != "raise"
    assert found.lines == (5 if all_of_it else 3)
    assert [number for number, _ in found.errors] == ([3, 4] if all_of_it else [3])
    assert [type(error) for _, error in found.errors] == [FormatError, JsonError][: len(found.errors)]
    if all_of_it:
        assert found.errors[1][1].offset == 1
    good = [TALK, LAST, TALK] if all_of_it else [TALK, LAST]
    reports = [window.trim_json(line, None).report for line in good]
    assert found.reports == list(zip([0, 2, 5], reports, strict=False))
    assert found.conversations == len(good)
    assert (found.changed, found.trimmed, found.over_budget) == (len(good) - 1, len(good) - 1, 0)
    assert found.messages_before == sum(report.messages_original for report in reports)
    assert found.messages_after == sum(report.messages_sent for report in reports)
    assert (found.tools_truncated, found.chars_capped) == (0, 0)
    count = [engine.count_messages(json.loads(line), engine_tokenizer(engine, "cheap"), "openai-chat", None, None) for line in good]
    assert found.tokens_before == sum(count)
    assert found.tokens_after == sum(report.tokens_sent or 0 for report in reports)
    silent = window.trim_lines(chunk, None, on_error, False)
    assert silent.reports == []
    assert silent._replace(errors=[], reports=[]) == found._replace(errors=[], reports=[])


@every_engine
def test_lines_are_counted_in_their_formats(engine: ModuleType) -> None:
    """The tokens before the trim are those of the format that the trim found."""
    window = engine_window(engine, {"max_turns": 1, "notice": False, "tokenizer": "cheap", "format": "auto"})
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": [{"type": "text", "text": "b"}]}, {"role": "user"}]
    messages[2]["content"] = [{"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x" * 400}}]
    body = json.dumps({"system": "S", "messages": messages})
    found = window.trim_lines(body.encode(), None, "raise", True)
    assert [report.format for _, report in found.reports] == ["anthropic"]
    assert found.trimmed == 1
    counts = {
        form: engine.count_messages(messages, engine_tokenizer(engine, "cheap"), form, None, "S") for form in ("anthropic", "openai-chat")
    }
    assert found.tokens_before == counts["anthropic"] != counts["openai-chat"]


@every_engine
def test_no_lines(engine: ModuleType) -> None:
    for chunk, ends in (b"", 0), (b"\n\r\n \n", 3):
        found = engine_window(engine, {"max_turns": 2}).trim_lines(chunk, None, "raise", True)
        assert found == backcut.report.Lines(chunk, ends, *[0] * 10, [], [])


# The calls


def test_what_fits_is_the_very_same_object() -> None:
    window = context_window(max_turns=4)
    data = f'{{"messages":{TALK}}}'.encode()
    for body in (data, bytearray(data), memoryview(data), data.decode()):
        found = trim_json(body, window)
        assert found.body is body
        assert plan_json(body, window) == ([(0, len(data))], found.report) or plan_json(body, window).pieces == ((0, len(data)),)


def test_what_does_not_is_new_bytes() -> None:
    reports: list[Any] = []
    window = context_window(max_turns=2, on_report=reports.append)
    data = f'{{"history":{TALK}, "m":"é"}}'.encode()
    results = [trim_json(body, window, key="history") for body in (data, bytearray(data), memoryview(data), data.decode())]
    assert all(type(each.body) is bytes and each == results[0] for each in results)
    assert reports == [each.report for each in results]
    assert plan_json(data, window, key="history").report == reports[0]
    assert len(reports) == 4  # a plan tells nobody
    part = memoryview(b"xx" + data + b"xx")[2:-2]
    assert trim_json(part, window, key="history") == results[0]


@pytest.mark.parametrize("body", [None, 5, ["[]"], {"messages": []}, memoryview(b"1234").cast("I")])
def test_what_is_no_body(body: Any) -> None:
    window = context_window(max_turns=2)
    for call in (trim_json, plan_json):
        with pytest.raises(TypeError, match="body must be"):
            call(body, window)  # type: ignore[operator]


def test_errors_come_through() -> None:
    body = f'{{"messages":{TALK}}}'
    with pytest.raises(BudgetError):
        trim_json(body, context_window(max_chars=1))
    with pytest.raises(OptionError):
        trim_json('[{"role":"user","parts":[]}]', context_window(compat="thena", max_turns=1, format="auto"))
    with pytest.raises(ZeroDivisionError):
        trim_json(body, context_window(max_tokens=5, tokenizer=lambda text: 1 // 0))

    def told(report: Any) -> None:
        raise KeyError(report.messages_sent)

    with pytest.raises(KeyError):
        trim_json(body, context_window(on_report=told))


def test_facts_of_errors_are_compared_without_how_values_are_shown() -> None:
    assert facts(("FormatError", {"found": "int", "index": 1})) == ("FormatError", {"index": 1})
    assert facts(("JsonError", {"found": "'t'"})) == ("JsonError", {"found": "'t'"})
