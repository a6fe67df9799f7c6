"""How kernels are compiled: what nobody calls is not made.

Numba treats every function as if Python called it.  It makes a wrapper that converts the arguments
of Python, another one for callers in C, and machine code.  But most functions are called by kernels
only, and a kernel holds its own copies of what it calls (`trials.jit_cache`).  Here

* a function that a kernel asks for gets no wrapper and no machine code.  Its optimised form is
  kept, and kernels are linked with that;
* the wrapper for Python is made, with machine code, when Python calls the function.  It is put
  behind the finished function and is not optimised with it.  So a function has the same
  instructions, and rounds in the same way, whoever asked for it first;
* kernels of this program get no wrapper for C;
* one pass manager serves all functions of a module, and declarations are not optimised;
* the error of an assignment to a slice of another size does not say the two sizes.  Numba's own
  links its strings into each kernel with such an assignment: 38 functions in the place of 2;
* the garbage collector runs rarely while a kernel is compiled: it finds little and looks at all.

A Numba without the methods that are exchanged here compiles in its own way.
"""

from __future__ import annotations

import contextlib
import gc
import inspect
import sys
import threading
import weakref
from collections.abc import Iterator
from types import ModuleType
from typing import Any

#: The modules in which Numba builds the two wrappers.
_WRAPPERS = ("wrapper", "cfunc_wrapper")
#: The start of the names of the variables that point to a function's constants.
_ENVIRONMENT = "_ZN08NumbaEnv"
#: How the form without machine code is named in a file, beside Numba's "object" and "bitcode".
_BARE = "bare"
_MANY = 100_000  # new objects between two collections
#: Libraries without machine code, by the functions that they define.
_pending: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_asking = threading.local()


def _has(owner: Any, *names: str) -> bool:
    return owner is not None and all(hasattr(owner, name) for name in names)


def emit_when_called(codegen: ModuleType) -> None:
    """Have a library make machine code when an address in it is asked for, and not before.

    A second call changes nothing.
    """
    library: Any = getattr(codegen, "JITCodeLibrary", None)
    names = ("_finalize_final_module", "get_pointer_to_function", "add_ir_module", "_unserialize")
    if not _has(library, *names, "_optimize_functions", "serialize_using_object_code"):
        return
    if not _has(getattr(codegen, "JITCPUCodegen", None), "set_env") or _has(library, "_emitted"):
        return
    library._emitted = True  # those that were made before
    _optimise_definitions_only(codegen)
    _emit_late(codegen)
    _store_bare(codegen)


def _optimise_definitions_only(codegen: Any) -> None:
    library, options = codegen.CPUCodeLibrary, codegen.config
    optimise, make = library._optimize_functions, codegen.CPUCodegen._function_pass_manager
    if list(inspect.signature(make).parameters) != ["self", "kwargs"]:
        return  # Numba 0.61 has one manager for a module

    def optimise_definitions(self: Any, module: Any) -> None:
        if getattr(options, "LLVM_PASS_TIMINGS", False):  # Numba times the functions one by one
            optimise(self, module)
            return
        module.data_layout = self._codegen._data_layout
        manager, builder = self._codegen._function_pass_manager()
        for function in module.functions:
            if not function.is_declaration:
                manager.run(function, builder)

    library._optimize_functions = optimise_definitions


def _emit_late(codegen: Any) -> None:
    library, generator = codegen.JITCodeLibrary, codegen.JITCPUCodegen
    finish, find, add = (
        library._finalize_final_module,
        library.get_pointer_to_function,
        library.add_ir_module,
    )
    set_env = generator.set_env

    def finish_without_code(self: Any) -> None:
        if getattr(self, "_compiled_object", None) is not None:  # read from a file
            emit_callees(self)
            finish(self)
            return
        self._finalize_dynamic_globals()
        self._finalized, self._emitted = True, False
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage.name != "internal":
                _pending[function.name] = self

    def emit_callees(self: Any) -> None:
        """Emit what a library does not hold itself: the reference counting that wrappers call."""
        for module in (self._final_module, self._shared_module):
            for function in () if module is None else module.functions:
                other = _pending.get(function.name) if function.is_declaration else None
                if other is not None and not other._emitted:
                    emit(other)

    def emit(self: Any) -> None:
        environment: Any = sys.modules["numba.core.environment"]

        self._emitted = True
        emit_callees(self)
        finish(self)
        for variable in list(self._final_module.global_variables):
            if variable.name.startswith(_ENVIRONMENT):
                found = environment.lookup_environment(variable.name)
                if found is not None:
                    set_env(self._codegen, variable.name, found)

    def find_and_emit(self: Any, name: str) -> int:
        self._ensure_finalized()
        if not self._emitted:
            if not _defines(self._final_module, name):
                return 0
            emit(self)
        return int(find(self, name))

    def add_behind(self: Any, module: Any) -> None:
        if module.name not in _WRAPPERS:
            add(self, module)
            return
        self._ensure_finalized()
        self._finalized = False
        try:
            add(self, module)
        finally:
            self._finalized, self._shared_module = True, None

    def set_where_emitted(self: Any, name: str, found: Any) -> None:
        if self._engine.is_symbol_defined(name):
            set_env(self, name, found)

    library._finalize_final_module = finish_without_code
    library.get_pointer_to_function = find_and_emit
    library.add_ir_module = add_behind
    generator.set_env = set_where_emitted


def _defines(module: Any, name: str) -> bool:
    """Whether an LLVM module holds the body of a function."""
    try:
        return not module.get_function(name).is_declaration
    except NameError:
        return False


def _store_bare(codegen: Any) -> None:
    library = codegen.JITCodeLibrary
    store, read = library.serialize_using_object_code, library._unserialize.__func__

    def store_bare(self: Any) -> Any:
        self._ensure_finalized()
        if self._emitted:
            return store(self)
        own = tuple(getattr(self, "_own_copies", ()))
        return self.name, _BARE, (self._final_module.as_bitcode(), own)

    def read_bare(cls: Any, generator: Any, state: Any) -> Any:
        name, kind, data = state
        if kind != _BARE:
            return read(cls, generator, state)
        self = generator.create_library(name)
        self.enable_object_caching()
        self._final_module = codegen.ll.parse_bitcode(data[0])
        self._own_copies = list(data[1])
        self._finalize_final_module()
        return self

    library.serialize_using_object_code = store_bare
    library._unserialize = classmethod(read_bare)


def report_slices_briefly(arrayobj: ModuleType) -> None:
    """Have an assignment to a slice of another size raise Numba's error without the two sizes."""
    long = getattr(arrayobj, "ol_raise_with_shape_context_cpu", None)
    brief = getattr(arrayobj, "ol_raise_with_shape_context_generic", None)
    templates: Any = sys.modules["numba.core.typing.templates"]
    if long is None or brief is None:
        return
    for template in templates.builtin_registry.functions:
        if getattr(template, "_overload_func", None) is long:
            template._overload_func = staticmethod(brief)


# -- wrappers --------------------------------------------------------------------------------------


@contextlib.contextmanager
def _asked_by_a_kernel() -> Iterator[None]:
    before = getattr(_asking, "kernel", False)
    _asking.kernel = True
    try:
        yield
    finally:
        _asking.kernel = before


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    before = gc.get_threshold()
    if before[0]:  # zero: it never runs
        gc.set_threshold(max(before[0], _MANY), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


def wrap_when_called(dispatcher: ModuleType) -> None:
    """Have a function of this program get its wrapper when Python calls it, and not before.

    A second call changes nothing.
    """
    base: Any = getattr(dispatcher, "_DispatcherBase", None)
    callable_: Any = getattr(dispatcher, "Dispatcher", None)
    compiler: Any = getattr(dispatcher, "_FunctionCompiler", None)
    complete = (
        _has(base, "get_call_template", "add_overload")
        and _has(callable_, "compile")
        and _has(compiler, "_customize_flags")
    )
    library = getattr(sys.modules["numba.core.codegen"], "JITCodeLibrary", None)
    if not complete or not _has(library, "_emitted") or _has(base, "_wraps_late"):
        return
    base._wraps_late = True
    _leave_wrappers_out(base, compiler)
    _add_wrappers(dispatcher, base, callable_)


def _leave_wrappers_out(base: Any, compiler: Any) -> None:
    ask, customise = base.get_call_template, compiler._customize_flags

    def ask_for_a_kernel(self: Any, args: Any, kws: Any) -> Any:
        with _asked_by_a_kernel():
            return ask(self, args, kws)

    def leave_out(self: Any, flags: Any) -> Any:
        flags = customise(self, flags)
        package = str(self.py_func.__module__).partition(".")[0]
        if package in ("trials", "numba"):
            flags.no_cfunc_wrapper = True
        if package == "trials" and getattr(_asking, "kernel", False):
            flags.no_cpython_wrapper = True
        return flags

    base.get_call_template, compiler._customize_flags = ask_for_a_kernel, leave_out


def _is_bare(compiled: Any) -> bool:
    name = compiled.fndesc.llvm_cpython_wrapper_name
    return not compiled.library.get_pointer_to_function(name)


def _add_wrappers(dispatcher: Any, base: Any, callable_: Any) -> None:
    add, compile_ = base.add_overload, callable_.compile

    def add_overload(self: Any, compiled: Any) -> None:
        if compiled.objectmode or not _is_bare(compiled):
            add(self, compiled)
        else:  # Python must not find it: there is no address to call
            self.overloads[tuple(compiled.signature.args)] = compiled

    def compile_and_wrap(self: Any, signature: Any) -> Any:
        if getattr(_asking, "kernel", False):
            return compile_(self, signature)
        types, _ = dispatcher.sigutils.normalize_signature(signature)
        with dispatcher.global_compiler_lock, _rare_collections():
            entry = compile_(self, signature)
            compiled = self.overloads.get(tuple(types))
            if compiled is None or compiled.objectmode or not _is_bare(compiled):
                return entry
            flags = dispatcher.compiler.Flags()
            self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
            if flags.no_cpython_wrapper:
                return entry
            compiled = _wrap(self.targetctx, compiled, flags.release_gil)
            self.add_overload(compiled)
            self._cache.save_overload(signature, compiled)
        return compiled.entry_point

    base.add_overload, callable_.compile = add_overload, compile_and_wrap


def _wrap(target: Any, compiled: Any, release_gil: bool) -> Any:
    """Put the wrapper for Python behind a function that was compiled without one."""
    library, function, env = compiled.library, compiled.fndesc, compiled.environment
    target.create_cpython_wrapper(library, function, env, None, release_gil=release_gil)
    entry = target.get_executable(library, function, env)
    target.insert_user_function(entry, function, [library])
    return compiled._replace(entry_point=entry)
