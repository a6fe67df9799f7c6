(* Interval arithmetic and derivatives, for the proofs that need them.

   The interval tactic works on integers of the standard library here.  Its usual form works on
   machine integers and floats, whose correctness Coq takes as axioms. *)

From Coq Require Import Reals Lra.
From Coquelicot Require Import Coquelicot.
From Interval Require Import Float.Specific_ops Float.Specific_stdz.
From Interval Require Tactic.
From CFL Require Import CFL.
Open Scope R_scope.

Module Numbers := SpecificFloat StdZRadix2.
Module Exact := Tactic.IntervalTactic Numbers.
Export Exact.
Notation i_prec := Tactic.i_prec.
Notation i_bisect := Tactic.i_bisect.
Notation i_taylor := Tactic.i_taylor.
Notation i_autodiff := Tactic.i_autodiff.
Notation i_depth := Tactic.i_depth.

(* A function with a derivative that is not negative grows. *)

Lemma grows :
  forall (f f' : R -> R) (a b : R), a <= b ->
  (forall x, a <= x <= b -> is_derive f x (f' x)) ->
  (forall x, a <= x <= b -> 0 <= f' x) -> f a <= f b.
Proof.
  intros f f' a b H D S. destruct (MVT_gen f a b f') as [c [C E]].
  - intros x X. rewrite Rmin_left, Rmax_right in X by exact H. apply D. lra.
  - intros x X. rewrite Rmin_left, Rmax_right in X by exact H.
    apply continuity_pt_filterlim. apply (ex_derive_continuous f x). exists (f' x). apply D. lra.
  - rewrite Rmin_left, Rmax_right in C by exact H.
    pose proof (S c C). assert (0 <= f' c * (b - a)) by (apply Rmult_le_pos; lra). lra.
Qed.

(* Extrema of numbers: the case that numbers exclude is closed. *)
Ltac extrema :=
  unfold Rmax, Rmin;
  repeat match goal with
  | |- context [Rle_dec ?a ?b] =>
      let H := fresh in
      destruct (Rle_dec a b) as [H | H];
      [ try (exfalso; revert H; apply Rlt_not_le; interval with (i_prec 64))
      | try (exfalso; apply H; interval with (i_prec 64)) ]
  end.

(* An inequality between numbers. *)
Ltac number :=
  first [ lra
        | lazymatch goal with |- _ <> 0 => first [apply Rgt_not_eq; number | apply Rlt_not_eq; number] end
        | interval with (i_prec 64)
        | progress extrema; number
        | interval with (i_prec 256)
        | interval with (i_prec 4200) ].
