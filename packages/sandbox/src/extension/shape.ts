import type { ExtensionModule, LifecyclePhase, ModuleTool } from '@bulkhead/contract'
import type { PlainLimits } from '../wire/plain-json.ts'
import { toPlainJson } from '../wire/plain-json.ts'
import type { LoadReply } from '../wire/protocol.ts'
import { CodedError } from '../wire/errors.ts'

const PHASES: readonly LifecyclePhase[] = ['init', 'activate', 'deactivate', 'dispose']

export interface DescribedExtension {
  readonly module: ExtensionModule
  readonly tools: ReadonlyMap<string, ModuleTool>
  readonly reply: LoadReply
}

/** Reads a default export as an extension. Contract: throws ExportsMismatch when it is not one. */
export function describeExtension(exported: unknown, limits: PlainLimits): DescribedExtension {
  if (!isRecord(exported)) {
    throw mismatch('The default export of the main file is not an object; export defineExtension({ tools: { … } }).')
  }
  if (!isRecord(exported['tools'])) throw mismatch('The default export of the main file has no `tools` object.')
  const tools = new Map<string, ModuleTool>()
  for (const [name, tool] of Object.entries(exported['tools'])) {
    if (!isRecord(tool) || typeof tool['execute'] !== 'function') throw mismatch(`The tool ${name} has no execute function.`)
    tools.set(name, tool as unknown as ModuleTool)
  }
  for (const phase of PHASES) {
    const hook = exported[phase]
    if (hook !== undefined && typeof hook !== 'function') throw mismatch(`The phase ${phase} is not a function.`)
  }
  const migrate = exported['migrateState']
  if (migrate !== undefined && typeof migrate !== 'function') throw mismatch('migrateState is not a function.')
  return {
    module: exported as unknown as ExtensionModule,
    tools,
    reply: {
      tools: [...tools].map(([name, tool]) => ({
        name,
        approvalKey: typeof tool.deriveApprovalKey === 'function',
        ...declared('input', tool.input, limits),
        ...declared('requires', tool.requires, limits),
      })),
      phases: PHASES.filter((phase) => typeof exported[phase] === 'function'),
    },
  }
}

/** A schema object of a library is not plain data; it is there for its types. */
function declared(key: 'input' | 'requires', value: unknown, limits: PlainLimits): object {
  if (!isRecord(value) || '~standard' in value) return {}
  const plain = toPlainJson(value, limits)
  return plain.ok ? { [key]: plain.value } : {}
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

const mismatch = (message: string): CodedError => new CodedError('ExportsMismatch', message)
