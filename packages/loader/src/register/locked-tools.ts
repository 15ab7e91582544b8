import { beyond, declaredPower, isLockedTool, type ToolManifest } from '@bulkhead/contract'
import { canonicalJson } from '@bulkhead/kit/json'
import type { Fault } from '../model/result.ts'
import type { Registrant, RegistrationRule } from './rule.ts'

/** A stranger may stand in for a locked tool only with its very input schema, and with powers within its powers. */
export const lockedTools = (bundled: ReadonlyMap<string, ToolManifest>): RegistrationRule => (registrants) => {
  const faults = new Map<Registrant, Fault>()
  for (const registrant of registrants) {
    const { descriptor, outline } = registrant
    if (descriptor.layer === 'bundled' || !outline.tools.some(isLockedTool)) continue
    const [first] = descriptor.manifest.tools.flatMap((tool, index) => findFault(tool, index, bundled.get(tool.name)) ?? [])
    if (first !== undefined) faults.set(registrant, first)
  }
  return faults
}

function findFault(tool: ToolManifest, index: number, original: ToolManifest | undefined): Fault | undefined {
  if (!isLockedTool(tool.name)) return undefined
  const redefined = (field: string, message: string): Fault =>
    ({ stage: 'register', code: 'LockedIdRedefined', path: `/tools/${index}/${field}`, message })

  if (original === undefined) return redefined('name', `The name "${tool.name}" is kept for a tool that ships with Bulkhead.`)
  if (canonicalJson(tool.inputSchema) !== canonicalJson(original.inputSchema)) {
    return redefined('inputSchema', `The tool "${tool.name}" must have the input schema of the one that ships with Bulkhead.`)
  }
  const excess = beyond(declaredPower(tool.requires), declaredPower(original.requires))
  if (excess.length === 0) return undefined
  return redefined('requires', `The tool "${tool.name}" asks for more than the one shipped with Bulkhead: ${excess.map(({ kind, subject }) => `${kind}: ${subject}`).join(', ')}.`)
}
