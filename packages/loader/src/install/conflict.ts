import { manifestSchema, type ExtensionDescriptor, type ToolManifest } from '@bulkhead/contract'
import type { BundledExtension } from '../config/settings.ts'
import { outlineOf } from '../outline.ts'
import { register } from '../load/register.ts'
import type { Candidate } from '../register/rule.ts'
import type { Fault } from '../model/result.ts'

const candidateOf = (descriptor: ExtensionDescriptor): Candidate => ({ descriptor, outline: outlineOf(descriptor.manifest) })

/** Why an extension cannot stand beside those that are there, or why one of them could not any more. */
export function findConflict(
  extension: ExtensionDescriptor, others: readonly ExtensionDescriptor[], bundled: readonly BundledExtension[],
): Fault | undefined {
  const tools = new Map<string, ToolManifest>(bundled.flatMap(({ manifest }) => {
    const parsed = manifestSchema.safeParse(manifest)
    return parsed.success ? parsed.data.tools.map((tool) => [tool.name, tool] as const) : []
  }))
  const candidate = candidateOf(extension)
  const { refused } = register([...others.map(candidateOf), candidate], tools)
  return refused.get(candidate) ?? refused.values().next().value
}
