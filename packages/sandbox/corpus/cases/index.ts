import type { Attack } from '../case.ts'
import { fsByPath } from './a-fs-by-path.ts'

/** Every attack that is run against compartments. Those on packages are the loader's: packages/loader/corpus. */
export const ATTACKS: readonly Attack[] = [...fsByPath]

const byId: ReadonlyMap<number, Attack> = new Map(ATTACKS.map((attack) => [attack.id, attack]))

export function attackOf(id: number): Attack {
  const attack = byId.get(id)
  if (attack === undefined) throw new Error(`There is no attack ${id}.`)
  return attack
}
