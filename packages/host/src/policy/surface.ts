import { narrowPower, powerItems, powerPhrases, type Power, type PowerItem } from '@bulkhead/contract'
import type { OfferedTools } from '../extensions/registry/offered-tools.ts'
import type { HostContext } from './call.ts'
import { deniedAlways } from './evaluate.ts'
import type { SessionPolicy } from './session-policy.ts'

/** Something that calls of a session may use. */
export interface SurfaceItem extends PowerItem {
  /** The tools that may use it. Empty if only the agent requires it. */
  readonly tools: readonly string[]
  /** Whether the agent requires it besides its tools. */
  readonly agent: boolean
}

/** What a session may use at most: what its tools may do there, and what its agent requires besides. */
export interface Surface {
  /** One sentence part for each item: "read /shop/**". */
  readonly words: readonly string[]
  readonly items: readonly SurfaceItem[]
}

/** One contribution to the surface. */
export interface SurfacePart {
  /** undefined: the agent. */
  readonly tool: string | undefined
  readonly power: Power
}

/**
 * Each tool stays within its own part. `parent`: that of the session that this one is a sub-agent of; the agent adds
 * nothing to it.
 */
export function surfaceParts(
  offered: OfferedTools, policy: SessionPolicy, host: HostContext, parent: readonly SurfacePart[] | undefined,
): readonly SurfacePart[] {
  const { addition } = policy
  const tools = offered.enabled().filter(({ tool }) => deniedAlways(tool, policy, host) === undefined)
  const added = addition === undefined
    ? [] : parent?.map(({ power }) => narrowPower(addition, power)) ?? [addition]
  return [
    ...tools.map(({ tool }) => ({ tool: tool.name, power: policy.forTool(tool).power })),
    ...added.map((power) => ({ tool: undefined, power })),
  ]
}

export function surfaceOf(parts: readonly SurfacePart[]): Surface {
  const items = new Map<string, { readonly item: PowerItem; readonly tools: Set<string>; agent: boolean }>()
  for (const { tool, power } of parts) {
    for (const item of powerItems(power)) {
      const found = items.getOrInsertComputed(`${item.kind} ${item.subject}`, () =>
        ({ item, tools: new Set<string>(), agent: false }))
      if (tool === undefined) found.agent = true
      else found.tools.add(tool)
    }
  }
  const sorted = [...items.values()].toSorted((a, b) => KINDS.indexOf(a.item.kind) - KINDS.indexOf(b.item.kind)
    || (a.item.subject < b.item.subject ? -1 : 1))
  return {
    words: powerPhrases(sorted.map(({ item }) => item), 'may'),
    items: sorted.map(({ item, tools, agent }) => ({ ...item, tools: [...tools], agent })),
  }
}

const KINDS: readonly PowerItem['kind'][] =
  ['fs.read', 'fs.write', 'net', 'shell', 'capability', 'env', 'secret', 'state']
