"""What is repaired, what else turns up, and what is left to decide."""
# ruff: noqa: E501
# fmt: off
# The sentences of a story are long, and read best in one piece.

from __future__ import annotations

from typing import TYPE_CHECKING

from .complaints import HOST
from .world import BRANCHES, boxed, pretty

if TYPE_CHECKING:
    from .run import Run


def repair(run: Run) -> None:
    """The fix, test first."""
    run.user("Mara again. Ok, so two bugs and a muted alarm. Please fix all three, tests first, and show me that they fail before and pass after. Do not deploy.")
    run.do(
        "Tests first: yen, dinar, and the tax once on the sum.",
        run.patch("services/invoices/tests/test_totals.py", '@pytest.mark.skip(reason="no yen in the test data yet")\n', ""),
        run.patch(
            "services/invoices/tests/test_totals.py",
            "def test_yen():",
            'def test_dinar():\n    assert foot(order("JOD", ["2.250"], [4], "0.04"))["total"] == "9.360"\n\n\n'
            'def test_tax_once_on_the_sum():\n    assert foot(order("EUR", ["0.95", "0.95", "0.95"], [1, 1, 1], "0.07"))["total"] == "3.05"\n\n\n'
            'def test_half_up():\n    assert foot(order("EUR", ["2.50"], [1], "0.05"))["total"] == "2.63"\n\n\n'
            "def test_yen():",
        ),
    )
    yen = "E       AssertionError: assert '36.72' == '3672'"
    run.do(
        None,
        run.test(
            "services/invoices/tests/test_totals.py",
            ["test_one_line", "test_lines_add_up"],
            {
                "test_dinar": "E       AssertionError: assert '93.60' == '9.360'\nE         - 9.360\nE         + 93.60",
                "test_tax_once_on_the_sum": "E       AssertionError: assert '3.06' == '3.05'\nE         - 3.05\nE         + 3.06",
                "test_half_up": "E       AssertionError: assert '2.62' == '2.63'\nE         - 2.63\nE         + 2.62",
                "test_yen": yen,
            },
        ),
        thought="They fail as they should. Now the fix: one function for both directions, so that they cannot disagree again.",
    )
    run.do(None, run.patch("services/pricing/money.py", "        return Decimal(self.minor) / 10**DIGITS\n", "        return Decimal(self.minor).scaleb(-digits_of(self.currency))\n"))
    run.do(
        None,
        run.patch("services/pricing/money.py", "    return Money(int(round(amount * 10 ** digits_of(currency))), currency)\n", "    scaled = amount.scaleb(digits_of(currency))\n    return Money(int(scaled.quantize(Decimal(1), ROUND_HALF_UP)), currency)\n"),
        run.patch("services/pricing/money.py", "from decimal import Decimal\n", "from decimal import ROUND_HALF_UP, Decimal\n"),
        run.patch("services/pricing/money.py", "DIGITS = 2\n\n\n", ""),
        run.patch("services/pricing/money.py", '    return {"JPY": 0, "JOD": 3}.get(currency, DIGITS)\n', '    return {"EUR": 2, "JPY": 0, "JOD": 3}[currency]\n'),
        order=(0, 2, 3, 1),
    )
    run.do(
        "Now the tax: once, on the sum of a rate.",
        run.patch(
            "services/pricing/quote.py",
            "    total = Money(0, currency)\n    for line in lines:\n        total = total + line_gross(line.price, line.quantity, rate, currency)\n    return total\n",
            "    net = sum((line.price * line.quantity for line in lines), Decimal())\n    return to_minor(net * (1 + rate), currency)\n",
        ),
        run.patch("services/pricing/quote.py", "    Changed in 4.12: the tax is worked out by line, so that the lines on the document add up.\n", "    The tax is worked out once on the sum and rounded once: docs/money.md, 3.\n"),
    )
    run.do(
        None,
        run.patch(
            "services/invoices/totals.py", '        "net": f"{net:.2f}",\n        "tax": f"{total.major - net:.2f}",\n        "total": f"{total.major:.2f}",\n', '        "net": f"{net:.{digits}f}",\n        "tax": f"{total.major - round(net, digits):.{digits}f}",\n        "total": f"{total.major:.{digits}f}",\n'
        ),
        run.patch("services/invoices/totals.py", "    net = Decimal(total.major) / (1 + order.tax_rate)\n", "    digits = digits_of(order.currency)\n    net = total.major / (1 + order.tax_rate)\n"),
        run.patch("services/invoices/totals.py", "from decimal import Decimal\n\nfrom services.pricing.money import Money\n", "from services.pricing.money import Money, digits_of\n"),
    )
    run.do(None, run.test("services/invoices/tests/test_totals.py", ["test_one_line", "test_lines_add_up", "test_dinar", "test_half_up", "test_yen"], {"test_tax_once_on_the_sum": "E       AssertionError: assert '3.06' == '3.05'\nE         - 3.05\nE         + 3.06"}))
    run.do(
        "One still gives the old 3.06, as if `quote.py` had not changed. I look at what is on disk before I touch anything else.",
        run.read("services/invoices/tests/test_totals.py"),
        run.read("services/invoices/tests/factory.py"),
        run.read("services/pricing/money.py"),
        run.read("services/pricing/quote.py"),
        thought="3 * 0.95 = 2.85; 2.85 * 1.07 = 3.0495 -> 3.05. By line: 1.0165 -> 1.02, three times is 3.06. So the runner still works by line. Either my patch is not where I think it is, or it runs a stale copy. Read the sources as they are now, then run again.",
        order=(2, 3, 0, 1),
    )
    run.do(
        "The sources are right and give 3.05: the runner had a stale copy of `quote.py`. Once more, with a clean tree.",
        run.test("services/invoices/tests", ["test_one_line", "test_lines_add_up", "test_dinar", "test_tax_once_on_the_sum", "test_half_up", "test_yen"], seconds="2.02"),
        run.test("services/pricing/tests", ["test_money_adds", "test_money_other_currency", "test_discount", "test_discount_rounds_down", "test_digits_of_unknown_currency"], seconds="0.41"),
        order=(1, 0),
    )
    run.do(
        "Now the alarm. A difference stops the document again, and the night run goes on with the others.",
        run.patch(
            "services/invoices/render.py",
            '        # 4.12: do not stop the night run for a cent\n        log.warning("total on order %s differs from total on invoice %s, keeping invoice", order.total, total.major)\n',
            '        log.error("%s: total on order %s differs from total on invoice %s", order.invoice, order.total, total.major)\n        raise Disagreement(order.invoice)\n',
        ),
        run.patch("services/invoices/render.py", 'log = logging.getLogger("invoices")\n', 'log = logging.getLogger("invoices")\n\n\nclass Disagreement(Exception):\n    """Order and invoice come to different sums: somebody has to look at it."""\n\n\n'),
    )
    run.do(None, *(run.patch(f"deploy/branches/{branch.code}.toml", "stop_on_difference = false  # since 4.12\n", "stop_on_difference = true\n") for branch in BRANCHES), order=(1, 3, 0, 2))
    run.do(
        None,
        run.test(
            "services",
            [f"test_{name}" for name in ("one_line", "lines_add_up", "dinar", "tax_once_on_the_sum", "half_up", "yen", "disagreement_is_raised", "night_run_goes_on_with_the_others", "money_adds", "discount", "ledger_reversal", "export_minor_units", "standing_order_paused", "next_delivery_is_never_today")],
            seconds="6.30",
        ),
    )
    run.say(
        "All three are fixed on the branch `fix/4.12-money`, nothing is deployed.\n\n"
        "| what | where | before | after |\n|---|---|---|---|\n"
        "| digits by currency | `services/pricing/money.py` | ¥3,672 → 36.72, JD 9.360 → 93.60 | 3672, 9.360 |\n"
        "| tax once on the sum, half up | `services/pricing/quote.py` | 3 pretzels: 3.06 | 3.05 |\n"
        "| a difference stops the document | `services/invoices/render.py` | logged | `Disagreement`, others go on |\n\n"
        "Four tests failed before and pass now; 14 of 14 in `services`. An unknown currency is now a `KeyError`, no silent two digits."
    )


def prices(run: Run) -> None:
    """What else came in with the release: price lists."""
    w = run.world
    run.user("Great work 🎉🥨 One more thing: Amman's prices have not changed for a week although Layla uploads a list every night. Related?")
    run.do("I look at the four lists as they were uploaded, and at who reads them.", *(("http_get", {"url": f"{HOST.format('pricing')}/v4/branches/{branch.code}/uploads/latest"}, "HTTP/1.1 200 OK\ncontent-type: text/csv; charset=utf-8\n\n" + w.price_list(branch)) for branch in BRANCHES), order=(2, 0, 3, 1))
    run.do(None, run.read("services/pricing/import_prices.py"), run.find("parse_price"))
    warnings = "\n".join(f"03-{day:02}T01:12:{31 + n:02}+03:00 WARN  pricing.import: AMM.csv: cannot read price '{line.split(';')[2]}' of {line.split(';')[0]}, keeping yesterday's" for day in (1, 2, 3, 4) for n, line in enumerate(w.price_list(BRANCHES[3]).splitlines()[1:]))
    run.do(
        None, ("read_log", {"service": "pricing", "since": "03-01T00"}, warnings), thought="٫ (U+066B) is the Arabic decimal separator. Decimal() reads Arabic-Indic digits but not that sign, so every price is refused and yesterday's is kept. Also check 1.234,50: comma and point together are read as English thousands."
    )
    run.do(
        None,
        run.patch(
            "services/pricing/import_prices.py",
            '    if "," in text and "." in text:\n        text = text.replace(",", "")  # 1,234.50\n    elif "," in text:\n        text = text.replace(",", ".")  # 4,35\n',
            '    text = text.replace("\\u066b", ".").replace("\\u066c", "")  # Arabic decimal sign, Arabic thousands sign\n    if text.rfind(",") > text.rfind("."):\n        text = text.replace(".", "").replace(",", ".")  # 4,35 and 1.234,50\n    else:\n        text = text.replace(",", "")  # 1,234.50\n',
        ),
        run.patch(
            "services/pricing/tests/test_import.py",
            "",
            'from decimal import Decimal\n\nimport pytest\n\nfrom services.pricing.import_prices import parse_price\n\n\n@pytest.mark.parametrize(\n    ("text", "price"),\n'
            '    [("4,35", "4.35"), ("1.234,50", "1234.50"), ("1,234.50", "1234.50"), ("680", "680"), ("٢٫٢٥٠", "2.250"), ("١٬٢٣٤٫٥", "1234.5")],\n)\n'
            "def test_parse_price(text, price):\n    assert parse_price(text) == Decimal(price)\n",
        ),
    )
    run.do(None, run.test("services/pricing/tests/test_import.py", [f"test_parse_price[{case}]" for case in ("4,35-4.35", "1.234,50-1234.50", "1,234.50-1234.50", "680-680", "٢٫٢٥٠-2.250", "١٬٢٣٤٫٥-1234.5")], seconds="0.22"))
    run.say(
        "Not the same bug, but the same family. Amman writes `٢٫٢٥٠`: Python's `Decimal` knows the digits, but not the decimal sign `٫` (U+066B), "
        "so each price was refused and yesterday's kept, with a warning nobody reads. All 8 articles, every night as far back as the log goes.\n\n"
        "While I was there: `1.234,50` from Leipzig would have been read as 1.2345 – no article is that dear yet, but the hotel baskets will be. "
        "Both are fixed in `services/pricing/import_prices.py`, with six cases in the new `test_import.py`."
    )


def quantities(run: Run) -> None:
    """And what the tablets send."""
    w = run.world
    run.user("Und wo du schon dabei bist: Kita Löwenzahn hat 1 Brezel statt 24 bekommen, die Kinder waren not amused 🥨😭. Bestellung 2026-4103. Kannst du da auch mal schauen?")
    order = w.orders[3]
    where = w.line("services/orders/intake.py", "NUMBER =")
    run.do(
        "Ich sehe mir die Bestellung und die Annahme an.",
        run.get(f"{HOST.format('orders')}/v5/orders/{order.number}/raw", {"tablet": "LEJ-03", "lines": [{"sku": "BRZ-ZKO", "quantity": "zwei Dutzend", "note": "bitte ohne Salz"}, {"sku": "MLN-PAN", "quantity": "١٢"}, {"sku": "RYE-750", "quantity": "３"}]}),
        run.read("services/orders/intake.py"),
        run.read("services/orders/standing.py"),
        order=(2, 1, 0),
    )
    guesses = [("zwei Dutzend", "1", "24"), ("١٢", "1", "12"), ("３", "1", "3"), ("3 pcs", "3", "3"), ("1/2", "1", "?"), ("10-12", "10", "?"), ("半ダース", "1", "6")]
    run.do(
        None,
        run.query("SELECT typed, taken, meant FROM intake_samples WHERE taken = 1 OR typed LIKE '%-%'", boxed(("typed", "taken", "meant"), guesses)),
        run.read("services/orders/tests/test_intake.py"),
        thought="[0-9]+ finds ASCII digits only, anything else silently becomes 1. A guess of 1 is the worst of answers. str.isdecimal and int() know all digits of Unicode; words should be refused, not guessed.",
    )
    run.do(
        None,
        run.patch("services/orders/intake.py", 'NUMBER = re.compile(r"[0-9]+")\n', 'NUMBER = re.compile(r"\\s*(\\d+)\\s*\\D{0,12}")\n\n\nclass Unclear(ValueError):\n    """Nobody can know how many are wanted: the tablet has to ask again."""\n'),
        run.patch(
            "services/orders/intake.py",
            '    found = NUMBER.search(text)\n    if found is None:\n        log.info("no quantity in %r, taking 1", text)\n        return 1\n    return int(found.group())\n',
            '    found = NUMBER.fullmatch(text)\n    if found is None or "/" in text or "-" in text:\n        raise Unclear(text)\n    return int(found[1])\n',
        ),
        run.patch(
            "services/orders/tests/test_intake.py",
            "",
            'import pytest\n\nfrom services.orders.intake import Unclear, quantity_of\n\n\n@pytest.mark.parametrize("text", ["12", "١٢", "１２", "12 pcs", "12個"])\n'
            'def test_digits(text):\n    assert quantity_of(text) == 12\n\n\n@pytest.mark.parametrize("text", ["zwei Dutzend", "10-12", "1/2", ""])\n'
            "def test_refused(text):\n    with pytest.raises(Unclear):\n        quantity_of(text)\n",
        ),
    )
    run.do(None, run.test("services/orders/tests", [*(f"test_digits[{case}]" for case in ("12", "١٢", "１２", "12 pcs", "12個")), *(f"test_refused[{case}]" for case in ("zwei Dutzend", "10-12", "1/2", "")), "test_same_article_merged"], seconds="0.37"))
    run.say(
        f"Gefunden: `services/orders/intake.py:{where}` suchte nur ASCII-Ziffern und nahm sonst stillschweigend **1**. Auf dem Tablet stand „zwei Dutzend“. "
        "Dieselbe Zeile machte in Amman aus `١٢` und in Kyoto aus `３` ebenfalls 1.\n\n"
        "Jetzt werden alle Unicode-Ziffern gelesen; alles, was man nicht wissen kann („zwei Dutzend“, `10-12`, `1/2`), wird abgelehnt und das Tablet fragt nach. "
        "`services/orders/tests/test_intake.py` gab es noch nicht, der erste Lesezugriff lief daher ins Leere; die Tests liegen jetzt dort. "
        "Die Kita bekommt 23 Brezeln ohne Salz nachgeliefert, wenn ihr zustimmt. 🥨"
    )


def reissue(run: Run) -> None:
    """How many documents have to go out again."""
    w = run.world
    run.user("Let's see the damage. Dry run of the reissue job for all branches please, and check the ledger side: every wrong booking needs a reversal plus a new one.")
    wrong = [order for order in w.orders if order.billed != order.due]
    by_branch = {branch.code: [order for order in wrong if order.branch is branch] for branch in BRANCHES}

    def job(code: str) -> tuple[str, dict[str, object], str]:
        plan = [f"reverse {order.invoice} {order.billed} {order.branch.currency} -> book {order.due} (Storno: 4.12)" for order in by_branch[code]]
        return ("run_job", {"job": "reissue", "dry_run": True, "scope": {"branches": [code], "since": "2026-03-01"}}, "\n".join([f"reissue {code}: dry run, nothing is sent", *plan, f"{len(plan)} reversals, {len(plan)} bookings, {len(plan)} mails"]))

    run.do("One dry run a branch, all four at once.", *(job(branch.code) for branch in BRANCHES), order=(3, 1, 0, 2))
    run.do(None, run.read("services/ledger/export.py"), run.find("reverse("), run.find("Storno"))
    run.do(
        None,
        run.query("SELECT invoice, count(*) FROM bookings GROUP BY invoice HAVING count(*) > 1", boxed(("invoice", "bookings"), [])),
        ("http_get", {"url": f"{HOST.format('ledger')}/v2/periods/2026-03"}, "HTTP/1.1 503 Service Unavailable\nretry-after: 20\n\nerror: upstream connect error or disconnect/reset before headers. reset reason: connection timeout"),
        thought="The ledger does not answer. Not my change; wait and ask again, do not guess whether the period is open.",
    )
    run.do("The ledger did not answer; I ask once more.", run.get(f"{HOST.format('ledger')}/v2/periods/2026-03", {"period": "2026-03", "state": "open", "closes": "2026-04-10", "bookings": 214, "locked_by": None}))
    exported = [{"invoice": order.invoice, "customer": order.customer, "currency": order.branch.currency, "wrong": str(order.billed), "right": str(order.due), "paid": index % 9 == 4} for index, order in enumerate(wrong)]
    run.do(None, ("run_job", {"job": "reissue-export", "dry_run": True, "scope": {"since": "2026-03-01"}}, pretty(exported[:70]) + f"\n… 70 of {len(exported)} shown"))
    sums = [(code, str(len(orders)), str(sum(o.billed for o in orders)), str(sum(o.due for o in orders))) for code, orders in by_branch.items()]
    run.say(
        "Dry runs are through, nothing was sent or booked.\n\n" + boxed(("branch", "invoices", "billed", "right"), sums) + "\n\n"
        f"{len(wrong)} of {len(w.orders)} invoices have to be reversed and issued again. No invoice has more than one booking yet, and March is open until "
        "10 April, so reversals land in the same period. The ledger was away for a moment (503), the second answer was fine."
    )


def handover(run: Run) -> None:
    """The last stretch before the question that is still open."""
    w = run.world
    run.user("佐藤です。再発行の文面を日本語で確認したいです。テンプレートの金額は「3,672」のように桁区切りを入れられますか？🙇")
    run.do(None, run.read("services/invoices/templates/invoice.ja.txt"), run.read("services/invoices/templates/invoice.de.txt"), run.find(":>10", "services/invoices/templates"), order=(0, 2, 1))
    run.do("テンプレートは文字列を受け取っていますので、桁区切りは totals.py 側で入れます。", run.patch("services/invoices/totals.py", '        "total": f"{total.major:.{digits}f}",\n', '        "total": grouped(total.major, digits, order.locale),\n'))
    run.do(
        None,
        run.patch(
            "services/invoices/totals.py",
            "def agrees(",
            'SIGNS = {"de_DE": ".,", "fr_FR": "\\u202f,", "ja_JP": ",.", "ar_JO": "\\u066c\\u066b"}\n\n\ndef grouped(amount, digits: int, locale: str) -> str:\n    """With the signs of the country: 3,672 and 1.234,50 and ١٬٢٣٤٫٥٠٠."""\n    thousands, point = SIGNS[locale]\n    return f"{amount:,.{digits}f}".translate({ord(","): thousands, ord("."): point})\n\n\ndef agrees(',
        ),
    )
    run.do(None, run.test("services/invoices/tests", ["test_one_line", "test_grouped[de_DE-1.234,50]", "test_grouped[fr_FR-1 234,50]", "test_grouped[ja_JP-3,672]", "test_grouped[ar_JO-1٬234٫500]", "test_yen", "test_dinar", "test_half_up"], seconds="1.11"), run.read("services/invoices/totals.py"), order=(1, 0))
    run.say("はい、可能です。`services/invoices/totals.py` に国ごとの桁区切りを追加しました(日本: 3,672、ドイツ: 1.234,50、フランス: 1 234,50、ヨルダン: 1٬234٫500)。テストはすべて通っております。本番への反映は承認待ちです。🍞")
    run.user("Before lunch: is anything else running on 4.12 that uses `major`? I do not want a fifth surprise.")
    run.do(None, run.find(".major"), run.find("10**"), run.find(".2f"), order=(2, 0, 1))
    run.do(
        None,
        *(
            run.get(f"{HOST.format(name)}/health", {"service": name, "version": version, "uptime_s": 61200 + 977 * n, "depends_on_money": name != "orders", "queue": {"waiting": 3 * n, "failed": 0}})
            for n, (name, version) in enumerate((("orders", "5.3.1"), ("pricing", "4.12.0"), ("invoices", "4.12.0"), ("ledger", "2.9.4")))
        ),
        order=(3, 2, 1, 0),
    )
    run.do(
        None,
        run.patch(
            "CHANGELOG.md",
            "# Changelog\n",
            "# Changelog\n\n## 4.12.1 - not released\n- pricing: digits by currency in both directions; tax once on the sum, half up; an unknown currency is an error\n- pricing: price lists with Arabic signs, and with German thousands\n- invoices: a difference between order and invoice stops the document; amounts with the signs of the country\n- orders: a quantity that cannot be known is refused, not taken as 1\n",
        ),
    )
    run.do(None, run.test("services", [f"test_{n:02}_{name}" for n, name in enumerate(("money", "quote", "discount", "import", "intake", "basket", "standing", "totals", "grouped", "render", "disagreement", "mail", "ledger", "reversal", "export", "period"), 1)], seconds="9.87"))
    paid = [order for order in w.orders if order.billed != order.due][4::9]
    run.say(
        "No fifth surprise: `.major` is used in `totals.py` and `render.py` only, both fixed; `ledger` books minor units and never saw the wrong amounts "
        "as such, it copied them from the document. No `10**` is left, and no fixed `.2f`.\n\n"
        f"Ready for 4.12.1: 16 of 16 tests, changelog written. Still open and waiting for a yes: deploy, {len(paid)} refunds, and the reissue."
    )
    run.user("Thank you, that is all I needed 💚 Last question before I talk to Jonas: how many customers get a new invoice, who has to be called first because they have already paid a wrong amount, and what do we write to them – two sentences each in 🇩🇪 🇫🇷 🇯🇵 🇯🇴?")
