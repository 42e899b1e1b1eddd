"""What gdb shows of TL Runtime's memory: docs/debuggers.md.

    source tl_runtime.py     in gdb, or in ~/.gdbinit
    tl object EXPRESSION     what an address is: object, tensor, Vec, interior of one
    tl vec EXPRESSION        a Vec and its elements
    tl scopes                open scopes of the selected thread, newest first, and what they hold

Values of type tl_tensor* and tl::ref<T> are printed with shape and elements. Memory is only read, and no function
is called. The library's debug file is needed: it has the layout, of which there is no copy here.
"""

import itertools
import struct

import gdb

SHOWN = 20  # elements of a tensor or Vec, entries of a scope
FORMATS = {"f32": "f", "f64": "d", "f16": "e", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
           "u8": "B", "u16": "H", "u32": "I", "u64": "Q", "bool": "?"}


def variable(name):
    """A variable of the library, which the debug file names."""
    try:
        return gdb.parse_and_eval("tlc_" + name)
    except gdb.error:
        raise gdb.GdbError("TL Runtime has no debug file here: put libtl_runtime.so.1.0.0.debug (make debug) beside the "
                           "library, or into gdb's debug-file-directory") from None


def number(name):
    """A number of cshim/debugger.c."""
    return int(variable(name))


def at(type_name, address):
    """The struct of a type at an address."""
    return gdb.Value(address).cast(gdb.lookup_type(type_name).pointer()).dereference()


def atomic(value):
    return int(value.cast(gdb.lookup_type("unsigned int")))


def span_words(shared, first, count):
    """The words of some spans."""
    memory = gdb.selected_inferior().read_memory(int(shared["spans"]) + 8 * first, 8 * count)
    return struct.unpack(f"{count}Q", memory)


HEAD = 8  # bytes of a tl_cell_head


class Slot:
    """The slot of the heap that an address lies in."""

    def __init__(self, address, shared):
        base, shift = int(shared["heap_base"]), number("span_shift")
        offset = address - base
        span = offset >> shift
        (word,) = span_words(shared, span, 1)
        if word & 0xFF == number("class_rest"):
            back = word >> 8 & 0xFFFFFF
            (word,) = span_words(shared, span - back, 1)
            if word & 0xFF == number("class_large") and back < word >> 8 & 0xFFFFFF:
                span -= back
            else:  # the object was freed: these words stay until they are used again
                word = 0
        self.size_class, place, self.count = word & 0xFF, 0, 0
        if self.size_class == number("class_large"):
            self.size, self.start = (word >> 8 & 0xFFFFFF) << shift, base + (span << shift)
        elif self.size_class >= number("class_cell"):
            info, meta = shared["classes"][self.size_class], shared["heap"]["metas"][span]
            inside, self.size = offset & int(info["mask"]), int(info["size"])
            place = (inside + HEAD) // self.size
            self.start = address - inside + place * self.size - HEAD  # the head ends the slot before
            if int(meta["retired"]) <= place < int(meta["fresh"]):
                (self.count,) = struct.unpack("i", gdb.selected_inferior().read_memory(self.start, 4))
        else:
            info = shared["classes"][self.size_class]
            inside = offset & int(info["mask"])
            place = inside * int(info["reciprocal"]) >> 64
            place -= place % (int(info["block_records"]) // int(info["slots"]))
            self.size, self.start = int(info["size"]), address - inside + place * int(info["stride"])
        self.record = shared["records"][(word >> 32) + place]
        self.sh, self.loc = atomic(self.record["sh"]), atomic(self.record["loc"])
        self.type = atomic(self.record["type_flags"]) & number("type_mask")

    def is_live(self):
        return self.count != 0 or self.sh & number("sh_alive") != 0

    def references(self):
        if self.count != 0:
            return "1 reference" if abs(self.count) == 1 else f"{abs(self.count)} references"
        if self.sh & number("sh_immortal"):
            return "immortal"
        shared = (self.sh ^ 1 << 31) - (1 << 31) >> number("sh_count_shift")
        own = 0 if self.sh & number("sh_merged") else self.loc & number("loc_count")
        n = shared + own
        return "1 reference" if n == 1 else f"{n} references"


def slot_of(address):
    """None for an address outside of the heap."""
    shared = variable("g")
    base, size = int(shared["heap_base"]), int(shared["heap_bytes"])
    if not base <= address < base + size:
        return None
    slot = Slot(address, shared)
    return slot if slot.size_class != 0 and slot.size_class <= number("class_large") else None


def dtype_name(dtype):
    types = gdb.lookup_type("enum tl_dtype").fields()
    return next((t.name[len("TL_DTYPE_"):].lower() for t in types if t.enumval == dtype), f"type {dtype}")


def elements(header, name, rank):
    """The first elements in row-major order, or None where they cannot be read."""
    if name not in FORMATS or int(header["device"]) != 0:
        return None
    shape = [int(header["shape"][i]) for i in range(rank)]
    strides = [int(header["strides"][i]) for i in range(rank)]
    size, data = struct.calcsize(FORMATS[name]), int(header["data"])
    found = []
    try:
        for index in itertools.islice(itertools.product(*map(range, shape)), SHOWN):
            where = data + size * sum(i * stride for i, stride in zip(index, strides))
            found.append(struct.unpack(FORMATS[name], gdb.selected_inferior().read_memory(where, size))[0])
    except gdb.MemoryError:
        return None
    return found


def describe_tensor(address):
    header = at("tl_tensor_header", address)
    rank = int(header["rank"])
    if rank > int(header["shape"].type.range()[1]) + 1:
        return "a tensor whose header was overwritten"
    name = dtype_name(int(header["dtype"]))
    text = f"tensor {name} [{', '.join(str(int(header['shape'][i])) for i in range(rank))}]"
    if int(header["device"]) != 0:
        text += f" on device {int(header['device'])}"
    if int(header["flags"]) & number("tensor_view"):
        text += f", view of {int(header['base']):#x}"
    values = elements(header, name, rank)
    if values is not None:
        more = ", ..." if int(header["numel"]) > len(values) else ""
        text += " = {" + ", ".join(f"{v:g}" if isinstance(v, float) else str(v) for v in values) + more + "}"
    return text


def vec_of(address):
    """Length, capacity and elements of a Vec, which begins with two words and the entry of its table."""
    header = at("vec", address)
    n = int(header["len"])
    table = int(header["data"]["object"])
    words = gdb.selected_inferior().read_memory(table, 8 * min(n, SHOWN)) if n else b""
    return n, int(header["cap"]), struct.unpack(f"{len(words) // 8}Q", words)


def describe_live(slot):
    if slot.count != 0:
        return f"cell in {slot.size} bytes"
    if slot.type == number("type_tensor"):
        return describe_tensor(slot.start)
    if slot.type == number("type_vec"):
        n, capacity, _ = vec_of(slot.start)
        return f"Vec of {n}, room for {capacity}"
    kinds = {number("type_plain"): "object", number("type_vec_data"): "table of a Vec",
             number("type_sparse"): "sparse matrix"}
    return f"{kinds.get(slot.type, f'object of type {slot.type}')} in {slot.size} bytes"


def describe(address):
    """One line on an address."""
    if address == 0:
        return "NULL"
    slot = slot_of(address)
    if slot is None:
        return f"{address:#x}: not in the heap of TL Runtime"
    inside = "" if address == slot.start else f"byte {address - slot.start} of {slot.start:#x}, "
    if not slot.is_live():
        return f"{address:#x}: {inside}free memory"
    return f"{address:#x}: {inside}{describe_live(slot)}, {slot.references()}"


class TensorPrinter:
    """A tl_tensor*."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return describe(int(self.value))


class RefPrinter:
    """A tl::ref<T>, or a class over it such as tl::tensor."""

    def __init__(self, value):
        self.value = value

    def to_string(self):
        return describe(int(self.value["pointer_"]))


def find_printer(value):
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR and kind.target().name == "tl_tensor":
        return TensorPrinter(value)
    name = kind.name or ""
    if kind.code == gdb.TYPE_CODE_STRUCT and name.replace("no_exceptions::", "").startswith(
            ("tl::ref<", "tl::tensor", "tl::sparse_matrix")):
        return RefPrinter(value)
    return None


def evaluated(expression):
    """The address that an expression of the user's comes to."""
    try:
        return int(gdb.parse_and_eval(expression).cast(gdb.lookup_type("unsigned long")))
    except gdb.error as error:
        raise gdb.GdbError(str(error)) from None


class Tl(gdb.Command):
    """Shows memory of TL Runtime: tl object, tl vec, tl scopes."""

    def __init__(self):
        super().__init__("tl", gdb.COMMAND_DATA, gdb.COMPLETE_NONE, True)


class TlObject(gdb.Command):
    """tl object EXPRESSION: what an address is, and how many references it has."""

    def __init__(self):
        super().__init__("tl object", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, _from_tty):
        print(describe(evaluated(argument)))


class TlVec(gdb.Command):
    """tl vec EXPRESSION: a Vec and its elements."""

    def __init__(self):
        super().__init__("tl vec", gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, _from_tty):
        address = evaluated(argument)
        print(describe(address))
        slot = slot_of(address)
        if slot is None or slot.start != address or not slot.is_live() or slot.type != number("type_vec"):
            raise gdb.GdbError("this is no Vec")
        n, _, found = vec_of(address)
        for i, element in enumerate(found):
            print(f"  [{i}] {describe(element)}")
        if n > len(found):
            print(f"  ... {n - len(found)} more")


class TlScopes(gdb.Command):
    """tl scopes: open scopes of the selected thread, newest first, and what they hold."""

    def __init__(self):
        super().__init__("tl scopes", gdb.COMMAND_DATA, gdb.COMPLETE_NONE)

    def invoke(self, _argument, _from_tty):
        own = variable("tls")["self"]
        if int(own) == 0:
            print("this thread has not used TL Runtime")
            return
        context = own.dereference()
        kinds = {number("mark_scope"): "scope", number("mark_function"): "function",
                 number("mark_planned"): "planned frame"}
        marks = int(context["mark_top"] - context["marks"])
        top = int(context["top"] - context["entries"])
        print(f"{marks} open")
        for i in reversed(range(marks)):
            mark = context["marks"][i]
            low = int(mark["top"] - context["entries"])
            kind = kinds[int(mark["kind"]) >> number("mark_kind_shift")]
            print(f"{i + 1}: {kind}, {top - low} {'entry' if top - low == 1 else 'entries'}")
            for j in itertools.islice(range(top - 1, low - 1, -1), SHOWN):
                self.show(context["entries"][j])
            if top - low > SHOWN:
                print(f"    ... {top - low - SHOWN} more")
            top = low

    @staticmethod
    def show(entry):
        address = int(entry["object"])
        if address == 0:
            print("    taken out")
        elif int(entry["record"]) == number("foreign_record"):
            print(f"    {address:#x}: registered memory")
        else:
            print(f"    {describe(address)}")


gdb.pretty_printers.append(find_printer)
Tl()
TlObject()
TlVec()
TlScopes()
