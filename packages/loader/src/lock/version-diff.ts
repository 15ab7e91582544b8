import {
  beyond, classifyToolMode, declaredPower, powerItems, type AcceptedCapabilities, type Manifest, type Power,
  type PowerItem, type ToolManifest,
} from '@bulkhead/contract'
import { canonicalJson, isJsonObject, pointerStep, type Json } from '@bulkhead/kit/json'
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
  return parts.filter(([, items]) => items.length > 0)
    .map(([verb, items]) => `${verb} ${visibleText(items.join(', '))}`).join('; ')
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

/** Changes in the tool definitions that models and policies see, one line each. */
export interface DefinitionDiff {
  readonly lines: readonly string[]
  /** Changes that reduce approval requests. They need consent like new powers. */
  readonly loosens: readonly string[]
}

/** How many changed places of one tool are listed. */
const MAX_PLACES = 8

export function definitionDiff(before: Manifest, after: Manifest): DefinitionDiff {
  const old = new Map(before.tools.map((tool) => [tool.name, tool]))
  const present = new Set(after.tools.map(({ name }) => name))
  return {
    lines: [
      ...after.tools.flatMap((tool) => {
        const known = old.get(tool.name)
        return known === undefined ? [`new tool ${tool.name}`] : toolLines(known, tool)
      }),
      ...before.tools.filter(({ name }) => !present.has(name)).map(({ name }) => `tool ${name} was removed`),
    ],
    loosens: after.tools.flatMap((tool) => {
      const known = old.get(tool.name)
      return known === undefined ? [] : loosened(known, tool, [before, after])
    }),
  }
}

function toolLines(before: ToolManifest, after: ToolManifest): readonly string[] {
  // The capability diff covers requirements.
  const { requires: _before, ...old } = before
  const { requires: _after, ...now } = after
  const places = changedPlaces(old as unknown as Json, now as unknown as Json, '')
  if (places.length === 0) return []
  const more = places.length > MAX_PLACES ? ` and ${places.length - MAX_PLACES} more places` : ''
  const shown = places.slice(0, MAX_PLACES).map(({ path, change }) => `${path} ${change}`)
  return [visibleText(`${after.name}: ${shown.join(', ')}${more}`)]
}

export interface ChangedPlace {
  /** JSON Pointer. */
  readonly path: string
  readonly change: 'is new' | 'was removed' | 'changed'
}

export function changedPlaces(before: Json | undefined, after: Json | undefined, at: string): readonly ChangedPlace[] {
  if (before === undefined) return [{ path: at, change: 'is new' }]
  if (after === undefined) return [{ path: at, change: 'was removed' }]
  if (isJsonObject(before) && isJsonObject(after)) {
    const [old, now] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
    return [...new Set([...old.keys(), ...now.keys()])]
      .flatMap((key) => changedPlaces(old.get(key), now.get(key), at + pointerStep(key)))
  }
  return canonicalJson(before) === canonicalJson(after) ? [] : [{ path: at, change: 'changed' }]
}

/** `gated` and the mode decide whether a person must approve. */
function loosened(
  before: ToolManifest, after: ToolManifest, [older, newer]: readonly [Manifest, Manifest],
): readonly string[] {
  const [old, now] = [classifyToolMode(before, older), classifyToolMode(after, newer)]
  return [
    ...(before.gated && !after.gated ? [`${after.name} no longer requires approval`] : []),
    // A mode derived from fewer powers is not looser; a declared mode may be.
    ...(after.mode === undefined || old === now || now === 'local' ? [] : [`${after.name} is ${now} and was ${old}`]),
  ]
}
