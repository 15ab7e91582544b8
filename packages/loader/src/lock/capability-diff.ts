import { beyond, declaredPower, powerItems, type AcceptedCapabilities, type Power, type PowerItem } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'

/** Added and removed powers, such as `net: api.x.example`. */
export interface CapabilityDiff {
  readonly adds: readonly string[]
  readonly drops: readonly string[]
  readonly widens: boolean
}

/** Compares tool by tool, because each tool has its own powers: a power of another tool is new to this one. */
export function capabilityDiff(before: AcceptedCapabilities, after: AcceptedCapabilities): CapabilityDiff {
  const adds = exceeding(after, before)
  const drops = exceeding(before, after, { short: true })
  return { adds, drops, widens: adds.length > 0 }
}

/** "adds net: api.x.example; drops fs.write"; empty if nothing changed. */
export function capabilityDiffInWords({ adds, drops }: CapabilityDiff): string {
  const parts = [['adds', adds], ['drops', drops]] as const
  return parts.filter(([, items]) => items.length > 0).map(([verb, items]) => `${verb} ${visibleText(items.join(', '))}`).join('; ')
}

/** The powers of `more` beyond `less`. `short` omits the list for a kind that `less` does not have at all. */
function exceeding(more: AcceptedCapabilities, less: AcceptedCapabilities, { short = false } = {}): readonly string[] {
  const known = new Map(Object.entries(less.tools))
  const toolsByItem = new Map<string, Set<string>>()
  for (const [name, requires] of Object.entries(more.tools)) {
    const allowed = declaredPower(known.get(name) ?? {})
    const kept = new Set(powerItems(allowed).map(({ kind }) => kind))
    for (const { kind, subject } of beyond(declaredPower(requires), allowed)) {
      const word = short && PATTERNS.has(kind) && !kept.has(kind) ? kind : `${kind}: ${subject}`
      toolsByItem.set(word, (toolsByItem.get(word) ?? new Set()).add(name))
    }
  }
  const toolCount = Object.keys(more.tools).length
  return [
    ...[...toolsByItem].map(([item, names]) => names.size === toolCount ? item : `${item} (${[...names].join(', ')})`),
    ...beyond(ofExtension(more), ofExtension(less)).map(({ kind, subject }) => `${kind}: ${subject}`),
  ]
}

const PATTERNS: ReadonlySet<PowerItem['kind']> = new Set(['fs.read', 'fs.write', 'net', 'shell'])

/** Powers that all tools share. A lock without `state` did not accept state. */
const ofExtension = ({ env, secrets, state }: AcceptedCapabilities): Power =>
  declaredPower({}, { env, secrets, state: state ? ['kept by the extension'] : [] })
