/**
 * The orders in which sides take their turns, one row per round: a Williams design. Within one cycle of rows each side
 * stands at each place equally often and follows each other side equally often, so neither drift of the machine nor
 * garbage left by a neighbour falls on one side more than on another. A shuffle would give that only on average.
 */
export function fairOrders<T>(sides: readonly T[]): T[][] {
  const n = sides.length
  // 0, n−1, 1, n−2, 2, …: the steps between neighbours are all different, so each shift of it makes new neighbours.
  const zigzag = Array.from({ length: n }, (_, place) => (place % 2 === 0 ? place / 2 : n - (place + 1) / 2))
  const rows = sides.map((_, shift) => zigzag.flatMap((step) => sides.slice((step + shift) % n, ((step + shift) % n) + 1)))
  // With an odd number the same row holds each step twice in one direction; its mirror image evens them out.
  return n % 2 === 0 ? rows : [...rows, ...rows.map((row) => row.toReversed())]
}
