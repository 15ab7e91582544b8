import { withCommonConfig, type JsonObject } from '@bulkhead/contract'
import type { Compiled, Shaped, Terms } from '../extension.ts'
import { pass, refuse, type Fault, type StageResult } from '../result.ts'

interface DeclaredSchema {
  readonly path: string
  readonly schema: JsonObject
  /** false for what is only told to a model. */
  readonly checksValues: boolean
}

const MAX_FAULTS = 20

/** Every JSON Schema of the manifest compiles, each within its limits and all together within theirs. */
export async function schemas(shaped: Shaped, { schemas: compiler, limits, pace }: Terms): Promise<StageResult<Compiled>> {
  const config = compiler.compile(withCommonConfig(shaped.manifest.configSchema))
  if (!config.ok) return { ok: false, faults: config.faults.slice(0, MAX_FAULTS).map((fault) => invalid('/configSchema', fault.path, fault.message)) }
  let left = limits.subschemasPerExtension - config.subschemas
  for (const { path, schema, checksValues } of declaredSchemas(shaped)) {
    const compiled = compiler.compile(schema, checksValues)
    await pace.breathe()
    if (!compiled.ok) return { ok: false, faults: compiled.faults.slice(0, MAX_FAULTS).map((fault) => invalid(path, fault.path, fault.message)) }
    left -= compiled.subschemas
    if (left < 0) return refuse(invalid(path, '', `and those before it have more than ${limits.subschemasPerExtension} subschemas together`))
  }
  return pass({ ...shaped, checkConfig: (value) => config.validate(value) })
}

function* declaredSchemas({ manifest }: Shaped): Generator<DeclaredSchema> {
  if (manifest.stateSlot !== null) yield { path: '/stateSlot/schema', schema: manifest.stateSlot.schema, checksValues: true }
  for (const [index, tool] of manifest.tools.entries()) {
    yield { path: `/tools/${index}/inputSchema`, schema: tool.inputSchema, checksValues: true }
    if (tool.outputSchema !== undefined) yield { path: `/tools/${index}/outputSchema`, schema: tool.outputSchema, checksValues: false }
  }
}

const invalid = (schema: string, path: string, message: string): Fault =>
  ({ stage: 'configSchema', code: 'ConfigSchemaInvalid', path: schema + path, message: `The schema at ${schema} ${message}.` })
