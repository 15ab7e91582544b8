import type { Attack, AttackPlacement } from '../model/case.ts'
import type { Layers } from '../model/layers.ts'
import { ALL_LAYERS } from '../model/layers.ts'
import type { Job } from '../model/protocol.ts'
import type { Lane } from './lane.ts'
import type { Observation } from './verdict.ts'

export interface RunOptions {
  readonly attacks: readonly Attack[]
  readonly placements: readonly AttackPlacement[]
  readonly layers?: Layers
  /** One host at a time in each. They stay open, because the start of a host takes longer than most attacks. */
  readonly lanes: readonly Lane[]
  /** Runs every attack in its own compartment, even if it could share one. */
  readonly apart?: boolean
  readonly onObservation?: (observation: Observation) => void
}

/** Runs attacks on real hosts and returns what was observed. */
export async function runAttacks(
  { attacks, placements, layers = ALL_LAYERS, lanes, apart = false, onObservation }: RunOptions,
): Promise<readonly Observation[]> {
  const jobs = placements.flatMap((placement) =>
    groupsOf(attacks, apart).map((ids): Job => ({ attacks: ids, placement, layers })))
  const observations: Observation[] = []
  await Promise.all(lanes.map(async (lane) => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
      for (const observation of await lane.run(job)) {
        observations.push(observation)
        onObservation?.(observation)
      }
    }
  }))
  return observations
}

/** Groups attacks that share a compartment: those of one section with the same grant and limits. */
function groupsOf(attacks: readonly Attack[], apart: boolean): readonly (readonly number[])[] {
  const groups = new Map<string, number[]>()
  for (const { id, section, alone, requires, limits, workspace, in: inside } of attacks) {
    const key = alone || apart ? `alone ${id}` : JSON.stringify([section, requires, limits, workspace, inside])
    groups.set(key, [...groups.get(key) ?? [], id])
  }
  return [...groups.values()]
}
