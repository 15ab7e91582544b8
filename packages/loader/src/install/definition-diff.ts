import { classifyToolMode, type Manifest, type ToolManifest } from '@bulkhead/contract'
import { canonicalJson, isJsonObject, pointerStep, type Json } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'

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
      return known === undefined ? [] : loosened(known, tool)
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
  return [visibleText(`${after.name}: ${places.slice(0, MAX_PLACES).join(', ')}${more}`)]
}

function changedPlaces(before: Json | undefined, after: Json | undefined, at: string): readonly string[] {
  if (before === undefined) return [`${at} is new`]
  if (after === undefined) return [`${at} was removed`]
  if (isJsonObject(before) && isJsonObject(after)) {
    const [old, now] = [new Map(Object.entries(before)), new Map(Object.entries(after))]
    return [...new Set([...old.keys(), ...now.keys()])].flatMap((key) => changedPlaces(old.get(key), now.get(key), at + pointerStep(key)))
  }
  return canonicalJson(before) === canonicalJson(after) ? [] : [`${at} changed`]
}

/** `gated` and the mode decide whether a person must approve. */
function loosened(before: ToolManifest, after: ToolManifest): readonly string[] {
  const [old, now] = [classifyToolMode(before), classifyToolMode(after)]
  return [
    ...(before.gated && !after.gated ? [`${after.name} no longer requires approval`] : []),
    // A mode derived from fewer powers is not looser; a declared mode may be.
    ...(after.mode === undefined || old === now || now === 'local' ? [] : [`${after.name} is ${now} and was ${old}`]),
  ]
}
