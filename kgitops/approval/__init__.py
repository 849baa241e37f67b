"""A plan judged by the policies, and the gate that apply takes plans from."""
