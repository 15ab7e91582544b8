/** One node of the graph of `dependsOn`. */
export interface Dependent {
  readonly id: string
  readonly dependsOn: readonly string[]
}

export interface DependencyOrder {
  /** Each after all it depends on; ties by name. */
  readonly order: readonly string[]
  /** Whose dependency is not there, with the missing id. */
  readonly missing: ReadonlyMap<string, string>
  /** Who waits for itself, with the circle it is in or leads to. */
  readonly circular: ReadonlyMap<string, readonly string[]>
}

/** Kahn's order over extensions with distinct ids. */
export function orderDependencies(extensions: readonly Dependent[]): DependencyOrder {
  const byId = new Map(extensions.map((extension) => [extension.id, extension]))
  const missing = new Map(extensions.flatMap(({ id, dependsOn }) => {
    const gap = dependsOn.find((other) => !byId.has(other))
    return gap === undefined ? [] : [[id, gap] as const]
  }))
  const order: string[] = []
  const placed = new Set<string>()
  let waiting = [...byId.values()].filter(({ id }) => !missing.has(id)).toSorted((a, b) => (a.id < b.id ? -1 : 1))
  for (;;) {
    const ready = waiting.filter(({ dependsOn }) => dependsOn.every((id) => placed.has(id) || missing.has(id)))
    if (ready.length === 0) break
    for (const { id } of ready) {
      order.push(id)
      placed.add(id)
    }
    waiting = waiting.filter(({ id }) => !placed.has(id))
  }
  const stuck = new Map(waiting.map((extension) => [extension.id, extension]))
  return { order, missing, circular: new Map(waiting.map(({ id }) => [id, circleFrom(id, stuck)])) }
}

/** Every stuck extension has a stuck dependency, so following those must come back to one already seen. */
function circleFrom(start: string, stuck: ReadonlyMap<string, Dependent>): readonly string[] {
  const path: string[] = []
  let id = start
  while (!path.includes(id)) {
    path.push(id)
    id = stuck.get(id)!.dependsOn.find((other) => stuck.has(other))!
  }
  return [...path.slice(path.indexOf(id)), id]
}
