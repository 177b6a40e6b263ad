"""Who complains, and what the agent finds."""
# ruff: noqa: E501
# fmt: off
# The sentences of a story are long, and read best in one piece.

from __future__ import annotations

from typing import TYPE_CHECKING

from .world import boxed

if TYPE_CHECKING:
    from .run import Run

HOST = "https://{}.krume.example"


def kyoto(run: Run) -> None:
    """The first complaint: yen."""
    w = run.world
    kix = w.of("KIX")
    run.user("Morning! Since the release on Sunday something is off with the invoices. Kyoto says theirs are far too small, Leipzig grumbles about cents, Amman has not said anything yet. Can you find out what is going on? Start with Kyoto please.")
    run.do("I will start with the map of the services and with what was released.", run.read("README.md"), run.read("CHANGELOG.md"), run.files("services/"))
    run.do(
        None,
        run.query("SELECT invoice, customer, currency, ordered, billed, billed - ordered FROM invoices WHERE branch = 'KIX' AND day >= '2026-03-02'", w.ledger(kix[:24])),
        thought="The changelog has three changes that touch totals: tax by line (#618), one constant for digits (#622), and the night run that no longer stops (#625). Kyoto 'far too small' smells like #622. Look at the numbers before reading code.",
    )
    first = kix[0]
    run.do(
        f"Every Kyoto invoice is exactly a hundredth of its order. I take one of them apart: {first.invoice}.",
        run.get(f"{HOST.format('orders')}/v5/orders/{first.number}", w.order_json(first)),
        run.get(f"{HOST.format('invoices')}/v4/invoices/{first.invoice}", w.invoice_json(first)),
        run.read("services/pricing/money.py"),
        order=(2, 0, 1),
    )
    run.do(None, run.find("DIGITS"), run.find("digits_of"), run.find(".major"), order=(1, 2, 0))
    run.do(
        None,
        run.read("services/invoices/totals.py"),
        run.read("services/invoices/render.py"),
        thought="to_minor uses digits_of(currency) - right. major divides by 10**DIGITS, always 2 - wrong for JPY and JOD. Two halves of one conversion disagree. Then render() sees that order and invoice differ, and only logs it.",
        order=(1, 0),
    )
    run.do("The log of the invoice service should have seen it. I read all of it since Sunday night.", ("read_log", {"service": "invoices", "since": "03-02T00"}, w.log()))
    run.do(
        None,
        run.test(
            "services/invoices/tests/test_totals.py",
            ["test_one_line", "test_lines_add_up"],
            {"test_yen (skip lifted)": '    def test_yen():\n>       assert foot(order("JPY", ["680"], [5], "0.08"))["total"] == "3672"\nE       AssertionError: assert \'36.72\' == \'3672\'\nE         - 3672\nE         + 36.72\n\nservices/invoices/tests/test_totals.py:19: AssertionError'},
        ),
        run.read("services/invoices/tests/test_totals.py"),
    )
    run.say(
        "Found the Kyoto fault, it is one line.\n\n"
        f"`services/pricing/money.py:{w.line('services/pricing/money.py', '10**DIGITS')}`: `major` divides by `10**DIGITS`, which is always 100. `to_minor` (line {w.line('services/pricing/money.py', 'round(')}) uses `digits_of(currency)`, "
        "so ¥3,672 goes in as 3672 minor units and comes out as 36.72. Release 4.12 (#622) put the constant there.\n\n"
        f"All {len(kix)} Kyoto invoices since 2 March are a hundredth of what they should be. The log warned of each, "
        '("total on order … differs from total on invoice …, keeping invoice"), but since #625 the night run goes on regardless.\n\n'
        "The one test that would have caught it, `test_yen`, is skipped: *no yen in the test data yet*. "
        "By the same reasoning Amman must be wrong too, by ten: the dinar has three digits. I have changed nothing so far."
    )
    run.user("京都店の佐藤です。お客様から「請求書の金額が百分の一になっている」とお電話がありました😥 鴨川ホテル様の分を確認していただけますか？正しい金額も教えてください。")
    hotel = [order for order in kix if order.customer == "鴨川ホテル"]
    run.do("鴨川ホテル様のご注文と請求書を確認いたします。", run.query("SELECT * FROM invoices WHERE customer = '鴨川ホテル' ORDER BY day", w.ledger(hotel)), *(run.get(f"{HOST.format('orders')}/v5/orders/{order.number}", w.order_json(order)) for order in hotel[:3]), order=(3, 0, 2, 1))
    rows = [(order.invoice, f"¥{order.due:,}", f"¥{order.billed}") for order in hotel]
    run.say(
        f"佐藤様、確認いたしました。鴨川ホテル様の請求書は{len(hotel)}件、すべて本来の百分の一になっております。\n\n" + boxed(("請求書", "正しい金額", "誤った金額"), rows) + "\n\n原因は3月1日のリリース(4.12)で、円の桁数が誤って扱われたことです。ご注文の内容と税率(8%)に誤りはございません。"
        "修正と再発行は本部の承認後に行いますので、お客様には「改めて正しい請求書をお送りする」とだけお伝えください。お支払いはお待ちいただいて結構です。"
    )


def leipzig(run: Run) -> None:
    """The second complaint: cents."""
    w = run.world
    lej = w.of("LEJ")
    off = [order for order in lej + w.of("LYS") if order.billed != order.due]
    run.user("Jonas hier, Finanzen Leipzig. Bei uns stimmt auch was nicht, aber nur um einzelne Cent. Frau Lehmann vom Steuerbüro hat drei Rechnungen zurückgewiesen. Ist das derselbe Fehler? Bitte mit Fundstelle im Code, ich muss das belegen können.")
    run.do("Ich hole alle Abweichungen in Euro und lese parallel die Berechnung.", run.query("SELECT * FROM invoices WHERE currency = 'EUR' AND billed <> ordered", w.ledger(off)), run.read("services/pricing/quote.py"), run.read("docs/money.md"), order=(1, 2, 0))
    case = off[0]
    run.do(
        None,
        run.get(f"{HOST.format('orders')}/v5/orders/{case.number}", w.order_json(case)),
        run.get(f"{HOST.format('invoices')}/v4/invoices/{case.invoice}", w.invoice_json(case)),
        thought="Euro has two digits, so major is fine there. The differences are one or two cents and only where there are several lines: tax by line, each rounded, instead of once on the sum. And round() on Decimal is half to even, money.md says half up.",
    )
    parts = [(line.sku, f"{line.quantity} × {line.price}", f"{line.price * line.quantity * (1 + case.branch.tax)}") for line in case.lines]
    run.say(
        "Nein, das ist ein zweiter Fehler, aus derselben Version.\n\n"
        f"Beispiel {case.invoice} ({case.customer}):\n\n" + boxed(("Artikel", "netto", "brutto, ungerundet"), parts) + "\n\n"
        f"Einmal auf die Summe gerechnet sind es {case.due} €, berechnet wurden {case.billed} €.\n\n"
        "Fundstellen:\n"
        f"1. `services/pricing/quote.py:{w.line('services/pricing/quote.py', 'return to_minor')}` `line_gross` rundet die Steuer **je Zeile**; `docs/money.md` Punkt 3 verlangt **einmal auf die Summe**. "
        "Eingeführt mit #618 (4.12.0).\n"
        f"2. `services/pricing/money.py:{w.line('services/pricing/money.py', 'round(')}` benutzt `round()`, bei `Decimal` also *half even*; verlangt ist kaufmännisch, *half up*.\n\n"
        f"Betroffen sind {len(off)} Rechnungen in Leipzig und Lyon, Summe der Abweichungen {sum(o.billed - o.due for o in off)} €. "
        "Buchungen fasse ich nicht an; nach GoBD wird storniert und neu gebucht."
    )
    run.user("Danke, das hilft. Seit wann genau? Und ist 4.11 sauber? Nicht dass wir den Februar auch noch anfassen müssen 😬")
    february = [(f"R-LEJ-{3900 + n * 7}", f"{41 + n * 13}.{n * 37 % 100:02}", f"{41 + n * 13}.{n * 37 % 100:02}", "0.00") for n in range(14)]
    days = [("2026-02-26", "61", "0"), ("2026-02-27", "58", "0"), ("2026-02-28", "66", "0"), ("2026-03-01", "0", "0"), *w.days()]
    run.do(
        None,
        run.query("SELECT invoice, ordered, billed, billed - ordered FROM invoices WHERE day BETWEEN '2026-02-16' AND '2026-02-28' AND branch = 'LEJ'", boxed(("invoice", "ordered", "billed", "difference"), february)),
        run.query(
            "SELECT day, count(*), sum(billed <> ordered) FROM invoices WHERE day >= '2026-02-26' GROUP BY day", boxed(("day", "invoices", "wrong"), days)
        ),
        order=(1, 0),
    )
    run.say("Der Februar ist sauber: 185 Rechnungen vom 26. bis 28. Februar, keine einzige Abweichung. Am 1. März (Sonntag) wurde 4.12.0 ausgerollt und nicht gerechnet; die erste falsche Rechnung ist vom 2. März, dem Nachtlauf um 01:30 Uhr. Vorher lief 4.11.3.")


def amman(run: Run) -> None:
    """The third branch, which had not noticed."""
    w = run.world
    amm = w.of("AMM")
    run.user("صباح الخير، معكم ليلى من فرع عمّان. سمعنا أن هناك خطأً في الفواتير. هل فواتيرنا صحيحة؟ الدينار له ثلاث خانات عشرية وليس خانتين.")
    run.do(
        "صباح النور ليلى، سأراجع فواتير فرع عمّان الآن.",
        run.query("SELECT * FROM invoices WHERE branch = 'AMM' AND day >= '2026-03-02'", w.ledger(amm[:22])),
        run.get(f"{HOST.format('orders')}/v5/orders/{amm[0].number}", w.order_json(amm[0])),
        run.get(f"{HOST.format('invoices')}/v4/invoices/{amm[0].invoice}", w.invoice_json(amm[0])),
        run.read("services/invoices/templates/invoice.ar.txt"),
        order=(3, 1, 0, 2),
    )
    run.say(
        f"ليلى، للأسف الفواتير غير صحيحة: جميع فواتير عمّان منذ ٢ آذار ({len(amm)} فاتورة) أكبر من القيمة الصحيحة بعشرة أضعاف.\n\n"
        f"مثال: الفاتورة {amm[0].invoice} قيمتها الصحيحة {amm[0].due} دينار، وقد طُبعت {amm[0].billed} دينار.\n\n"
        "السبب: النظام يقسم على ١٠٠ دائمًا، بينما الدينار الأردني ألف فلس. أنتِ على حق، ثلاث خانات. الرجاء عدم تحصيل أي مبلغ قبل إعادة إصدار الفواتير."
    )
    run.user("شكرًا جزيلًا 🙏 هل دفع أي زبون مبلغًا زائدًا؟")
    paid = [(order.invoice, order.customer, str(order.due), str(order.billed), "2026-03-03") for order in amm[1:14:6]]
    run.do(None, run.query("SELECT i.invoice, i.customer, i.ordered, p.amount, p.day FROM payments p JOIN invoices i USING (invoice) WHERE i.branch = 'AMM' AND p.day >= '2026-03-02'", boxed(("invoice", "customer", "ordered", "paid", "day"), paid)))
    run.say("نعم، دفع بعض الزبائن المبلغ الخاطئ كاملًا:\n\n" + boxed(("الفاتورة", "الزبون", "الصحيح", "المدفوع"), [row[:4] for row in paid]) + "\n\nسأضع إرجاع هذه المبالغ في أول القائمة، بعد موافقة جوناس.")
