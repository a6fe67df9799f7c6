(* Lemmas and tactics that the proofs of statements share. *)

From Coq Require Import Reals Lra Psatz ZArith.
Open Scope R_scope.

(* Logarithm and exponential against their tangents. *)

Lemma exp_tangent : forall x, 0 <= exp x - 1 - x.
Proof.
  intro x. destruct (Req_dec x 0) as [-> | H].
  - rewrite exp_0. lra.
  - pose proof (exp_ineq1 x H). lra.
Qed.

Lemma ln_tangent : forall x, 0 < x -> 0 <= x - 1 - ln x.
Proof.
  intros x H. pose proof (exp_tangent (ln x)) as K. rewrite exp_ln in K by exact H. lra.
Qed.

Lemma ln_lower : forall r, 0 <= r -> r / (1 + r) <= ln (1 + r).
Proof.
  intros r H. assert (P : 0 < / (1 + r)) by (apply Rinv_0_lt_compat; lra).
  pose proof (ln_tangent (/ (1 + r)) P) as K. rewrite ln_Rinv in K by lra.
  replace (r / (1 + r)) with (1 - / (1 + r)) by (field; lra). lra.
Qed.

(* Roots: of a number that is not negative, and of a known square. *)

Lemma root_pos : forall q x, (0 < q)%nat -> 0 < x -> exists y, 0 < y /\ x = y ^ q.
Proof.
  intros q x Q X. exists (Rpower x (/ INR q)). split; [apply exp_pos |].
  rewrite <- Rpower_pow by apply exp_pos. rewrite Rpower_mult.
  rewrite Rinv_l by (apply not_0_INR; lia). symmetry. apply Rpower_1, X.
Qed.

Lemma root_nonneg : forall q x, (0 < q)%nat -> 0 <= x -> exists y, 0 <= y /\ x = y ^ q.
Proof.
  intros q x Q [X | <-].
  - destruct (root_pos q x Q X) as [y [Y E]]. exists y. split; [lra | exact E].
  - exists 0. split; [lra |]. symmetry. apply pow_i. lia.
Qed.

Lemma sqrt_is : forall e r, 0 <= r -> r ^ 2 = e -> sqrt e = r.
Proof. intros e r H <-. apply sqrt_pow2, H. Qed.

Lemma root_below :
  forall c e b, 0 <= c -> 0 <= b -> 0 <= e -> c ^ 2 * e <= b ^ 2 -> c * sqrt e <= b.
Proof.
  intros c e b C B E H. apply Rsqr_incr_0; [| | exact B].
  - unfold Rsqr. replace (c * sqrt e * (c * sqrt e)) with (c ^ 2 * (sqrt e * sqrt e)) by ring.
    rewrite sqrt_sqrt by exact E. lra.
  - apply Rmult_le_pos; [exact C | apply sqrt_pos].
Qed.

Lemma Rpower_is :
  forall e r p q, (0 < q)%nat -> 0 < r -> r ^ q = e -> Rpower e (INR p / INR q) = r ^ p.
Proof.
  intros e r p q Q R E. rewrite <- E, <- !Rpower_pow by exact R.
  rewrite Rpower_mult. f_equal. field. apply not_0_INR. lia.
Qed.

(* Signs. *)

Lemma even_pow : forall x n, 0 <= x ^ (2 * n).
Proof. intros x n. rewrite pow_mult. apply pow_le. apply pow2_ge_0. Qed.

Lemma ln_nonneg : forall x, 1 <= x -> 0 <= ln x.
Proof.
  intros x [H | <-].
  - rewrite <- ln_1. apply Rlt_le, ln_increasing; lra.
  - rewrite ln_1. lra.
Qed.

Lemma ln_pos : forall x, 1 < x -> 0 < ln x.
Proof. intros x H. rewrite <- ln_1. apply ln_increasing; lra. Qed.

(* A positive multiple of a term is another one, whose sign is known. *)

Lemma by_sum : forall f t p, 0 < f -> f * t = p -> 0 <= p -> 0 <= t.
Proof. intros f t p F E H. apply (Rmult_le_reg_l f); lra. Qed.

Lemma by_sum_strict : forall f t p, 0 < f -> f * t = p -> 0 < p -> 0 < t.
Proof. intros f t p F E H. apply (Rmult_lt_reg_l f); lra. Qed.

Lemma by_sum_zero : forall f t, 0 < f -> f * t = 0 -> t = 0.
Proof. intros f t F H. apply (Rmult_eq_reg_l f); lra. Qed.

(* The larger of two numbers has the larger square, where it is not negative. *)

Lemma by_squares : forall a b, 0 <= a -> 0 <= a ^ 2 - b ^ 2 -> 0 <= a - b.
Proof. intros a b A H. destruct (Rle_or_lt b a); [lra | nra]. Qed.

Lemma by_squares_strict : forall a b, 0 <= a -> 0 < a ^ 2 - b ^ 2 -> 0 < a - b.
Proof. intros a b A H. destruct (Rlt_or_le b a); [lra | nra]. Qed.

(* A variable as a function of another one. *)

Lemma shifted : forall x b : R, exists y, x = b + y.
Proof. intros x b. exists (x - b). ring. Qed.

Lemma scaled : forall x b : R, b <> 0 -> exists y, x = b * y.
Proof. intros x b B. exists (x / b). field. exact B. Qed.

Lemma exponential : forall x : R, 0 < x -> exists y, x = exp y.
Proof. intros x X. exists (ln x). symmetry. apply exp_ln, X. Qed.

(* The sign of an expression, from the signs of its parts and what is known. *)

Ltac sign :=
  first
    [ assumption
    | lazymatch goal with
      | |- _ /\ _ => split; sign
      | |- ?a >= ?b => apply Rle_ge; sign
      | |- ?a > ?b => change (b < a); sign
      | |- 0 <> ?a => apply not_eq_sym; sign
      | |- ?a <> 0 =>
          first [ apply Rgt_not_eq; red; sign
                | apply Rlt_not_eq; lra
                | lazymatch a with
                  | _ * _ => apply Rmult_integral_contrapositive_currified; sign
                  | / _ => apply Rinv_neq_0_compat; sign
                  | _ ^ _ => apply pow_nonzero; sign
                  end ]
      | |- 0 < _ * _ => apply Rmult_lt_0_compat; sign
      | |- 0 < _ / _ => apply Rdiv_lt_0_compat; sign
      | |- 0 < / _ => apply Rinv_0_lt_compat; sign
      | |- 0 < _ ^ _ => apply pow_lt; sign
      | |- 0 < sqrt _ => apply sqrt_lt_R0; sign
      | |- 0 < exp _ => apply exp_pos
      | |- 0 < Rpower _ _ => apply exp_pos
      | |- 0 < ln _ => apply ln_pos; sign
      | |- 0 < _ + _ => first [ apply Rplus_lt_le_0_compat; sign
                              | apply Rplus_le_lt_0_compat; sign ]
      | |- 0 < Rmax _ _ => eapply Rlt_le_trans; [| apply Rmax_l]; sign
      | |- 0 < Rmin _ _ => apply Rmin_glb_lt; sign
      | |- 0 <= _ * _ => apply Rmult_le_pos; sign
      | |- 0 <= ?a / ?b => apply (Rmult_le_pos a (/ b)); sign
      | |- 0 <= / _ => apply Rlt_le, Rinv_0_lt_compat; sign
      | |- 0 <= ?a ^ 2 => apply pow2_ge_0
      | |- 0 <= ?a ^ 4 => apply (even_pow a 2)
      | |- 0 <= ?a ^ 6 => apply (even_pow a 3)
      | |- 0 <= ?a ^ 8 => apply (even_pow a 4)
      | |- 0 <= _ ^ _ => apply pow_le; sign
      | |- 0 <= sqrt _ => apply sqrt_pos
      | |- 0 <= exp _ => apply Rlt_le, exp_pos
      | |- 0 <= Rpower _ _ => apply Rlt_le, exp_pos
      | |- 0 <= ln _ => apply ln_nonneg; sign
      | |- 0 <= _ + _ => apply Rplus_le_le_0_compat; sign
      | |- 0 <= Rmin _ _ => apply Rmin_glb; sign
      | |- 0 <= Rmax _ _ => eapply Rle_trans; [| apply Rmax_l]; sign
      end
    | lra ].

(* Equal as quotients, with denominators of a known sign. *)
Ltac equal :=
  first [ ring
        | field; repeat split; sign
        | field_simplify_eq; [ring | repeat split; sign] ].

(* A condition under which a term is defined. *)
Ltac defined := first [ sign | apply Rgt_not_eq; nra | apply Rlt_not_eq; nra | nra ].

(* Equations of exponentials and logarithms of products. *)
Ltac logs :=
  unfold Rpower, Rdiv;
  first
    [ apply ln_inv; [sign | sign |];
      repeat first [ rewrite ln_exp | rewrite ln_mult by sign | rewrite ln_Rinv by sign
                   | rewrite ln_pow by sign | rewrite ln_1 ];
      rewrite ?ln_exp; simpl INR
    | repeat first [ rewrite ln_exp | rewrite ln_mult by sign | rewrite ln_Rinv by sign
                   | rewrite ln_pow by sign | rewrite ln_1 ]; simpl INR ].
