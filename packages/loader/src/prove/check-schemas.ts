import { withCommonConfig } from '@bulkhead/contract'
import { isJsonObject, type JsonObject } from '@bulkhead/kit/json'
import { manifestInfo, outlineOf, type Compiled, type Shaped } from '../describe/extension.ts'
import { MAX_FAULTS, pass, refuse, type Fault, type StageResult } from '../model/result.ts'
import type { SchemaFault } from '../schema/schema-compiler.ts'
import type { ProofContext } from './package-policy.ts'

interface DeclaredSchema {
  readonly path: string
  readonly schema: JsonObject
  /** Whether patterns must run in linear time. False for schemas that are only shown to a model. */
  readonly runsPatterns: boolean
}

/** All JSON Schemas of the manifest must compile, each within its limits and together within theirs. */
export async function checkSchemas(shaped: Shaped, { schemas: compiler, limits, coreVersion }: ProofContext): Promise<StageResult<Compiled>> {
  const { manifest, ...rest } = shaped
  const { configSchema } = manifest
  const declared = [...declaredSchemas(shaped)]
  if (configSchema['properties'] !== undefined && !isJsonObject(configSchema['properties'])) {
    return refuse(invalid('/configSchema', { path: '/properties', message: 'must have an object of properties' }))
  }
  const full = withCommonConfig(configSchema)
  const [config, ...verdicts] = await Promise.all([
    compiler.inspect(full), ...declared.map(({ schema, runsPatterns }) => compiler.inspect(schema, runsPatterns)),
  ])
  if (!config.ok) return refuseAll('/configSchema', config.faults)
  let left = limits.subschemasPerExtension - config.subschemas
  for (const [index, verdict] of verdicts.entries()) {
    const { path } = declared[index]!
    if (!verdict.ok) return refuseAll(path, verdict.faults)
    left -= verdict.subschemas
    if (left < 0) {
      const message = `and the schemas before it have more than ${limits.subschemasPerExtension} subschemas together`
      return refuse(invalid(path, { path: '', message }))
    }
  }
  const emptyConfigFault = needsNothing(full) ? null : await compiler.check(full, {}) ?? null
  if (emptyConfigFault?.noThread) return refuse(invalid('/configSchema', emptyConfigFault))
  const warnings = isConnected(shaped) ? [] : [config, ...verdicts].flatMap((verdict, index) =>
    verdict.ok ? (verdict.unknownKeywords ?? []).map((slip) => invalid(declared[index - 1]?.path ?? '/configSchema', slip)) : [])
  return pass({ ...rest, outline: outlineOf(manifest), info: manifestInfo(shaped, coreVersion), emptyConfigFault }, warnings.slice(0, MAX_FAULTS))
}

/** Only optional properties, so an empty object is always valid. */
const needsNothing = (schema: JsonObject): boolean => Object.keys(schema).every((keyword) => HARMLESS.has(keyword))
const HARMLESS: ReadonlySet<string> = new Set(['$schema', 'type', 'properties', 'additionalProperties', 'title', 'description'])

function* declaredSchemas(shaped: Shaped): Generator<DeclaredSchema> {
  // The schemas of a server are written for other validators too, so a pattern that cannot run does not cost a tool.
  const runsPatterns = !isConnected(shaped)
  const { manifest } = shaped
  if (manifest.stateSlot !== null) yield { path: '/stateSlot/schema', schema: manifest.stateSlot.schema, runsPatterns: true }
  for (const [index, tool] of manifest.tools.entries()) {
    yield { path: `/tools/${index}/inputSchema`, schema: tool.inputSchema, runsPatterns }
    const { outputSchema } = tool
    if (outputSchema !== undefined) yield { path: `/tools/${index}/outputSchema`, schema: outputSchema, runsPatterns: false }
  }
}

const isConnected = ({ origin }: Shaped): boolean => origin.kind === 'module' && origin.connection !== undefined

const refuseAll = (schema: string, faults: readonly SchemaFault[]): StageResult<never> =>
  ({ ok: false, faults: faults.slice(0, MAX_FAULTS).map((fault) => invalid(schema, fault)) })

const invalid = (schema: string, { path, message, noThread }: SchemaFault): Fault => ({
  stage: 'configSchema', code: noThread ? 'SchemaCheckUnavailable' : 'ConfigSchemaInvalid',
  path: schema + path, message: `The schema at ${schema} ${path === '' ? '' : `is wrong at ${path}: it `}${message}.`,
})
