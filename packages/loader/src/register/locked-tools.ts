import { beyond, canonicalJson, isLockedTool, type ToolManifest } from '@bulkhead/contract'
import type { Fault } from '../result.ts'
import type { RegistrationRule } from './rule.ts'

/** A stranger may stand in for a locked tool only with its very input schema, and with powers within its powers. */
export const lockedTools = (bundled: ReadonlyMap<string, ToolManifest>): RegistrationRule => (candidates) => new Map(
  candidates.filter(({ layer }) => layer !== 'bundled').flatMap((candidate) => {
    const fault = candidate.manifest.tools.map((tool, index) => findFault(tool, index, bundled.get(tool.name))).find((found) => found !== undefined)
    return fault === undefined ? [] : [[candidate, fault] as const]
  }),
)

function findFault(tool: ToolManifest, index: number, original: ToolManifest | undefined): Fault | undefined {
  if (!isLockedTool(tool.name)) return undefined
  if (original === undefined) return redefined(`/tools/${index}/name`, `The name "${tool.name}" is kept for a tool that ships with Bulkhead.`)
  if (canonicalJson(tool.inputSchema) !== canonicalJson(original.inputSchema)) {
    return redefined(`/tools/${index}/inputSchema`, `The tool "${tool.name}" must have the very input schema of the tool that ships with Bulkhead.`)
  }
  const excess = beyond(tool.requires, original.requires)
  if (excess.length === 0) return undefined
  return redefined(`/tools/${index}/requires`, `The tool "${tool.name}" asks for more than the one that ships with Bulkhead: ${excess.join(', ')}.`)
}

const redefined = (path: string, message: string): Fault => ({ stage: 'register', code: 'LockedIdRedefined', path, message })
