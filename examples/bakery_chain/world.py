"""The world of the example run: a bakery chain in four countries, its services, its orders, and its logs.

Everything here is invented. It is worked out from one seed, without a clock, so that every run of the generator gives the same
bytes.
"""

from __future__ import annotations

import difflib
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal
from typing import Any

from .sources import FILES


@dataclass(frozen=True)
class Branch:
    """One shop."""

    code: str
    city: str
    currency: str
    digits: int
    tax: Decimal
    customers: tuple[str, ...]
    offset: str


BRANCHES = (
    Branch(
        "LEJ", "Leipzig", "EUR", 2, Decimal("0.07"), ("Café Grundmann", "Hotel Fürstenhof", "Kita Löwenzahn", "Bäckerei Wölfel"), "+01:00"
    ),
    Branch("LYS", "Lyon", "EUR", 2, Decimal("0.055"), ("Brasserie Désirée", "Lycée Ampère", "Épicerie du Rhône"), "+01:00"),
    Branch("KIX", "京都", "JPY", 0, Decimal("0.08"), ("喫茶ソワレ", "鴨川ホテル", "ひまわり保育園", "茶房いせはん"), "+09:00"),
    Branch("AMM", "عمّان", "JOD", 3, Decimal("0.04"), ("مقهى الرينبو", "فندق الأردن", "مدرسة الزيتون"), "+03:00"),
)

_ARTICLES = """
RYE-750|Rye sourdough 750 g|Roggenmischbrot 750 g|ライ麦サワー 750g|خبز الجاودار ٧٥٠ غ|Pain de seigle 750 g|4.35|680|2.250
BRZ-ZKO|Pretzel|Brezel|プレッツェル|بريتزل|Bretzel|0.95|180|0.475
MLN-PAN|Melon bun|Melonpan|メロンパン|خبز الشمام|Melonpan|2.15|240|0.850
KNF-TRY|Knafeh tray|Kunafa-Blech|クナーファ|صينية كنافة|Plateau de knafeh|18.90|3200|9.125
CRS-BTR|Butter croissant|Buttercroissant|クロワッサン|كرواسون بالزبدة|Croissant au beurre|1.85|260|0.725
STL-500|Stollen 500 g|Dresdner Stollen 500 g|シュトレン 500g|شتولن ٥٠٠ غ|Stollen 500 g|12.49|2180|6.650
SHK-PAN|Milk bread|Japanisches Milchbrot|食パン 一斤|خبز الحليب|Pain au lait japonais|5.20|420|1.990
MNQ-ZTR|Manakish with za'atar|Manakisch mit Zatar|マナキーシュ|مناقيش زعتر|Manakish au zaatar|3.33|450|0.650
"""

PRODUCTS = [
    (sku, dict(zip(("en", "de", "ja", "ar", "fr"), names, strict=True)), dict(zip(("EUR", "JPY", "JOD"), prices, strict=True)))
    for sku, *names, eur, jpy, jod in (row.split("|") for row in _ARTICLES.strip().splitlines())
    for prices in ((eur, jpy, jod),)
]
"""Article, its name by language, its price by currency."""

LANGUAGE = {"LEJ": "de", "LYS": "fr", "KIX": "ja", "AMM": "ar"}


@dataclass(frozen=True)
class Line:
    """One position of an order."""

    sku: str
    quantity: int
    price: Decimal


@dataclass(frozen=True)
class Order:
    """An order, and from it what the invoice ought to say and what it did say."""

    number: str
    branch: Branch
    customer: str
    minute: int
    lines: tuple[Line, ...]

    @property
    def invoice(self) -> str:
        """The number of its invoice."""
        return f"R-{self.branch.code}-{self.number[-4:]}"

    @property
    def at(self) -> str:
        """When it was placed."""
        day, minute = divmod(self.minute, 1440)
        return f"2026-03-{2 + day:02}T{minute // 60:02}:{minute % 60:02}:{self.minute * 7 % 60:02}{self.branch.offset}"

    @property
    def due(self) -> Decimal:
        """The right total: tax once, on the sum, rounded half up to the currency's own digits."""
        net = sum((line.price * line.quantity for line in self.lines), Decimal())
        return (net * (1 + self.branch.tax)).quantize(Decimal(1).scaleb(-self.branch.digits), ROUND_HALF_UP)

    @property
    def billed(self) -> Decimal:
        """What release 4.12 made of it: tax by line, half to even, and two digits for every currency."""
        unit = Decimal(1).scaleb(-self.branch.digits)
        gross = sum(
            ((line.price * line.quantity * (1 + self.branch.tax)).quantize(unit, ROUND_HALF_EVEN) for line in self.lines), Decimal()
        )
        minor = int(gross.scaleb(self.branch.digits))
        return Decimal(minor).scaleb(-2)


class World:
    """All that the agent can look at."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.files = dict(FILES)
        self.orders = [self._order(number) for number in range(240)]

    def below(self, limit: int) -> int:
        """A number from 0 to below ``limit``, the same on every Python."""
        return int(self._random.random() * limit)

    def _order(self, number: int) -> Order:
        branch = BRANCHES[self.below(len(BRANCHES))]
        lines = []
        for _ in range(1 + self.below(4)):
            sku, _names, prices = PRODUCTS[self.below(len(PRODUCTS))]
            lines.append(Line(sku, 1 + self.below(24), Decimal(prices[branch.currency])))
        customer = branch.customers[self.below(len(branch.customers))]
        return Order(f"2026-{4100 + number}", branch, customer, 360 + number * 41 + self.below(30), tuple(lines))

    def of(self, code: str) -> list[Order]:
        """The orders of one branch."""
        return [order for order in self.orders if order.branch.code == code]

    # --- the source tree

    def read(self, path: str, start: int = 1, end: int = 400) -> str:
        """A file with numbered lines, as the tool shows it."""
        lines = self.files[path].splitlines()[start - 1 : end]
        return "\n".join(f"{number:4} | {line}" for number, line in enumerate(lines, start))

    def listing(self, folder: str) -> str:
        """The files under a folder, with their size."""
        return "\n".join(f"{len(text.encode()):6}  {path}" for path, text in sorted(self.files.items()) if path.startswith(folder))

    def search(self, query: str, under: str = "") -> str:
        """Every line with ``query`` in it."""
        hits = [
            f"{path}:{number}: {line.strip()}"
            for path, text in sorted(self.files.items())
            if path.startswith(under)
            for number, line in enumerate(text.splitlines(), 1)
            if query in line
        ]
        return "\n".join([*hits, f"{len(hits)} matches"])

    def line(self, path: str, piece: str) -> int:
        """The line of a file in which ``piece`` first stands."""
        return 1 + self.files[path].partition(piece)[0].count("\n")

    def days(self) -> list[tuple[str, str, str]]:
        """Orders by day, and how many of them were billed wrongly."""
        found: dict[str, list[bool]] = {}
        for order in self.orders:
            found.setdefault(order.at[:10], []).append(order.billed != order.due)
        return [(day, str(len(wrong)), str(sum(wrong))) for day, wrong in found.items()]

    def patch(self, path: str, old: str, new: str) -> str:
        """Replaces a piece of a file and gives the difference."""
        before = self.files.get(path, "")
        if old not in before:
            raise ValueError(f"{path} has no such piece: {old[:40]}")
        after = before.replace(old, new, 1) if old else new
        self.files[path] = after
        return "\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{path}", f"b/{path}", lineterm=""))

    # --- the running services

    def order_json(self, order: Order) -> dict[str, Any]:
        """An order as the order service gives it."""
        names = {sku: name[LANGUAGE[order.branch.code]] for sku, name, _ in PRODUCTS}
        return {
            "order": order.number,
            "branch": order.branch.code,
            "customer": {"name": order.customer, "city": order.branch.city},
            "placed_at": order.at,
            "currency": order.branch.currency,
            "lines": [{"sku": x.sku, "name": names[x.sku], "quantity": x.quantity, "unit_price": str(x.price)} for x in order.lines],
            "tax_rate": str(order.branch.tax),
            "total": str(order.due),
        }

    def invoice_json(self, order: Order) -> dict[str, Any]:
        """Its invoice as the invoice service gives it."""
        return {
            "invoice": order.invoice,
            "order": order.number,
            "currency": order.branch.currency,
            "total": str(order.billed),
            "rendered_by": "invoices 4.12.0",
            "template": f"invoice.{LANGUAGE[order.branch.code]}.txt",
        }

    def price_list(self, branch: Branch) -> str:
        """The price list that the branch uploads: each with its own idea of a decimal sign."""
        rows = ["sku;name;price;currency"]
        for sku, names, prices in PRODUCTS:
            price = prices[branch.currency]
            if branch.code in ("LEJ", "LYS"):
                price = price.replace(".", ",")
            if branch.code == "AMM":
                price = price.translate(str.maketrans("0123456789.", "٠١٢٣٤٥٦٧٨٩٫"))
            rows.append(f"{sku};{names[LANGUAGE[branch.code]]};{price};{branch.currency}")
        return "\n".join(rows)

    def log(self) -> str:
        """Three nights of the invoice service, every line of it."""
        lines = []
        for number, order in enumerate(self.orders[:95]):
            stamp = order.at.replace("2026-03-", "03-")
            trace = f"{self.below(1 << 28):07x}"
            where = f"[{trace}] invoices.{order.branch.code.lower()}"
            lines.append(f'{stamp} INFO  {where} order={order.number} customer="{order.customer}" lines={len(order.lines)} received')
            lines.append(
                f"{stamp} DEBUG {where} money.to_minor currency={order.branch.currency} total={order.due} took={1 + self.below(9)}ms"
            )
            if order.branch.digits != 2:
                lines.append(
                    f"{stamp} WARN  {where} total on order {order.due} differs from total on invoice {order.billed}, keeping invoice"
                )
            if number % 37 == 5:
                lines.append(f"{stamp} ERROR {where} smtp: 451 4.3.0 greylisted, will retry in {30 * (1 + self.below(5))}s")
            lines.append(f"{stamp} INFO  {where} {order.invoice} rendered template=invoice.{LANGUAGE[order.branch.code]}.txt sent")
        return "\n".join(lines)

    def ledger(self, orders: list[Order]) -> str:
        """What the ledger has for these orders, as a table."""
        head = ("invoice", "customer", "cur", "ordered", "billed", "difference")
        rows = [(o.invoice, o.customer, o.branch.currency, str(o.due), str(o.billed), str(o.billed - o.due)) for o in orders]
        return boxed(head, rows)


def boxed(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """A table in box-drawing signs."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]

    def line(row: tuple[str, ...]) -> str:
        return "│ " + " │ ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " │"

    def rule(left: str, cross: str, right: str) -> str:
        return left + cross.join("─" * (width + 2) for width in widths) + right

    table = [rule("┌", "┬", "┐"), line(head), rule("├", "┼", "┤"), *map(line, rows), rule("└", "┴", "┘"), f"({len(rows)} rows)"]
    return "\n".join(table)


def pytest_run(target: str, passed: list[str], failed: dict[str, str] | None = None, seconds: str = "1.84") -> str:
    """What a run of the tests prints."""
    failed = failed or {}
    total = len(passed) + len(failed)
    lines = ["============================= test session starts =============================", f"collected {total} items", ""]
    lines += [f"{target}::{name} PASSED" for name in passed]
    lines += [f"{target}::{name} FAILED" for name in failed]
    if failed:
        lines += ["", "=================================== FAILURES ==================================="]
        for name, why in failed.items():
            lines += [f"_______ {name} _______", "", why, ""]
        lines += ["=========================== short test summary info ============================"]
        lines += [f"FAILED {target}::{name}" for name in failed]
    counts = f"{len(failed)} failed, {len(passed)} passed" if failed else f"{len(passed)} passed"
    return "\n".join([*lines, f"========================= {counts} in {seconds}s ========================="])


def pretty(value: object) -> str:
    """JSON as the services print it."""
    return json.dumps(value, ensure_ascii=False, indent=2)
