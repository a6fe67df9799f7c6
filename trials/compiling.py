"""How Numba compiles a kernel, and a function that only kernels call.

Numba treats every function as if Python called it.  It makes a wrapper that converts the arguments
of Python, machine code, and a file.  A kernel holds its own copies of what it calls
(`trials.jit_cache`), so for most functions nobody uses these.  Such an *inner* function ends with
the form which kernels are linked with (`InnerCompiler`).  Numba's own functions that a kernel
calls, such as ``np.empty``, are inner ones as well (`_own_functions`).

Each inner function would be optimised alone, and again in every kernel that holds it.  Where sums
may be reordered, the first time decides how they round.  A loop is vectorised alone: inside a
kernel LLVM knows less of which arrays overlap.  The other inner functions give the same numbers in
every form and gain nothing, so they are not optimised alone (`InnerLibrary`).

Numba also optimises the declarations of functions whose bodies are elsewhere, and builds a manager
for each function.  `KernelLibrary` has one, and leaves declarations out.

A kernel names its compiler, which is an option of Numba.  While such a compiler works, Numba's
templates of functions get their decorator from here.  Nothing else of Numba is exchanged.

Imports are plain, because a name that is put together would make every module of the program a
part of each kernel (`trials.sources`).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import numba
from numba.core import analysis, codegen, compiler, compiler_machinery, environment, typed_passes
from numba.core.typing import templates

# Numba states few types.
_analysis: Any = analysis
_codegen: Any = codegen
_compiler: Any = compiler
_machinery: Any = compiler_machinery
_environment: Any = environment
_typed_passes: Any = typed_passes
_template: Any = templates._OverloadFunctionTemplate  # type: ignore[attr-defined]

#: Options of every kernel and inner function.  They are the same, so that all share what Numba
#: compiles for their calls.
OPTIONS = {"nogil": True, "no_cfunc_wrapper": True}
#: The start of the names of the variables that point to a function's constants.
_CONSTANTS = "_ZN08NumbaEnv"
#: The start of the names of compiled functions.
_MANGLED = "_ZN"
#: The start of the names of functions that Numba looks for when the program runs.
_LATE = ".numba.unresolved$"


class KernelLibrary(_codegen.JITCodeLibrary):  # type: ignore[misc]
    """Machine code of one kernel, with the functions that it calls."""

    _linking_libraries: list[Any]
    #: Whether the function's own sums may be reordered, so that its form decides how they round.
    reorders = True

    def _optimize_functions(self, module: Any) -> None:
        if _codegen.config.LLVM_PASS_TIMINGS:  # Numba times the functions one by one
            super()._optimize_functions(module)
            return
        module.data_layout = self._codegen._data_layout
        manager, builder = self._codegen._function_pass_manager(**self._simplification())
        for function in module.functions:
            if not function.is_declaration:
                manager.run(function, builder)

    def _simplification(self) -> dict[str, Any]:
        """Few steps before all is linked, where later ones cannot give other numbers."""
        if self.reorders:
            return {}
        return {"opt": min(1, _codegen.config.OPT), "loop_vectorize": False, "slp_vectorize": False}

    def finalize(self) -> None:
        """Link with every function that is called at any depth, optimise all and make code."""
        self._linking_libraries = _parts(self._linking_libraries)
        super().finalize()

    def _verify_declare_only_symbols(self) -> None:
        """A function without a body would be called at address zero."""
        super()._verify_declare_only_symbols()
        for function in self._final_module.functions:
            if function.is_declaration and function.name.startswith(_MANGLED):
                raise AssertionError(f"{self.name} is not linked with {function.name}")


class InnerLibrary(KernelLibrary):
    """The form of one function, without machine code and without what it calls."""

    #: Whether the function has a loop of its own.
    loops = True
    _whole: Any = None

    def finalize(self) -> None:
        """Share the function as a symbol that each kernel may hold."""
        self._raise_if_finalized()
        if any(name.startswith(_LATE) for name in _variables(self._final_module)):
            raise NotImplementedError(f"{self.name} calls itself through another function")
        if self.reorders or self.loops:
            self._optimize_final_module()
        self._finalize_dynamic_globals()
        own = set(getattr(self, "_own_copies", ()))
        for function in self._final_module.functions:
            if not function.is_declaration and (
                function.linkage.name == "external" or function.name in own
            ):
                function.linkage = "linkonce_odr"
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        """The function with all that it calls, for a function that is no kernel."""
        if self._whole is None:
            self._whole = self._final_module.clone()
            for part in _parts(self._linking_libraries):
                self._whole.link_in(part._get_module_for_linking(), preserve=True)
                self._reload_init.update(part._reload_init)
        return self._whole


class Part:
    """An inner function alone, in the list of what is linked."""

    def __init__(self, library: InnerLibrary) -> None:
        self._module = library._final_module
        self._reload_init = library._reload_init

    def _get_module_for_linking(self) -> Any:
        return self._module


def _parts(libraries: list[Any]) -> list[Any]:
    """What is called at any depth, once, callers first: LLVM takes in what is asked for by then."""
    last_first: list[Any] = []
    seen: set[Any] = set()

    def visit(library: Any) -> None:
        if library in seen:
            return
        seen.add(library)
        inner = isinstance(library, InnerLibrary)
        for called in library._linking_libraries if inner else ():
            visit(called)
        last_first.append(Part(library) if inner else library)

    for library in libraries:
        visit(library)
    return last_first[::-1]


def _variables(module: Any) -> list[str]:
    return [variable.name for variable in module.global_variables]


@_machinery.register_pass(mutates_CFG=True, analysis_only=False)
class LowerKernel(_typed_passes.NativeLowering):  # type: ignore[misc]
    """Make the machine code of a kernel, and name the constants of its inner functions."""

    _name = "lower_kernel"

    def run_pass(self, state: Any) -> bool:
        generator = state.targetctx.codegen()
        state.library = KernelLibrary(generator, state.func_id.func_qualname)
        state.library.reorders = bool(state.flags.fastmath)
        state.library.enable_object_caching()
        super().run_pass(state)
        for name in _variables(state.library._final_module):
            known = _environment.lookup_environment(name) if name.startswith(_CONSTANTS) else None
            if known is not None:
                generator.set_env(name, known)
        return True


@_machinery.register_pass(mutates_CFG=True, analysis_only=False)
class LowerInner(_typed_passes.NativeLowering):  # type: ignore[misc]
    """Make the form of a function that kernels are linked with."""

    _name = "lower_inner"

    def run_pass(self, state: Any) -> bool:
        state.library = InnerLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.reorders = bool(state.flags.fastmath)
        state.library.loops = bool(_analysis.compute_cfg_from_blocks(state.func_ir.blocks).loops())
        # Others: Numba looks for what it has compiled by the options of the calling function.
        state.flags = state.flags.copy()
        state.flags.no_compile = state.flags.no_cpython_wrapper = True
        super().run_pass(state)
        entry = Entry()
        state.targetctx.insert_user_function(entry, state.cr.fndesc, [state.library])
        state["cr"] = state.cr._replace(cfunc=entry)
        return True


class Entry:
    """Stands for a form of an inner function, as Numba names forms by their entries."""


class _Compiler(_compiler.CompilerBase):  # type: ignore[misc]
    lowering: type

    def compile_extra(self, function: Any) -> Any:
        """Compile, with all that Numba defines itself as inner functions."""
        with _own_functions():
            return super().compile_extra(function)

    def define_pipelines(self) -> list[Any]:
        """Numba's own steps, with another last but one."""
        passes: Any = _compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (self.lowering if step is _typed_passes.NativeLowering else step, words)
            for step, words in passes.passes
        ]
        passes.finalize()
        return [passes]


class KernelCompiler(_Compiler):
    """The compiler of a kernel."""

    lowering = LowerKernel


class InnerCompiler(_Compiler):
    """The compiler of an inner function."""

    lowering = LowerInner


def compile_inner(function: Callable[..., Any], **options: Any) -> Any:
    """The dispatcher of a function that only compiled functions call."""
    compiled: Any = numba.jit
    made = compiled(**{**options, **OPTIONS, "pipeline_class": InnerCompiler})(function)

    def add(form: Any) -> None:
        made.overloads[tuple(form.signature.args)] = form

    # Numba hands every form to the function that Python calls, and this one has no address.
    made.add_overload = add
    return made


def _decorate(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Numba's decorator of its own functions: it states that Python calls none of them."""
    options.pop("no_cpython_wrapper", None)  # inner functions have none, and do not say so
    return lambda function: compile_inner(function, **options)


@contextlib.contextmanager
def _own_functions() -> Iterator[None]:
    """Have Numba compile the functions that it defines itself as inner ones.

    Numba's lock lets one thread compile.
    """
    before = _template._get_jit_decorator
    _template._get_jit_decorator = lambda _: _decorate
    try:
        yield
    finally:
        _template._get_jit_decorator = before
