#!/usr/bin/env python3
"""Converts published test vectors to the files beside this one: `convert.py ORIGINALS`.

SOURCES.md says where the originals are published, their SHA-256, how many cases each file has, and what a case is.
Nothing is skipped: every case of an original is counted in its text, every field is converted, checked or in IGNORED,
and anything else ends the conversion. A file whose cases are already right stays as it is.
"""

import gzip
import hashlib
import json
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SOURCES = (HERE / "SOURCES.md").read_text()
SHA256 = {name: digest for digest, name in re.findall(r"^([0-9a-f]{64})  (.+)$", SOURCES, re.MULTILINE)}
ROWS = re.findall(r"^\| ([a-z0-9-]+) \| (\d+) \| (\d+) \|", SOURCES, re.MULTILINE)
COUNTS = {name: (int(cases), int(invalid)) for name, cases, invalid in ROWS}

# Fields of originals, in lower case, and of the files here.
NAMES = {"key": "key", "iv": "iv", "i": "iv", "tweakvalue": "iv", "aad": "aad", "tag": "tag", "mac": "tag"}
NAMES |= dict.fromkeys(["pt", "msg", "message", "plaintext"], "plaintext")
NAMES |= dict.fromkeys(["ct", "ciphertext"], "ciphertext")
# What states the length of which field, in units of how many bits.
LENGTHS = {"keylen": ("key", 1), "keysize": ("key", 1), "klen": ("key", 8), "ivlen": ("iv", 1), "ivsize": ("iv", 1)}
LENGTHS |= {"taglen": ("tag", 1), "tagsize": ("tag", 1), "tlen": ("tag", 8), "maclen": ("tag", 1), "aadlen": ("aad", 1)}
LENGTHS |= {"ptlen": ("plaintext", 1), "payloadlen": ("plaintext", 1), "dataunitlen": ("plaintext", 1)}
LENGTHS |= {"mlen": ("plaintext", 8), "msglen": ("plaintext", 1)}
# Names, numbers, and how the originals were made; every case that is valid is so in both directions.
IGNORED = {"tgid", "testtype", "internaltesttype", "direction", "deferred", "ivgen", "ivgenmode", "algomode", "type"}
IGNORED |= {"source", "flags", "incremental", "overflow", "rfctestmode"}


def case(mode, place, fields):
    """A case from the fields of an original."""
    fields = {name.lower(): value for name, value in fields.items()}
    if fields.get("mlen") == "0":
        assert fields["msg"] == "00", place
        fields["msg"] = ""
    made = dict.fromkeys(["key", "iv", "aad", "plaintext", "ciphertext", "tag"], "")
    for name in fields.keys() & NAMES.keys():
        assert not made[NAMES[name]], f"{place}: {name} is there twice"
        made[NAMES[name]] = bytes.fromhex(fields.pop(name)).hex()
    if mode == "gcm-siv" and not made["tag"]:
        made["ciphertext"], made["tag"] = made["ciphertext"][:-32], made["ciphertext"][-32:]
    valid = {None: True, True: True, False: False}[fields.pop("testpassed", None)]
    valid = {"valid": valid, "invalid": False}[fields.pop("result", "valid")]
    bits = None
    for name in fields.keys() & LENGTHS.keys():
        of, unit = LENGTHS[name]
        stated, found = int(fields.pop(name)) * unit, 4 * len(made[of])
        if name == "keylen" and mode == "xts":  # of one of the two keys
            stated *= 2
        if stated % 8:
            assert made["plaintext"] and mode in ("ctr", "xts"), place
            bits, stated = stated, (stated + 7) // 8 * 8
        assert stated == found or not valid, f"{place}: {name} is {stated}, not {found}"
    if mode == "gmac" and made["plaintext"]:
        assert not made["aad"], place
        made["aad"], made["plaintext"] = made["plaintext"], ""
    if mode == "xts":
        made["iv"] = made["iv"].ljust(32, "0")
        number = fields.pop("sequencenumber", 0)
        if fields.pop("tweakmode", "hex") == "number":
            assert int.from_bytes(bytes.fromhex(made["iv"]), "little") == number, place
    if comment := fields.pop("comment", ""):
        place += ": " + comment
    assert fields.keys() <= IGNORED, f"{place}: what are {fields.keys() - IGNORED}?"
    return {"source": place, "mode": mode, **made, "valid": valid, **({"bits": bits} if bits else {})}


def cavp(mode, name, data):
    """Lines NAME = VALUE. Those in brackets hold for all cases after them; a count begins a case."""
    text, heading, cases = data.decode(), {}, []
    for number, line in enumerate(map(str.strip, text.splitlines()), 1):
        if not line or line.startswith("#") or line in ("[ENCRYPT]", "[DECRYPT]"):
            continue
        field, value = map(str.strip, line.strip("[]").split("="))
        if line.startswith("["):
            heading[field] = value
        elif field.lower() == "count":
            cases.append((f"{name}, line {number}", heading.copy()))
        else:
            assert field not in cases[-1][1], line
            cases[-1][1][field] = value
    return [case(mode, *fields) for fields in cases], len(re.findall("^count *=", text, re.IGNORECASE | re.MULTILINE))


def grouped(mode, name, data):
    """JSON of ACVP and Wycheproof: groups of cases, each with its own fields and those of its group. A Monte Carlo test
    has results of rounds, and begins as the first of them."""
    cases, wanted = [], mode.endswith("-monte-carlo")
    whole = json.loads(data)
    for group in whole["testGroups"]:
        tests = group.pop("tests")
        for test in tests:
            place, rounds = f"{name}, tcId {test.pop('tcId')}", test.pop("resultsArray", None)
            assert (rounds is not None) == (group.get("testType") == "MCT"), place
            if wanted != (rounds is not None):
                continue
            if rounds is None:
                cases.append(case(mode, place, group | test))
                continue
            assert test.items() <= rounds[0].items() and len(rounds) == 100, place
            made = [case(mode, place, group | result) for result in rounds]
            rounds = [{field: round[field] for field in ("key", "iv", "plaintext", "ciphertext")} for round in made]
            cases.append(made[0] | {"direction": group["direction"], "rounds": rounds})
    rounds = data.count(b'"resultsArray"')
    stated = rounds if wanted else data.count(b'"tcId"') - rounds
    assert stated == whole.get("numberOfTests", stated), name
    return cases, stated


def example(mode, name, data):
    """NIST's worked examples: words of eight hexadecimal digits belong to the label before them. A heading is above
    each case, and above the first one what all have. AES_Core shows each block's state after every step."""
    text, fields = data.decode(), []
    for line in map(str.strip, text.splitlines()):
        if line and line[0] not in "-#*=":
            label, words = re.fullmatch(r"(.*?)((?:\b[0-9A-F]{8}\b ?)*)", line).groups()
            if label:
                fields.append((label.strip(), []))
            fields[-1][1].append(words.replace(" ", "").lower())
    cases, start, steps = [], "", {"KeyAddition", "Substitution", "ShiftRow", "MixColumn", "InvMixColumn"}
    for label, digits in [(label, "".join(words)) for label, words in fields]:
        if heading := re.fullmatch(r"\w+-AES\d+ \((Encrypt|Decrypt)ion\)", label):
            cases.append({"place": f"{name}, {label}", "direction": heading[1].lower(), "states": ""})
        elif label in ("IV is", "Initial Counter is"):
            assert not cases, label
            start = digits
        elif cases and label in steps:
            cases[-1]["states"] += digits
        elif cases and label in ("Key is", "Plaintext is", "Ciphertext is"):
            cases[-1].setdefault(label[:-3], digits)
    made = []
    for fields in cases:
        more = {"states": fields.pop("states"), "direction": fields.pop("direction")}
        converted = case(mode, fields.pop("place"), fields | {"iv": start})
        made.append(converted | (more if more["states"] else {}))
    return made, len(re.findall(r"cryption\)", text))


def blobs(mode, name, data):
    """RustCrypto's blobby files: key, for CTR the counter block, plaintext, ciphertext; and again. First come how many
    strings there are, and those that occur several times; then each string, as its place among these or its length and
    its bytes. Numbers have seven bits a byte, the highest first; each byte but the first adds one to those above it."""
    at = 0

    def number():
        nonlocal at
        value, at = data[at] & 127, at + 1
        while data[at - 1] & 128:
            value, at = (value + 1) << 7 | data[at] & 127, at + 1
        return value

    def string(length):
        nonlocal at
        at += length
        return data[at - length : at].hex()

    def item():
        kind = number()
        return common[kind >> 1] if kind & 1 else string(kind >> 1)

    items = number()
    common = [string(number()) for _ in range(number())]
    found = [item() for _ in range(items)]
    names = ["key", "iv", "plaintext", "ciphertext"] if mode == "ctr" else ["key", "plaintext", "ciphertext"]
    count, rest = divmod(items, len(names))
    assert (at, rest) == (len(data), 0), name
    fields = [dict(zip(names, found[len(names) * n :])) for n in range(count)]
    return [case(mode, f"{name}, number {n}", fields) for n, fields in enumerate(fields)], count


def names(pattern, *choices):
    """A pattern with each of several choices in each of its places, the last one changing fastest."""
    found = [pattern]
    for choice in choices:
        found = [name.replace("*", one, 1) for name in found for one in choice.split()]
    return found


BITS = "128 192 256"
ACVP = "ACVP-Server/gen-val/json-files/*-1.0/internalProjection.json"
FILES = {
    "ecb-examples": (example, names("examples/AES_Core*.txt", BITS) + ["examples/AES_ECB.txt"]),
    "cbc-examples": (example, ["examples/AES_CBC.txt"]),
    "ctr-examples": (example, ["examples/AES_CTR.txt"]),
    "ecb-nessie": (blobs, names("block-ciphers/aes/tests/data/aes*.blb", BITS)),
    "ctr-rustcrypto": (blobs, names("block-modes/ctr/tests/ctr128/data/aes*-ctr.blb", "128 256")),
    "gcm-cavp": (cavp, names("gcmtestvectors/gcmEncryptExtIV*.rsp", BITS)),
    "cmac-cavp": (cavp, names("cmactestvectors/CMACGenAES*.rsp", BITS)),
    "xts-cavp": (cavp, names("XTSTestVectors/format tweak value input - 128 hex str/XTSGenAES*.rsp", "128 256")),
    "cmac-acvp": (grouped, [ACVP.replace("*", "CMAC-AES")]),
}
for mode in ("ecb", "cbc"):
    kinds = names(f"KAT_AES/{mode.upper()}**.rsp", "GFSbox KeySbox VarKey VarTxt", BITS)
    FILES[f"{mode}-cavp"] = cavp, kinds + names(f"aesmmt/{mode.upper()}MMT*.rsp", BITS)
    FILES[f"{mode}-monte-carlo-acvp"] = grouped, [ACVP.replace("*", f"ACVP-AES-{mode.upper()}")]
for mode in ("ecb", "cbc", "ctr", "gcm", "gcm-siv", "gmac", "xts"):
    FILES[f"{mode}-acvp"] = grouped, [ACVP.replace("*", f"ACVP-AES-{mode.upper()}")]
for mode in ("cbc-pkcs5", "cmac", "gcm", "gcm-siv", "gmac", "xts"):
    FILES[f"{mode}-wycheproof"] = grouped, [f"wycheproof/testvectors_v1/aes_{mode.replace('-', '_')}_test.json"]


def main(originals):
    if not __debug__:
        sys.exit("run it without -O: what is wrong is found by assertions")
    assert FILES.keys() == COUNTS.keys() and {name for _, files in FILES.values() for name in files} == SHA256.keys()
    for name, (read, files) in FILES.items():
        cases = []
        for file in files:
            data = (Path(originals) / file).read_bytes()
            assert hashlib.sha256(data).hexdigest() == SHA256[file], f"{file} is not the file in SOURCES.md"
            made, count = read(name.rpartition("-")[0], file, data)
            assert len(made) == count, f"{file}: {len(made)} cases of {count}"
            cases += made
        found = len(cases), sum(not case["valid"] for case in cases)
        assert found == COUNTS[name], f"{name}: {found}, in SOURCES.md {COUNTS[name]}"
        text = "".join(json.dumps(case, separators=(",", ":")) + "\n" for case in cases).encode()
        path = HERE / f"{name}.jsonl.gz"
        same = path.exists() and gzip.decompress(path.read_bytes()) == text
        if not same:
            path.write_bytes(gzip.compress(text, 9, mtime=0))
        print(f"{name}: {len(cases)} cases, {'as they were' if same else 'written'}")


main(*sys.argv[1:])
