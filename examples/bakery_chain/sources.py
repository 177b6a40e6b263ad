"""The source tree of the invented bakery chain, as the agent finds it."""

from __future__ import annotations

FILES: dict[str, str] = {}

FILES["README.md"] = """# Krume & Korn - order to cash

Four services, one message bus:

    tablet -> orders -> pricing -> invoices -> ledger

| service  | owns                         | talks to          |
|----------|------------------------------|-------------------|
| orders   | intake, baskets, standing orders | pricing       |
| pricing  | price lists, quotes, taxes   | orders, invoices  |
| invoices | documents, sending           | pricing, ledger   |
| ledger   | bookings, export to the tax adviser | -          |

Branches: LEJ Leipzig, LYS Lyon, KIX Kyoto, AMM Amman. Each uploads its own price list every night.
House rule: money is a whole number of minor units between services, never a float.
"""

FILES["services/pricing/money.py"] = '''"""Amounts of money between services."""

from dataclasses import dataclass
from decimal import Decimal

DIGITS = 2


@dataclass(frozen=True)
class Money:
    """A whole number of minor units."""

    minor: int
    currency: str

    def __add__(self, other: "Money") -> "Money":
        if other.currency != self.currency:
            raise ValueError(f"{self.currency} + {other.currency}")
        return Money(self.minor + other.minor, self.currency)

    def __mul__(self, times: int) -> "Money":
        return Money(self.minor * times, self.currency)

    @property
    def major(self) -> Decimal:
        """The amount as it is shown to people."""
        return Decimal(self.minor) / 10**DIGITS


def to_minor(amount: Decimal, currency: str) -> Money:
    """From the amount in a price list to minor units."""
    return Money(int(round(amount * 10 ** digits_of(currency))), currency)


def digits_of(currency: str) -> int:
    # ISO 4217. JPY has none, JOD has three: see docs/money.md
    return {"JPY": 0, "JOD": 3}.get(currency, DIGITS)
'''

FILES["services/pricing/quote.py"] = '''"""From a basket to a quote: prices, taxes, total."""

from decimal import Decimal

from .money import Money, to_minor


def line_gross(price: Decimal, quantity: int, rate: Decimal, currency: str) -> Money:
    """One line with its tax."""
    return to_minor(price * quantity * (1 + rate), currency)


def quote(lines, rate: Decimal, currency: str) -> Money:
    """The total of a basket.

    Changed in 4.12: the tax is worked out by line, so that the lines on the document add up.
    """
    total = Money(0, currency)
    for line in lines:
        total = total + line_gross(line.price, line.quantity, rate, currency)
    return total


def discount(total: Money, percent: int) -> Money:
    """Standing orders get a few per cent off."""
    return Money(total.minor - total.minor * percent // 100, total.currency)
'''

FILES["services/pricing/import_prices.py"] = '''"""Reads the price lists that the branches upload each night."""

import csv
import logging
from decimal import Decimal, InvalidOperation
from pathlib import Path

log = logging.getLogger("pricing.import")


def parse_price(text: str) -> Decimal:
    """A price as a branch writes it."""
    text = text.strip().replace(" ", "")
    if "," in text and "." in text:
        text = text.replace(",", "")  # 1,234.50
    elif "," in text:
        text = text.replace(",", ".")  # 4,35
    return Decimal(text)


def read_list(path: Path) -> dict[str, Decimal]:
    """All prices of a list by article."""
    found = {}
    with path.open(encoding="utf-8") as stream:
        for row in csv.DictReader(stream, delimiter=";"):
            try:
                found[row["sku"]] = parse_price(row["price"])
            except InvalidOperation:
                log.warning("%s: cannot read price %r of %s, keeping yesterday's", path.name, row["price"], row["sku"])
    return found
'''

FILES["services/orders/intake.py"] = '''"""What comes in from the tablets."""

import logging
import re
from dataclasses import dataclass

log = logging.getLogger("orders.intake")

NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True)
class Item:
    sku: str
    quantity: int
    note: str = ""


def quantity_of(text: str) -> int:
    """How many are wanted. The tablets send what was typed."""
    found = NUMBER.search(text)
    if found is None:
        log.info("no quantity in %r, taking 1", text)
        return 1
    return int(found.group())


def item(payload: dict) -> Item:
    """One line of a basket."""
    return Item(payload["sku"], quantity_of(str(payload.get("quantity", "1"))), payload.get("note", ""))


def basket(payload: dict) -> list[Item]:
    """All lines, the same article merged."""
    merged: dict[str, Item] = {}
    for each in map(item, payload["lines"]):
        old = merged.get(each.sku)
        merged[each.sku] = each if old is None else Item(each.sku, old.quantity + each.quantity, old.note or each.note)
    return list(merged.values())
'''

FILES["services/orders/standing.py"] = '''"""Standing orders: the same basket every week."""

from datetime import date, timedelta

DAYS = {"mo": 0, "di": 1, "mi": 2, "do": 3, "fr": 4, "sa": 5, "so": 6}


def next_delivery(today: date, weekday: str) -> date:
    """The next day of this name, never today."""
    ahead = (DAYS[weekday] - today.weekday() - 1) % 7 + 1
    return today + timedelta(days=ahead)


def due_today(orders, today: date):
    """Those that are baked tonight."""
    return [order for order in orders if next_delivery(today - timedelta(days=1), order.weekday) == today and not order.paused]
'''

FILES["services/invoices/totals.py"] = '''"""The figures at the foot of an invoice."""

from decimal import Decimal

from services.pricing.money import Money
from services.pricing.quote import quote


def foot(order) -> dict[str, str]:
    """Net, tax and total as they are printed."""
    total = quote(order.lines, order.tax_rate, order.currency)
    net = Decimal(total.major) / (1 + order.tax_rate)
    return {
        "net": f"{net:.2f}",
        "tax": f"{total.major - net:.2f}",
        "total": f"{total.major:.2f}",
    }


def agrees(order, total: Money) -> bool:
    """Whether the order service comes to the same sum."""
    return total.major == order.total
'''

FILES["services/invoices/render.py"] = '''"""Fills a template and hands the document on."""

import logging
from pathlib import Path

from services.pricing.quote import quote

from .totals import agrees, foot

log = logging.getLogger("invoices")
TEMPLATES = Path(__file__).parent / "templates"


def render(order, language: str) -> str:
    """The document as text."""
    template = (TEMPLATES / f"invoice.{language}.txt").read_text(encoding="utf-8")
    total = quote(order.lines, order.tax_rate, order.currency)
    if not agrees(order, total):
        # 4.12: do not stop the night run for a cent
        log.warning("total on order %s differs from total on invoice %s, keeping invoice", order.total, total.major)
    return template.format(order=order, **foot(order))


def send(order, document: str, post) -> None:
    """By mail; the ledger hears of it afterwards."""
    post.mail(order.customer.mail, subject=f"{order.invoice}", text=document)
    post.ledger(order.invoice, document)
'''

FILES["services/invoices/templates/invoice.de.txt"] = """Rechnung {order.invoice}

Guten Tag {order.customer.name},
für Ihre Bestellung {order.number} berechnen wir:

    Netto      {net:>10} {order.currency}
    USt.       {tax:>10} {order.currency}
    Gesamt     {total:>10} {order.currency}

Zahlbar innerhalb von 14 Tagen. Vielen Dank - Krume & Korn
"""

FILES["services/invoices/templates/invoice.ja.txt"] = """請求書 {order.invoice}

{order.customer.name} 御中
ご注文 {order.number} につきまして、下記の通りご請求申し上げます。

    小計      {net:>10} {order.currency}
    消費税    {tax:>10} {order.currency}
    合計      {total:>10} {order.currency}

お支払期限は14日以内です。いつもありがとうございます。
"""

FILES["services/invoices/templates/invoice.ar.txt"] = """فاتورة {order.invoice}

السادة {order.customer.name} المحترمين،
نرسل إليكم قيمة طلبكم رقم {order.number}:

    الصافي     {net:>10} {order.currency}
    الضريبة    {tax:>10} {order.currency}
    المجموع    {total:>10} {order.currency}

الدفع خلال ١٤ يومًا. شكرًا لتعاملكم معنا.
"""

FILES["services/invoices/tests/test_totals.py"] = """from decimal import Decimal

import pytest

from services.invoices.totals import foot

from .factory import order


def test_one_line():
    assert foot(order("EUR", ["4.35"], [2], "0.07"))["total"] == "9.31"


def test_lines_add_up():
    assert foot(order("EUR", ["0.95", "1.85"], [3, 3], "0.07"))["total"] == "8.99"


@pytest.mark.skip(reason="no yen in the test data yet")
def test_yen():
    assert foot(order("JPY", ["680"], [5], "0.08"))["total"] == "3672"
"""

FILES["services/invoices/tests/factory.py"] = """from decimal import Decimal
from types import SimpleNamespace


def order(currency, prices, quantities, rate):
    lines = [SimpleNamespace(price=Decimal(p), quantity=q) for p, q in zip(prices, quantities, strict=True)]
    return SimpleNamespace(lines=lines, currency=currency, tax_rate=Decimal(rate), number="2026-0001", invoice="R-TST-0001")
"""

FILES["services/ledger/export.py"] = '''"""The monthly file for the tax adviser."""

import csv
from io import StringIO


def export(bookings) -> str:
    """One line a booking, amounts in minor units."""
    stream = StringIO()
    writer = csv.writer(stream, delimiter=";", lineterminator="\\n")
    writer.writerow(["invoice", "minor", "currency", "booked_on"])
    for booking in bookings:
        writer.writerow([booking.invoice, booking.minor, booking.currency, booking.day.isoformat()])
    return stream.getvalue()


def reverse(booking, reason: str):
    """A booking is never changed, only reversed: GoBD."""
    return booking.replace(minor=-booking.minor, text=f"Storno {booking.invoice}: {reason}")
'''

for _code, _city, _currency, _locale in (
    ("LEJ", "Leipzig", "EUR", "de_DE"),
    ("LYS", "Lyon", "EUR", "fr_FR"),
    ("KIX", "京都", "JPY", "ja_JP"),
    ("AMM", "عمّان", "JOD", "ar_JO"),
):
    FILES[f"deploy/branches/{_code}.toml"] = f"""[branch]
code = "{_code}"
city = "{_city}"
currency = "{_currency}"
locale = "{_locale}"

[services]
orders = "5.3.1"
pricing = "4.12.0"
invoices = "4.12.0"
ledger = "2.9.4"

[night_run]
starts = "01:30"
stop_on_difference = false  # since 4.12
"""

FILES["docs/money.md"] = """# Money

1. Between services an amount is a whole number of **minor units** and a currency.
2. How many minor units make one major unit is a property of the currency (ISO 4217), not of us:
   EUR 100, JPY 1, JOD 1000.
3. Taxes are worked out **once, on the sum of a rate**, and rounded half up. That is what the adviser in Leipzig
   and 税理士の田中先生 both asked for. Lines are shown net.
4. A difference between order and invoice stops the night run. People look at it in the morning.
"""

FILES["CHANGELOG.md"] = """# Changelog

## 4.12.0 - 2026-03-01
- pricing: tax by line, so that gross lines add up on the document (#618)
- pricing: money.py slimmed down, one constant for the digits (#622)
- invoices: a difference between order and invoice is logged, the night run goes on (#625)
- orders: quantities are found inside of free text ("3 pcs") (#619)

## 4.11.3 - 2026-02-16
- ledger: reversal keeps the text of the first booking (#604)
- invoices: Arabic template (#599)

## 4.11.2 - 2026-02-02
- orders: standing orders can be paused (#590)
"""
