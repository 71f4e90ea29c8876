"""The formulas of perfmodel/README.md, written from that page alone and exact: the oracle of the shim's evaluation."""

from fractions import Fraction

MESSAGE_ON_HOST = {"self": "same_node", "same_gpu": "same_gpu", "other_gpu": "same_node", "other_node": "other_node"}

MESSAGE_ON_GPU = {"self": "other_gpu"}


def term_seconds(term, features):
    """The last segment with ``from_bytes`` at most max(bytes, touched) counts."""
    footprint = max(features.bytes, features.touched)
    line = [segment for segment in term.segments if segment.from_bytes <= footprint][-1]
    return (
        Fraction(line.latency)
        + Fraction(line.per_byte) * features.bytes
        + Fraction(line.per_block) * features.blocks
        + Fraction(line.per_touched) * features.touched
        + Fraction(line.per_page) * features.pages
    )


def terms_on_gpu(contiguous, locality, cuda_aware, reaches_peer):
    """The table of strategies and their sums."""
    host = f"message.host.{MESSAGE_ON_HOST[locality]}"
    device = f"message.device.{MESSAGE_ON_GPU.get(locality, locality)}"
    sums = {strategy: (f"pack.{strategy}", host, f"unpack.{strategy}") for strategy in ("oneshot", "staged")}
    if cuda_aware:
        sums["device"] = ("pack.device", device, "unpack.device")
    if cuda_aware and contiguous:
        sums["library"] = (device,)
    if reaches_peer and locality != "other_node":
        sums["direct"] = (f"message.direct.{locality}",)
    return sums


def parts_on_gpu(terms, features, contiguous, locality, cuda_aware, reaches_peer):
    """Blocks, touched bytes and pages are 0 on the wire; a strategy that lacks a term is no candidate."""
    wire = features._replace(blocks=0, touched=0, pages=0)
    on_the_wire = ("message.host.", "message.device.")
    return {
        strategy: {
            name: term_seconds(terms[name], wire if name.startswith(on_the_wire) else features) for name in names
        }
        for strategy, names in terms_on_gpu(contiguous, locality, cuda_aware, reaches_peer).items()
        if all(name in terms for name in names)
    }


def seconds_on_host(terms, features, indexed, peer):
    """``message.library.Y.P`` or ``message.host.Y.P``."""
    layout = "indexed" if indexed else "typed"
    names = {strategy: f"message.{strategy}.{layout}.{peer}" for strategy in ("library", "host")}
    return {strategy: term_seconds(terms[name], features) for strategy, name in names.items() if name in terms}


def packing_wins(seconds):
    """TEMPI's if the library is predicted to take more than 1.5 times as long."""
    return {"library", "host"} <= set(seconds) and seconds["library"] > Fraction("1.5") * seconds["host"]
