import { beyond, hostCovers, visibleText, type AcceptedCapabilities, type RequirementSet } from '@bulkhead/contract'

/** What an extension may do now that it could not, and the reverse; each in words such as `net: api.x.example`. */
export interface CapabilityDiff {
  readonly adds: readonly string[]
  readonly drops: readonly string[]
  readonly widens: boolean
}

/** Compared tool by tool, since each is confined to its own: what another tool could do already is new to this one. */
export function capabilityDiff(before: AcceptedCapabilities, after: AcceptedCapabilities): CapabilityDiff {
  const adds = exceeding(after, before)
  const drops = exceeding(before, after, { short: true })
  return { adds, drops, widens: adds.length > 0 }
}

/** "adds net: api.x.example; drops fs.write"; empty where nothing changed. */
export function capabilityDiffInWords({ adds, drops }: CapabilityDiff): string {
  const parts = [['adds', adds], ['drops', drops]] as const
  return parts.filter(([, items]) => items.length > 0).map(([verb, items]) => `${verb} ${visibleText(items.join(', '))}`).join('; ')
}

/** Where `more` reaches beyond `less`. `short`: a kind of which nothing is left needs no list. */
function exceeding(more: AcceptedCapabilities, less: AcceptedCapabilities, { short = false } = {}): readonly string[] {
  const known = new Map(Object.entries(less.tools))
  const toolsByItem = new Map<string, Set<string>>()
  for (const [name, requires] of Object.entries(more.tools)) {
    const allowed = known.get(name) ?? {}
    for (const item of beyond(requires, allowed)) {
      const kind = item.split(':', 1)[0]!
      const word = short && isEmpty(allowed, kind) ? kind : item
      toolsByItem.set(word, (toolsByItem.get(word) ?? new Set()).add(name))
    }
  }
  const toolCount = Object.keys(more.tools).length
  return [
    ...[...toolsByItem].map(([item, names]) => names.size === toolCount ? item : `${item} (${[...names].join(', ')})`),
    ...more.env.filter((name) => !less.env.includes(name)).map((name) => `env: ${name}`),
    ...secretsBeyond(more, less).map((use) => `secret: ${use}`),
  ]
}

const isEmpty = ({ fs, net, shell }: RequirementSet, kind: string): boolean => {
  const left = new Map<string, readonly unknown[] | undefined>([['fs.read', fs?.read], ['fs.write', fs?.write], ['net', net?.hosts], ['shell', shell]])
  return left.has(kind) && (left.get(kind)?.length ?? 0) === 0
}

function secretsBeyond(more: AcceptedCapabilities, less: AcceptedCapabilities): readonly string[] {
  return more.secrets.flatMap(({ name, hosts = [], commands = [] }) => {
    const known = less.secrets.find((secret) => secret.name === name)
    const newHosts = hosts.filter((host) => !(known?.hosts ?? []).some((wide) => hostCovers(wide, host)))
    return [...newHosts, ...commands.filter((command) => !(known?.commands ?? []).includes(command))].map((to) => `${name} to ${to}`)
  })
}
