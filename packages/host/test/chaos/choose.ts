import type { Crossing, Fault } from './crossings.ts'

/** Every possible fault. */
export const everyFault = (crossings: readonly Crossing[]): readonly Fault[] =>
  crossings.flatMap(({ at, kinds }) => kinds.map((kind) => ({ at, kind })))

/**
 * A few that stand for the rest: for each port one passage with each kind of fault, another passage for another kind.
 * `turn` makes other choices, so that scenarios that look alike try different passages.
 */
export function someFaults(crossings: readonly Crossing[], turn: number): readonly Fault[] {
  return [...Map.groupBy(crossings, ({ port }) => port).values()].flatMap((passages) =>
    passages[0]!.kinds.map((kind, index) => ({ at: passages[(index * 7 + turn) % passages.length]!.at, kind })))
}
